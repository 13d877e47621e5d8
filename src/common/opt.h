#pragma once

#include <math.h>
#include <stddef.h>

#include "common/err.h"

/*
 * opt - options and commands, each defined once, in a table
 *
 * The table is what is parsed, what --help prints, what shells complete, and
 * what the manual is compared with (t/source/t0004-options.t).
 *
 *      static const char *root = "mlruns";
 *      static int limit = 20;
 *
 *      static const struct opt opts[] = {
 *          { 'r', "root", "dir", OPT_STRING, &root, "look for runs in DIR" },
 *          { 'n', "limit", "count", OPT_INT, &limit, "show at most COUNT" },
 *          { 0 }
 *      };
 *
 * A letter of 0 means that there is no short form; a table ends with a NULL
 * name.  The variable of an option that is not given is left alone, so its
 * initializer is the default.
 */
enum opt_type {
    OPT_FLAG,   /* bool: set true */
    OPT_INT,    /* int */
    OPT_LONG,   /* int64_t; 512k, 10B */
    OPT_REAL,   /* double */
    OPT_SIZE,   /* uint64_t; 64MiB */
    OPT_SECS,   /* double; 2h30m */
    OPT_STRING, /* const char * */
    OPT_SECRET, /* the same, and gone from what ps shows */
    OPT_WORD,   /* int: which of `words`, in upper or lower case */
    OPT_LIST,   /* struct opt_list: may be given many times */
};

struct opt {
    char letter;
    const char *name;
    const char *arg; /* what it takes, or NULL for a flag */
    enum opt_type type;
    void *value;
    const char *help;         /* what it does: no capital, no full stop;
                                 * %s stands for the list of `words` */
    const char *const *words; /* OPT_WORD: the values, ended by NULL */
    struct opt_range {
        double least, most;
    } range; /* of a number; zeros for none */
};

/* clang-format off */
#define OPT_FROM(least) { (least), HUGE_VAL }
/* clang-format on */

struct opt_list {
    const char **item; /* borrowed from argv; the array is owned */
    size_t n, room;
};

/*
 * A command, defined at the end of the file that implements it.  A program
 * lists the addresses of its commands, ended by NULL.
 */
struct cmd {
    const char *name;
    const char *args;       /* as in a synopsis: "RUN..."; or NULL */
    const char *help;       /* one line */
    const struct opt *opts; /* NULL for none */
    int (*run)(int argc, char **argv, struct err *); /* argv: words left */
    const void *arg;       /* for a function that several commands share:
                                 * program_command()->arg */
    void (*confine)(void); /* give up rights before run; or NULL */
    const char **output;   /* confine_output() to this before run; or NULL */
};

/*
 * Remove the options from argv, skipping argv[0]; returns how many words
 * remain, moved to argv[0], or -1.  Options may stand anywhere; "--" ends them.
 * The error for an unknown option suggests the nearest one.
 */
int opt_parse(const struct opt *, int argc, char **argv, struct err *);

/* The help text of an option, with its words. */
void opt_help_text(const struct opt *, char *text, size_t size);

/* Print the rows of a table as --help shows them, to standard output. */
void opt_help(const struct opt *);
void opt_help_cmds(const struct cmd *const *);

/* The command called NAME, or NULL with e filled, suggesting the nearest. */
const struct cmd *opt_find_cmd(const struct cmd *const *, const char *name,
                               struct err *);

/* Which of the words, ended by NULL, is TEXT; -1 for none. */
int opt_find_word(const char *const *words, const char *text);
/* "one, two or three", for messages. */
void opt_list_words(const char *const *words, char *text, size_t size);

/*
 * The nearest of several names to a word, by edit distance, where "_", "-", "."
 * and "/" are alike, and so are capital letters and others.  The last part of a
 * name may stand for all of it, and some words of other programs are known.
 *
 *      struct opt_nearest near = { .word = word };
 *
 *      for (...)
 *          opt_nearest_try(&near, name);
 *
 * near.best is NULL if no name is near enough to be what was meant.
 */
struct opt_nearest {
    const char *word, *best;
    size_t distance;
};

void opt_nearest_try(struct opt_nearest *, const char *name);
/* Append "; did you mean NAME?" to an error, if there is a name; -1. */
int opt_nearest_add(const struct opt_nearest *, struct err *);
/* Find the nearest of the words, and append it to an error. */
int opt_nearest_word(const char *const *words, const char *text, struct err *);
