#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/output/table.h"
#include "store/query/run_value.h"
#include "store/read/runs.h"
#include "track/runs/track.h"

/*
 * column - values of runs that tables show and that runs are sorted by
 *
 *      struct columns c = { 0 };
 *
 *      columns_attribute(&c, "name");
 *      if (columns_parse(&c, "lr,min(val/loss)", &runs, e) == 0)
 *          ... column_cell(&c.item[i], &runs.run[0]) ...
 *      columns_clear(&c);
 *
 * The text of a column (column_parse.c) is described in gtrack(1), COLUMNS.  A
 * key with a comma or a parenthesis is quoted: `a,b` "a,b" 'a,b'.
 */
enum column_kind {
    COLUMN_ATTRIBUTE,
    COLUMN_PARAM,
    COLUMN_METRIC,
    COLUMN_TAG,
};

struct column {
    enum column_kind kind;
    int attribute;              /* enum run_attribute */
    enum run_function function; /* of a metric */
    char *key;
    char *title;
    int64_t step; /* for FUNCTION_AT */
};

struct columns {
    struct column *item;
    size_t n, room;
};

/* Append a column of a key, or of an attribute by its name, unless there is
 * one with this title.  The name of an attribute must exist. */
void columns_add(struct columns *, enum column_kind, const char *key);
void columns_attribute(struct columns *, const char *name);
/* Append a column whatever there is; its key and title are copied. */
struct column *columns_append(struct columns *, const char *key,
                              const char *title);
/* Append the columns of another list, which is empty afterwards. */
void columns_join(struct columns *, struct columns *more);
/* What a metric shows if no function is named: the rate of the whole run
 * (run_rate()), or else the last value. */
enum run_function column_usual_function(const char *metric);
/* Show the best value of each metric that has one, instead of the last. */
void columns_use_best(struct columns *);
void columns_clear(struct columns *);

/* The value as a table's cell; strings are borrowed from the run. */
struct table_cell column_cell(const struct column *, const struct run_info *);
/* A cell, and the value of a column, as a number; NaN if it is none. */
double column_cell_number(const struct table_cell *);
double column_number(const struct column *, const struct run_info *);
/* 1, -1, 0: a higher value is better, a lower one, neither. */
int column_direction(const struct column *);
/* The same, but 0 where the values of these runs do not compare. */
int column_rank(const struct column *, const struct runs *);
/* Mark the best value of a column of a table, if one is better than others. */
void column_mark_best(const struct column *, struct table *, size_t at,
                      const struct runs *);
/* A row for each run, whose texts are borrowed; `marks` marks the best of each
 * column. */
void columns_fill(const struct columns *, struct table *, const struct runs *,
                  bool marks);
/* Print the same as TSV or CSV, which several threads write. */
int columns_print(const struct columns *, const struct runs *, enum table_form,
                  bool header, struct err *);
/*
 * One row for all runs with the same values in the columns that `by` lists, or
 * for all runs without it, as gtrack(1), COLUMNS, describes: the mean of each
 * metric, its standard deviation (n - 1), and so on.  A warning says if the
 * runs of a group have different last steps of the first metric.
 */
int columns_fill_groups(struct table *, const struct runs *, const char *by,
                        const struct columns *metrics, struct err *);
/* Number the groups of rows whose cells, `columns` in each row, are equal, in
 * the order of their first rows.  group[] becomes the number of each row's
 * group; returns how many groups there are. */
size_t column_group_cells(const struct table_cell *, size_t rows,
                          size_t columns, size_t *group);

/* Append the columns that TEXT lists, separated by commas.  A key that none of
 * the runs has is ERR_USAGE. */
int columns_parse(struct columns *, const char *text, const struct runs *,
                  struct err *);
/* Sort runs by a list of columns; "-" before one sorts it in descending order.
 * A run without a value comes last in either order.  With columns to group by,
 * or NULL, a run has the mean of its group in place of a number. */
int columns_sort(struct runs *, const char *text, const char *by, struct err *);
/* Append the columns of a list that columns_sort() has accepted; NULL has
 * none. */
void columns_add_sorted(struct columns *, const char *text,
                        const struct runs *);

/*
 * auto_columns - the parameters and metrics that tables show by default
 *
 * These are the parameters in which the runs differ (store/query/differ.h);
 * and the losses, accuracies and speeds
 * that runs are compared by, or the most common metrics if there are none of
 * these.  `all` selects every parameter or every metric.
 *
 * In a list of runs, documents get the columns in which the runs differ, and
 * the most important metrics; programs get the same attributes for any runs.
 * On a screen, where there is little room, what tells the runs apart comes
 * first.
 */
enum auto_reader { AUTO_DOCUMENT, AUTO_DOCUMENT_ALL, AUTO_PROGRAM };

/* An attribute, if it differs or shall be there `always`. */
void auto_columns_attribute(struct columns *, const char *name,
                            const struct runs *, bool always);
void auto_columns_params(struct columns *, const struct runs *, bool all);
void auto_columns_metrics(struct columns *, const struct runs *, bool all);
/* The default metrics and, where there are fewer than six, others. */
void auto_columns_some(struct columns *, const struct runs *);
void auto_columns_full(struct columns *, const struct runs *,
                       const struct track_selection *, enum auto_reader);
void auto_columns_short(struct columns *, const struct runs *,
                        const struct track_selection *);
void auto_columns_shorten(struct columns *);
