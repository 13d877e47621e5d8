#ifndef TRACK_RUNS_COLUMN_SORT_H
#define TRACK_RUNS_COLUMN_SORT_H

#include "track/runs/column.h"

/*
 * column_sort - sort runs by columns
 *
 * TEXT lists columns as in column_parse.h; "-" before one sorts it in
 * descending order.  A run without a value comes last in either order.
 */
int columns_sort(struct runs *, const char *text, struct err *);
/* Append the columns of such a list, which columns_sort() has accepted; NULL
 * has none. */
void columns_add_sorted(struct columns *, const char *text,
                        const struct runs *);

#endif
