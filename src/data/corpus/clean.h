#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "data/corpus/grams.h"

/*
 * clean - find the documents that are not worth training on
 *
 *      struct clean rules;
 *      double value;
 *
 *      if (clean_load(&rules, "clean-gopher.ini", e) < 0)
 *          return -1;
 *      if (clean_test(&rules, &text, &n, &value, count) < 0)
 *          use(text, n);
 *      clean_clear(&rules);
 *
 * A file of settings says which of the rules in clean_rules.def apply, and with
 * which limits.  Words are what white space separates, and lengths are in
 * characters.
 */
enum clean_rule {
#define RULE(id, ...) CLEAN_##id,
#include "data/corpus/clean_rules.def"
    CLEAN_RULES
};

extern const char *const clean_name[CLEAN_RULES]; /* "section.key" */

bool clean_is_of_lines(int rule); /* or of what it replaces */

struct clean {
    double limit[CLEAN_RULES]; /* NaN: the rule does not apply */
    bool edits;                /* does one of C4's? */
    struct buf kept;           /* what these keep */
    struct buf replaced;       /* what is kept, without personal data */
    uint8_t may_begin[3][256]; /* see count_phrases() */
    int64_t *count;            /* of clean_test() */
    struct grams grams;
};

int clean_load(struct clean *, const char *path, struct err *);

/* One that has tested nothing may be copied, for another thread.
 *
 * The first rule that a document breaks, or -1; *value is what this rule
 * compares with its limit.  What the rules drop, remove and replace is counted
 * in count[rule].  If the document is kept, *text becomes what is left of it,
 * which is valid until the next call. */
int clean_test(struct clean *, const char **text, size_t *n, double *value,
               int64_t count[CLEAN_RULES]);

/* The last part of clean_test(), for what is kept. */
void clean_replace(struct clean *, const char **text, size_t *n);

void clean_clear(struct clean *);
