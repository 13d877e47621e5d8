#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/mem.h"
#include "common/path.h"

/*
 * yaml - flat mappings of names to values, in MLflow's dialect
 *
 *      struct yaml y;
 *
 *      if (yaml_load(&y, &arena, path, PATH_NO_LINKS, false, e) < 0)
 *          return -1;
 *      name = yaml_get(&y, "run_name");
 *
 * A file is one mapping of scalars, plain, quoted or folded, as libyaml
 * understands them.  A mapping inside it, such as MLflow's "tags:", is
 * flattened: its entry `a` is called "tags.a".  A list becomes the value "[]",
 * whatever it contains.  A plain null, ~ or nothing at all becomes NULL.  All
 * text belongs to the arena.  If a name occurs twice, the last one counts, as
 * in Python.
 *
 * What is written is one line "name: value" for each, with every string in
 * double quotes and never folded, which libyaml and both of PyYAML's loaders
 * read back as the same text.  A byte that is not UTF-8 is written as U+FFFD.
 * A file that is a symbolic link is read only if links are followed.
 *
 * A file of another program is read deep: the name of an entry is its path,
 * such as "parameters.lr.values[0]", and a mapping is also a name with the
 * value "{}", before its entries.
 */
struct yaml_pair {
    const char *key, *value;
    bool plain; /* not quoted: 5 is a number, "5" is not */
};

struct yaml {
    struct yaml_pair *pair; /* in the arena, in the order of the file */
    size_t n;
};

/* The largest file that is accepted.  Nesting is limited to 16 levels and the
 * number of values to 100,000, so that a damaged file causes no long delay. */
enum { YAML_MAX = 16 << 20 };

int yaml_load(struct yaml *, struct arena *, const char *path, enum path_links,
              bool deep, struct err *);
int yaml_parse(struct yaml *, struct arena *, const char *text, size_t n,
               bool deep, struct err *);

const struct yaml_pair *yaml_find(const struct yaml *, const char *key);
const char *yaml_get(const struct yaml *, const char *key); /* or NULL */
/* An integer, quoted or not; false when it is missing or something else. */
bool yaml_int(const struct yaml *, const char *key, int64_t *out);

/* One line, appended.  A NULL value is written as null. */
void yaml_put(struct buf *, const char *key, const char *value);
void yaml_put_int(struct buf *, const char *key, int64_t value);
/* A list of n texts, each with its NUL. */
void yaml_put_list(struct buf *, const char *key, const char *texts, int n);
void yaml_put_raw(struct buf *, const char *key, const char *value);
