#ifndef TRACK_RUNS_COLUMN_H
#define TRACK_RUNS_COLUMN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/table.h"
#include "store/load.h"

/*
 * column - what is shown, sorted and grouped by, in words
 *
 *      name id experiment status started ended time steps user ...
 *      params.optim.lr     metrics.val/loss     tags.phase
 *      val/loss            a parameter, else a metric, else a tag
 *      lr                  optim.lr, if no other key ends in ".lr"
 *      min(val/loss) max(..) last(..) mean(..) first(..) count(..)
 *      argmin(val/loss) argmax(val/loss)       the step where
 *      at(val/loss, 5000)  the value at that step, or the last before it
 *
 * A key with a comma or a parenthesis is quoted: `a,b` "a,b" 'a,b'.
 */
enum column_kind {
    COLUMN_ATTRIBUTE,
    COLUMN_PARAM,
    COLUMN_METRIC,
    COLUMN_TAG,
};

struct column {
    enum column_kind kind;
    int which; /* attribute, or function of a metric */
    char *key;
    char *title;
    int64_t step; /* for at() */
};

struct columns {
    struct column *item;
    size_t n, room;
};

#define COLUMNS_INIT                                                           \
 {                                                                             \
  NULL, 0, 0                                                                   \
 }

/* Append those that TEXT lists, separated by commas.  Keys are looked for in
 * the runs; one that is in none of them is ERR_USAGE. */
int columns_parse(struct columns *, const char *text, const struct runs *,
                  struct err *);
/* One more, unless there is one of that title. */
void columns_add(struct columns *, enum column_kind, const char *key);
/* The same of an attribute, by name; the name must be right. */
void columns_attribute(struct columns *, const char *name);
void columns_clear(struct columns *);

/* The value as a table's cell; strings are borrowed from the run. */
struct table_cell column_cell(const struct column *, const struct run_info *);
/* The value as a number, NaN if it is none. */
double column_number(const struct column *, const struct run_info *);
/* 1, -1, 0: greater is better, smaller is, neither. */
int column_direction(const struct column *);

/* Sort by a list of columns, "-" before one for descending order.  A run
 * without a value comes last either way. */
int columns_sort(struct runs *, const char *text, struct err *);
/* Append the columns of such a list; NULL has none. */
void columns_sorted(struct columns *, const char *text, const struct runs *);

/* The names of all attributes, for completion; NULL at the end. */
extern const char *const column_attributes[];

#endif
