#pragma once

#include "common/err.h"
#include "store/read/runs.h"

/*
 * expression - arithmetic over the metrics of a run, at equal steps
 *
 *      if (expression_check("exp(val/loss)", run, &e) > 0 &&
 *          expression_load(&s, "exp(val/loss)", run, &e) == 0) ...
 *
 *      sum    := term ( ("+" | "-") term )*
 *      term   := factor ( ("*" | "/") factor )*
 *      factor := "-" factor | [ "exp" | "log" ] "(" sum ")" | number | metric
 *
 * Names are those of filters (filter_tree.h), which may contain +, - and /, so
 * these are operators only between blanks: val/loss - train/loss.  A step at
 * which one of the metrics has no point is left out.
 */

/* The number of operators and functions, which is 0 of a single name; or -1 if
 * the form is wrong (ERR_USAGE), or this run, unless it is NULL, lacks one of
 * the metrics (ERR_MISSING).  The error names the place. */
int expression_check(const char *text, const struct run_info *, struct err *);
int expression_load(struct series *, const char *text, const struct run_info *,
                    struct err *);
