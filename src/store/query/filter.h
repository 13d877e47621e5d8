#pragma once

#include "common/err.h"
#include "store/read/runs.h"

/*
 * filter - does a run match "metrics.loss < 3 and params.lr = '1e-3'"?
 *
 *      struct filter *f = filter_parse(text, e);
 *
 *      if (!f || filter_resolve(f, &runs, e) < 0)
 *          ...
 *      if (filter_match(f, &runs.run[i], e) > 0) ...
 *      filter_free(f);
 *
 * The grammar extends the one of MLflow's search; a filter has the same meaning
 * in both:
 *
 *      filter := term ( "or" term )*
 *      term   := factor ( "and" factor )*
 *      factor := "not" factor | "(" filter ")" | clause
 *      clause := what cmp value
 *              | what ["not"] "in" "(" value ("," value)* ")"
 *              | what "is" ["not"] ("null" | "nan" | "finite")
 *              | what ["not"] ("like" | "ilike") string
 *              | "stalled" "(" time ")"
 *      what   := [entity "."] key | fn "(" metric ")"
 *              | "at" "(" metric "," step ")"
 *      cmp    := = == != <> < <= > >=
 *      fn     := last | first | min | max | mean | median | count | argmin
 *              | argmax
 *
 * Entities are metrics, params, tags, datasets and attributes, and MLflow's
 * other spellings of these; a key without one is an attribute, or else what
 * find_key() takes it for.  A key with
 * characters other than letters, digits, "_", "." and "/" is quoted: `...` or
 * "...".  Words are not case-sensitive; entities and keys are.
 *
 * A parameter is compared with a number that is not quoted as a number; if it
 * is not a number, the clause is false.  A clause about something that is
 * missing is false, also with !=.  A NaN differs from everything; every other
 * comparison with it is false.
 */
struct filter;

/* NULL, with e an ERR_USAGE that quotes the place, if it is not a filter. */
struct filter *filter_parse(const char *text, struct err *e);
/* Look up the names: a metric, a parameter or an experiment that none of the
 * runs has is ERR_MISSING, unless it is compared with null, or there is no run
 * at all. */
int filter_resolve(struct filter *, const struct runs *, struct err *);
/* 1 or 0; -1 if a metric of the run cannot be read. */
int filter_match(const struct filter *, const struct run_info *, struct err *);
void filter_free(struct filter *);
