#pragma once

#include "track/runs/column.h"

/*
 * column_parse - read columns from text, and sort runs by them
 *
 *      name id experiment status started ended time steps user ...
 *      params.optim.lr     metrics.val/loss     tags.phase
 *      val/loss            a parameter, else a metric, else a tag
 *      lr                  optim.lr, if no other key ends in ".lr"
 *      min(val/loss) max(..) last(..) mean(..) median(..) first(..) count(..)
 *      argmin(val/loss) argmax(val/loss)       the step of that value
 *      at(val/loss, 5000)  the value at that step, or the last before it
 *
 * A key with a comma or a parenthesis is quoted: `a,b` "a,b" 'a,b'.
 *
 * Runs are sorted by a list of such columns; "-" before one sorts it in
 * descending order.  A run without a value comes last in either order.
 */

/* Append the columns that TEXT lists, separated by commas.  A key that none of
 * the runs has is ERR_USAGE. */
int columns_parse(struct columns *, const char *text, const struct runs *,
                  struct err *);

int columns_sort(struct runs *, const char *text, struct err *);
/* Append the columns of a list that columns_sort() has accepted; NULL has
 * none. */
void columns_add_sorted(struct columns *, const char *text,
                        const struct runs *);

/* Where a column in a list ends: at a comma that is not in parentheses or in
 * quotes, or at the end. */
const char *columns_end(const char *text);
