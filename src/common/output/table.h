#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/mem.h"

/*
 * table - print rows for people or for programs
 *
 *      static struct table_style style;
 *      static const struct opt opts[] = { TABLE_OPTS(style), { 0 } };
 *      struct table t = TABLE_INIT("gtrack.ls/1");
 *
 *      table_column(&t, "name");
 *      table_column(&t, "val/loss");
 *      for (...) {
 *          table_text(&t, run->name);
 *          table_real(&t, loss);
 *      }
 *      return table_finish(&t, 0, &style, e);
 *
 * Cells are added row by row, each with its own type; strings are copied.  On a
 * terminal the columns are aligned, coloured and fitted to the width, and shown
 * in a pager if there are many rows; a pipe or a file gets tab-separated
 * values; the options of TABLE_OPTS select any form.  For people numbers are
 * rounded and times are local; programs get all digits, seconds, bytes and UTC.
 *
 * gtrack(1), Table formats, describes the forms.  The schema of a table in JSON
 * is given to TABLE_INIT; within a version columns are only added.
 */
enum table_form {
    TABLE_AUTO,
    TABLE_ALIGNED,
    TABLE_TSV,
    TABLE_CSV,
    TABLE_CSV_SAFE,
    TABLE_JSON,
    TABLE_MARKDOWN,
    TABLE_LATEX,
};

enum table_color {
    COLOR_AUTO,
    COLOR_ALWAYS,
    COLOR_NEVER,
};

extern const char *const table_color_words[];

struct table_style { /* what the options set; zeroed is the default */
    bool aligned, tsv, csv, safe, json, markdown, latex, no_header, no_pager;
    int color; /* enum table_color */
};

/* clang-format off */
#define TABLE_OPT_COLOR(s) \
    { 0, "color", "when", OPT_WORD, &(s).color, \
      "use colours: %s (default: auto)", table_color_words }
#define TABLE_OPTS(s) \
    { 0, "json", NULL, OPT_FLAG, &(s).json, "print JSON" }, \
    { 0, "csv", NULL, OPT_FLAG, &(s).csv, "print comma-separated values" }, \
    { 0, "safe", NULL, OPT_FLAG, &(s).safe, \
      "with --csv: begin no text as a formula of a spreadsheet" }, \
    { 0, "tsv", NULL, OPT_FLAG, &(s).tsv, "print tab-separated values" }, \
    { 0, "markdown", NULL, OPT_FLAG, &(s).markdown, "print Markdown" }, \
    { 0, "latex", NULL, OPT_FLAG, &(s).latex, \
      "print a LaTeX tabular for the package booktabs" }, \
    { 0, "aligned", NULL, OPT_FLAG, &(s).aligned, \
      "print aligned columns, even to a pipe" }, \
    { 0, "no-header", NULL, OPT_FLAG, &(s).no_header, \
      "leave out the names of the columns" }, \
    TABLE_OPT_COLOR(s), \
    { 0, "no-pager", NULL, OPT_FLAG, &(s).no_pager, "do not start a pager" }
/* clang-format on */

enum table_type {
    TABLE_NONE, /* nothing to show */
    TABLE_TEXT,
    TABLE_INT,
    TABLE_REAL,
    TABLE_TIME, /* wall time, milliseconds since the epoch */
    TABLE_SECS, /* a duration */
    TABLE_BYTES,
    TABLE_SPREAD, /* mean ± standard deviation, and the interval of the mean */
};

enum table_mark {
    MARK_NONE,
    MARK_BEST, /* the best of its column */
    MARK_DIM,
    MARK_GOOD,
    MARK_WARN,
    MARK_BAD,
    MARK_HEAD,
};

struct table_cell {
    enum table_type type;
    enum table_mark mark;
    const char *text;
    int64_t i;
    double x, std, ci; /* SPREAD: mean, deviation, half of the 95% */
};

struct table {
    const char *schema;
    const char *hint; /* how to see columns that do not fit, or NULL */
    struct arena mem;
    const char **column;
    size_t n_columns, room_columns;
    struct table_cell *cell; /* row after row */
    size_t n_cells, room_cells;
};

#define TABLE_INIT(name)                                                       \
    ((struct table){ name, NULL, { 0 }, NULL, 0, 0, NULL, 0, 0 })

/* Add all columns before the first cell; no two have the same name. */
void table_column(struct table *, const char *name);
/* Several at once, ended by NULL. */
void table_columns(struct table *, const char *name, ...)
    __attribute__((sentinel));

void table_none(struct table *);
void table_text(struct table *, const char *s); /* NULL: none */
void table_printf(struct table *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void table_int(struct table *, int64_t);
void table_int_or_none(struct table *, int64_t); /* below 0: none */
void table_real(struct table *, double);
void table_real_or_none(struct table *, double);  /* NaN: none */
void table_time(struct table *, int64_t wall_ms); /* 0: none */
void table_secs(struct table *, double);
void table_bytes(struct table *, int64_t);
void table_spread(struct table *, double mean, double std, int64_t n,
                  double ci95);
/* A cell of any type; its text is copied, or has to live as long as the table.
 */
void table_add(struct table *, struct table_cell);
void table_borrow(struct table *, struct table_cell);
struct table_cell table_text_cell(const char *);  /* borrowed; NULL: none */
void table_mark(struct table *, enum table_mark); /* the last cell */

size_t table_rows(const struct table *);
struct table_cell *table_cell(struct table *, size_t row, size_t column);

/* The number of decimals for each column of numbers, so that the smallest
 * number still has five digits; -1 for exponents.  The caller frees it. */
int *table_decimals(const struct table *);
/* A cell as people read it, with the decimals of its column; or for LaTeX. */
void table_cell_text(struct buf *, const struct table_cell *, int decimals);
void table_cell_latex(struct buf *, const struct table_cell *, int decimals);
/* How LaTeX writes a character that it would read otherwise; or NULL. */
const char *table_latex(char);

/* Mark the least or the greatest number of a column, or of the last n cells, if
 * there are two or more; NaN is never marked. */
void table_mark_best(struct table *, size_t column, bool greatest);
void table_mark_best_of_last(struct table *, size_t n, bool greatest);

int table_print(const struct table *, const struct table_style *, struct err *);
/* Print it, unless `ret` is -1, which is returned then; and clear it. */
int table_finish(struct table *, int ret, const struct table_style *,
                 struct err *);
/* Print into memory, in a given form; width 0 is no limit. */
void table_format(const struct table *, enum table_form, bool header,
                  bool color, size_t width, struct buf *out);
/* The same for TSV, CSV and JSON alone. */
void table_write_data(const struct table *, enum table_form, bool header,
                      struct buf *out);
void table_clear(struct table *);

/* The form that the options select; TABLE_AUTO depends on whether standard
 * output is a terminal.  Two forms at once are ERR_USAGE, and -1. */
int table_form(const struct table_style *, struct err *);
bool table_color(const struct table_style *, int fd);

/* s as a field of CSV, quoted if necessary. */
void table_tsv_text(struct buf *, const char *);
void table_csv_text(struct buf *, const char *s);
/* The same, with ' before what a spreadsheet would take for a formula. */
void table_csv_safe(struct buf *, const char *s);
/* s for Markdown, with its special characters escaped. */
void table_markdown_text(struct buf *, const char *s);
/* A row as a JSON object. */
struct emit;
void table_emit_row(struct emit *, const char *key, const struct table *,
                    size_t row);
