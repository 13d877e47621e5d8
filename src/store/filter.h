#ifndef STORE_FILTER_H
#define STORE_FILTER_H

#include <stdbool.h>

#include "common/err.h"
#include "store/load.h"

/*
 * filter - "metrics.loss < 3 and params.lr = '1e-3'": yes or no of a run
 *
 *      struct filter *f = filter_parse(text, e);
 *
 *      if (!f)
 *          return -1;
 *      if (filter_match(f, &run)) ...
 *      filter_free(f);
 *
 * The grammar is MLflow's search, so that a filter from there means the same
 * here, and more:
 *
 *      filter := term ( "or" term )*
 *      term   := factor ( "and" factor )*
 *      factor := "not" factor | "(" filter ")" | clause
 *      clause := what cmp value
 *              | what ["not"] "in" "(" value ("," value)* ")"
 *              | what "is" ["not"] "null"
 *              | what ["not"] ("like" | "ilike") string
 *      what   := [entity "."] key | fn "(" metric ")"
 *      cmp    := = == != <> < <= > >=
 *      fn     := last | min | max | mean | count
 *
 * Entities are metrics, params, tags, datasets and attributes, in MLflow's
 * spellings; without one a key is an attribute.  A key with other characters
 * than letters, digits, "_", "." and "/" stands in `...` or "...".  Words are
 * not case-sensitive, entities and keys are.
 *
 * A parameter compared with a bare number is compared as a number; one that is
 * no number then makes the clause false.  What is missing makes its clause
 * false, != too.  A NaN is unequal to all, and else false.
 */
struct filter;

/* NULL, with e as ERR_USAGE that points at the place, when it is no filter. */
struct filter *filter_parse(const char *text, struct err *e);
bool filter_match(const struct filter *, const struct run_info *);
void filter_free(struct filter *);

#endif
