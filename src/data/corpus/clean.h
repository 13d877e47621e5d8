#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * clean - find the documents that are not worth training on
 *
 *      struct clean rules;
 *      double value;
 *
 *      if (clean_load(&rules, "clean-gopher.ini", e) < 0)
 *          return -1;
 *      if (clean_test(&rules, text, n, &value) < 0)
 *          use(text, n);
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

struct clean {
    double limit[CLEAN_RULES]; /* NaN: the rule does not apply */
};

int clean_load(struct clean *, const char *path, struct err *);

/* The first rule that a document breaks, or -1; *value is what this rule
 * compares with its limit. */
int clean_test(const struct clean *, const char *text, size_t n, double *value);
