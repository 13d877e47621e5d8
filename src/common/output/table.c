#include "config.h"
#include "common/output/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/num.h"
#include "common/output/emit.h"
#include "common/output/pager.h"

void table_column(struct table *t, const char *name)
{
    APPEND(t->column, t->n_columns, t->room_columns) =
        arena_strdup(&t->mem, name);
}

void table_columns(struct table *t, const char *name, ...)
{
    va_list ap;

    va_start(ap, name);
    for (; name; name = va_arg(ap, const char *))
        table_column(t, name);
    va_end(ap);
}

static struct table_cell *next_cell(struct table *t, enum table_type type)
{
    struct table_cell *c = &APPEND(t->cell, t->n_cells, t->room_cells);

    *c = (struct table_cell){ .type = type };
    return c;
}

void table_none(struct table *t)
{
    next_cell(t, TABLE_NONE);
}

struct table_cell table_text_cell(const char *s)
{
    return (struct table_cell){ .type = s ? TABLE_TEXT : TABLE_NONE,
                                .text = s };
}

void table_text(struct table *t, const char *s)
{
    table_add(t, table_text_cell(s));
}

void table_printf(struct table *t, const char *fmt, ...)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    table_text(t, b.s);
}

void table_int(struct table *t, int64_t n)
{
    next_cell(t, TABLE_INT)->i = n;
}

void table_int_or_none(struct table *t, int64_t n)
{
    next_cell(t, n < 0 ? TABLE_NONE : TABLE_INT)->i = n;
}

void table_real(struct table *t, double x)
{
    next_cell(t, TABLE_REAL)->x = x;
}

void table_real_or_none(struct table *t, double x)
{
    next_cell(t, isnan(x) ? TABLE_NONE : TABLE_REAL)->x = x;
}

void table_time(struct table *t, int64_t wall_ms)
{
    next_cell(t, wall_ms ? TABLE_TIME : TABLE_NONE)->i = wall_ms;
}

void table_secs(struct table *t, double secs)
{
    next_cell(t, TABLE_SECS)->x = secs;
}

void table_bytes(struct table *t, int64_t n)
{
    next_cell(t, TABLE_BYTES)->i = n;
}

void table_spread(struct table *t, double mean, double std, int64_t n,
                  double ci95)
{
    table_borrow(t, (struct table_cell){ TABLE_SPREAD, MARK_NONE, NULL, n, mean,
                                         std, ci95 });
}

void table_borrow(struct table *t, struct table_cell cell)
{
    APPEND(t->cell, t->n_cells, t->room_cells) = cell;
}

void table_add(struct table *t, struct table_cell cell)
{
    if (cell.text)
        cell.text = arena_strdup(&t->mem, cell.text);
    table_borrow(t, cell);
}

void table_mark(struct table *t, enum table_mark mark)
{
    if (t->n_cells)
        t->cell[t->n_cells - 1].mark = mark;
}

size_t table_rows(const struct table *t)
{
    return t->n_columns ? t->n_cells / t->n_columns : 0;
}

struct table_cell *table_cell(struct table *t, size_t row, size_t column)
{
    return &t->cell[row * t->n_columns + column];
}

/* The number a cell is ranked by; NaN for none. */
static double rank(const struct table_cell *c)
{
    const bool whole = c->type == TABLE_INT || c->type == TABLE_BYTES;

    return whole ? (double)c->i
           : c->type == TABLE_REAL || c->type == TABLE_SECS ||
                   c->type == TABLE_SPREAD
               ? c->x
               : (double)NAN;
}

/* Of n cells, each so many after the one before it. */
static void mark_best(struct table_cell *c, size_t n, size_t step,
                      bool greatest)
{
    struct table_cell *best = NULL;
    size_t numbers = 0;

    for (size_t i = 0; i < n; i++, c += step) {
        const double x = rank(c);

        numbers += isnan(x) ? 0 : 1;
        if (!isnan(x) &&
            (!best || (greatest ? x > rank(best) : x < rank(best))))
            best = c;
    }
    if (numbers > 1)
        best->mark = MARK_BEST;
}

void table_mark_best(struct table *t, size_t column, bool greatest)
{
    mark_best(t->cell + column, table_rows(t), t->n_columns, greatest);
}

void table_mark_best_of_last(struct table *t, size_t n, bool greatest)
{
    mark_best(t->cell + t->n_cells - n, n, 1, greatest);
}

const char *const table_color_words[] = {
    [COLOR_AUTO] = "auto",
    [COLOR_ALWAYS] = "always",
    [COLOR_NEVER] = "never",
    [COLOR_NEVER + 1] = NULL,
};

int table_form(const struct table_style *s, struct err *e)
{
    const struct {
        bool on;
        enum table_form form;
    } asked[] = {
        { s->aligned, TABLE_ALIGNED },
        { s->tsv, TABLE_TSV },
        { s->csv || s->safe, s->safe ? TABLE_CSV_SAFE : TABLE_CSV },
        { s->json, TABLE_JSON },
        { s->markdown, TABLE_MARKDOWN },
        { s->latex, TABLE_LATEX },
    };
    int form = TABLE_AUTO;

    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        if (!asked[i].on)
            continue;
        if (form != TABLE_AUTO)
            return err_usage(e, "choose only one of --aligned, "
                                "--json, --csv, --tsv, --markdown or --latex");
        form = asked[i].form;
    }
    if (form == TABLE_AUTO)
        form = isatty(STDOUT_FILENO) ? TABLE_ALIGNED : TABLE_TSV;
    return form;
}

bool table_color(const struct table_style *s, int fd)
{
    const char *term = getenv("TERM");
    const char *force = str_env("CLICOLOR_FORCE");

    if (s->color == COLOR_ALWAYS)
        return true;
    if (s->color == COLOR_NEVER || str_env("NO_COLOR"))
        return false;
    if (force && strcmp(force, "0") != 0)
        return true;
    return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

/* The width of the terminal or, elsewhere, what COLUMNS says; 0: no limit. */
static size_t line_width(void)
{
    int rows, columns;

    if (!isatty(STDOUT_FILENO) && !getenv("COLUMNS"))
        return 0;
    pager_screen(&rows, &columns);
    return (size_t)columns;
}

int table_print(const struct table *t, const struct table_style *s,
                struct err *e)
{
    AUTO(buf_clear) struct buf out = BUF_INIT;
    const int form = table_form(s, e);

    if (form < 0)
        return -1;
    table_format(t, (enum table_form)form, !s->no_header,
                 form == TABLE_ALIGNED && table_color(s, STDOUT_FILENO),
                 line_width(), &out);
    return form == TABLE_ALIGNED ? pager_text(out.s, out.len, !s->no_pager, e)
                                 : pager_data(out.s, out.len, e);
}

int table_finish(struct table *t, int ret, const struct table_style *s,
                 struct err *e)
{
    if (ret == 0)
        ret = table_print(t, s, e);
    table_clear(t);
    return ret;
}

void table_clear(struct table *t)
{
    arena_clear(&t->mem);
    FREE(t->column, t->cell);
    *t = TABLE_INIT(t->schema);
}

/* ---- tab- and comma-separated ---- */

void table_tsv_text(struct buf *b, const char *s)
{
    static const char special[] = "\t\n\r\\", letter[] = "tnr\\";

    for (;;) {
        const size_t n = strcspn(s, special);

        buf_add(b, s, n);
        s += n;
        if (!*s)
            return;
        buf_char(b, '\\');
        buf_char(b, letter[strchr(special, *s++) - special]);
    }
}

void table_csv_text(struct buf *b, const char *s)
{
    if (!strpbrk(s, ",\"\r\n") && *s != ' ') {
        buf_str(b, s);
        return;
    }
    buf_char(b, '"');
    for (; *s; s++) {
        if (*s == '"')
            buf_char(b, '"');
        buf_char(b, *s);
    }
    buf_char(b, '"');
}

void table_csv_safe(struct buf *b, const char *s)
{
    double x;
    AUTO_FREE char *quoted = NULL;

    if (!*s || !strchr("=+-@\t\r\n", *s) || num_real(s, &x)) {
        table_csv_text(b, s);
        return;
    }
    quoted = xasprintf("'%s", s);
    table_csv_text(b, quoted);
}

typedef void put_text_fn(struct buf *, const char *);

/* A cell for programs, in which only texts need quoting; a spread has four
 * parts, other cells one. */
static void put_exact(struct buf *b, const struct table_cell *c, int part,
                      put_text_fn *put)
{
    char text[NUM_TEXT];

    if (part > 0 && c->type != TABLE_SPREAD)
        return;
    switch (part == 2 ? TABLE_INT : c->type) {
    case TABLE_NONE:
        break;
    case TABLE_TEXT:
        put(b, c->text);
        break;
    case TABLE_INT:
    case TABLE_BYTES:
        buf_printf(b, "%" PRId64, c->i);
        break;
    case TABLE_REAL:
    case TABLE_SECS:
    case TABLE_SPREAD:
        num_shortest(text, part == 0 ? c->x : part == 1 ? c->std : c->ci);
        buf_str(b, text);
        break;
    case TABLE_TIME:
        buf_str(b, clock_utc(text, c->i));
        break;
    }
}

static void write_separated(const struct table *t, enum table_form form,
                            bool header, struct buf *out)
{
    /* a spread has four columns */
    static const char *const spread_part[] = { "", " std", " n", " ci95" };
    const bool csv = form == TABLE_CSV || form == TABLE_CSV_SAFE;
    put_text_fn *const put = form == TABLE_CSV        ? table_csv_text
                             : form == TABLE_CSV_SAFE ? table_csv_safe
                                                      : table_tsv_text;
    const size_t rows = table_rows(t);
    AUTO_FREE int *parts = xcalloc(t->n_columns, sizeof *parts);
    AUTO(buf_clear) struct buf text = BUF_INIT;

    for (size_t i = 0; i < t->n_cells; i++)
        if (t->cell[i].type == TABLE_SPREAD)
            parts[i % t->n_columns] = 3;
    for (size_t row = header ? 0 : 1; row <= rows; row++) {
        for (size_t j = 0; j < t->n_columns; j++) {
            for (int part = 0; part <= parts[j]; part++) {
                if (j || part)
                    buf_char(out, csv ? ',' : '\t');
                if (row > 0) {
                    put_exact(out, &t->cell[(row - 1) * t->n_columns + j], part,
                              put);
                    continue;
                }
                buf_trim(&text, 0);
                buf_printf(&text, "%s%s", t->column[j], spread_part[part]);
                put(out, text.s);
            }
        }
        buf_char(out, '\n');
    }
}

/* ---- JSON ---- */

static void emit_cell(struct emit *o, const char *key,
                      const struct table_cell *c)
{
    char text[NUM_TEXT];

    switch (c->type) {
    case TABLE_NONE:
        emit_null(o, key);
        break;
    case TABLE_TEXT:
        emit_text(o, key, c->text);
        break;
    case TABLE_TIME:
        emit_text(o, key, clock_utc(text, c->i));
        break;
    case TABLE_REAL:
    case TABLE_SECS:
        emit_real(o, key, c->x);
        break;
    case TABLE_INT:
    case TABLE_BYTES:
        emit_int(o, key, c->i);
        break;
    case TABLE_SPREAD:
        emit_object(o, key);
        emit_real(o, "mean", c->x);
        emit_real(o, "std", c->std);
        emit_int(o, "n", c->i);
        emit_real(o, "ci95", c->ci);
        emit_object_end(o);
        break;
    }
}

void table_emit_row(struct emit *o, const char *key, const struct table *t,
                    size_t row)
{
    emit_object(o, key);
    for (size_t j = 0; j < t->n_columns; j++)
        emit_cell(o, t->column[j], &t->cell[row * t->n_columns + j]);
    emit_object_end(o);
}

static void write_json(const struct table *t, struct buf *out)
{
    struct emit o = { out, .reals = EMIT_QUOTED, .spaced = true, .lines = 1 };

    emit_object(&o, NULL);
    emit_text(&o, "schema", t->schema);
    emit_array(&o, "columns");
    for (size_t j = 0; j < t->n_columns; j++)
        emit_text(&o, NULL, t->column[j]);
    emit_array_end(&o);
    emit_array(&o, "rows");
    o.lines = 2;
    for (size_t i = 0; i < table_rows(t); i++)
        table_emit_row(&o, NULL, t, i);
    emit_array_end(&o);
    emit_object_end(&o);
    emit_newline(&o);
}

void table_write_data(const struct table *t, enum table_form form, bool header,
                      struct buf *out)
{
    if (form == TABLE_JSON)
        write_json(t, out);
    else
        write_separated(t, form, header, out);
}
