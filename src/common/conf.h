#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/mem.h"
#include "common/path.h"

/*
 * conf - settings, each defined once, in a table
 *
 * A program keeps its settings in a struct, and a table says for each one its
 * key, type, place in the struct, default, bounds and meaning.  From the table
 * come the reading of an INI file, --set, the check of a value, the dump of
 * all settings, the parameters a run stores and the test of the manual.
 *
 *      static const struct setting table[] = {
 *          { "optim.lr", CONF_REAL, offsetof(struct my, lr), "6e-4",
 *            .max = 100, .help = "peak learning rate" },
 *          { 0 }
 *      };
 *      struct conf c;
 *
 *      conf_init(&c, table, &my);              every default
 *      if (conf_read(&c, "x.ini", false, e) < 0 ||    then a file
 *          conf_set(&c, "optim.lr=3e-4", e) < 0)
 *          return -1;
 *
 * An unknown key or a bad value is ERR_USAGE, with its place and the nearest
 * key.  A key that a file sets twice is an error.  Text values belong to the
 * conf and live until conf_clear().
 *
 * gtrain.ini(5) describes the form of a file.
 */
enum conf_type {
    CONF_INT,   /* int64_t; 512k, 10B */
    CONF_REAL,  /* double; 3e-4, 1% */
    CONF_BOOL,  /* bool; yes, no */
    CONF_TEXT,  /* const char * */
    CONF_WORD,  /* int or an enum: which of `words` */
    CONF_SECS,  /* double; 2h30m */
    CONF_SPAN,  /* struct conf_span, but no time */
    CONF_EVERY, /* struct conf_span */
    CONF_REALS, /* struct conf_reals: 0.3, 0.6, 0.9 */
};

/* A length of training: 715 (steps), "375M tokens", 1% of all steps, or 10m. */
enum conf_unit {
    SPAN_STEPS,
    SPAN_TOKENS,
    SPAN_FRACTION,
    SPAN_TIME,
    SPAN_UNITS
};
struct conf_span {
    double n;
    enum conf_unit unit;
};

/* False if the text is no span, or a time. */
bool conf_span_parse(const char *text, struct conf_span *);
void conf_span_text(const struct conf_span *, struct buf *out);

struct conf_reals {
    int n;
    double x[16];
};

struct setting {
    const char *key; /* "section.key" */
    enum conf_type type;
    size_t at;                /* offset in the program's struct */
    const char *value;        /* the default */
    const char *help;         /* one line, no capital, no full stop */
    const char *const *words; /* CONF_WORD: the values, ended by NULL */
    double min, max;          /* of numbers; both 0: any */
    int group;                /* of numbers: equal for alternatives; or 0 */
};

struct conf {
    const struct setting *table; /* ends with a NULL key */
    void *target;
    const char **origin; /* where each was set, or NULL */
    struct arena mem;
};

void conf_init(struct conf *, const struct setting *table, void *target);
void conf_clear(struct conf *);

/* A file that is read alone extends no other, such as one that came with a
 * run. */
int conf_read(struct conf *, const char *path, bool alone, struct err *);
int conf_set(struct conf *, const char *assignment, struct err *);
/* One value; `where` goes into the error and into conf_origin(). */
int conf_put(struct conf *, const char *key, const char *value,
             const char *where, struct err *);
int conf_put_int(struct conf *, const char *key, int64_t value,
                 const char *where, struct err *);

/* Call call() for each assignment of a file and those that it extends, with
 * "section.key": for a file that has the settings of more than one table.  -1
 * from call() ends it.  The paths of these files, in the order in which they
 * are opened, become a list; NULL is allowed. */
typedef int conf_walk_fn(void *arg, const char *key, const char *value,
                         const char *where, struct err *);
int conf_walk(const char *path, bool alone, conf_walk_fn *, void *arg,
              struct path_list *files, struct err *);

const struct setting *conf_find(const struct conf *, const char *key);
/* "conf/x.ini:12", "--set", or NULL when it is the default. */
const char *conf_origin(const struct conf *, const char *key);

/* Are both origins lines of one file? */
bool conf_same_file(const char *where, const char *other);

/* The value as text that reads back as the same value. */
void conf_text(const struct conf *, const struct setting *, struct buf *out);
/* All settings as an INI file, each with its meaning. */
void conf_dump(const struct conf *, struct buf *out);

/* A bad combination: "conf/x.ini:12: optim.lr: ...", kind ERR_USAGE. */
int conf_fail(const struct conf *, const char *key, struct err *,
              const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Put the prefix of conf_fail() before an error that the value caused; -1. */
int conf_wrap(const struct conf *, const char *key, struct err *);
