#include "config.h"
#include "common/output/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void table_text(struct table *t, const char *s)
{
    struct table_cell *c = next_cell(t, s ? TABLE_TEXT : TABLE_NONE);

    if (s)
        c->text = arena_strdup(&t->mem, s);
}

void table_printf(struct table *t, const char *fmt, ...)
{
    struct buf b = BUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    table_text(t, b.s);
    buf_clear(&b);
}

void table_int(struct table *t, int64_t n)
{
    next_cell(t, TABLE_INT)->i = n;
}

void table_int_or_none(struct table *t, int64_t n)
{
    if (n < 0)
        table_none(t);
    else
        table_int(t, n);
}

void table_real(struct table *t, double x)
{
    next_cell(t, TABLE_REAL)->x = x;
}

void table_real_or_none(struct table *t, double x)
{
    if (isnan(x))
        table_none(t);
    else
        table_real(t, x);
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
    struct table_cell *c = next_cell(t, TABLE_SPREAD);

    c->x = mean;
    c->std = std;
    c->i = n;
    c->ci = ci95;
}

void table_add(struct table *t, struct table_cell cell)
{
    struct table_cell *c = next_cell(t, cell.type);

    *c = cell;
    if (cell.text)
        c->text = arena_strdup(&t->mem, cell.text);
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
            return err_set(e, ERR_USAGE,
                           "choose only one of --aligned, "
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
    struct buf out = BUF_INIT;
    const int form = table_form(s, e);
    int ret;

    if (form < 0)
        return -1;
    table_format(t, (enum table_form)form, !s->no_header,
                 form == TABLE_ALIGNED && table_color(s, STDOUT_FILENO),
                 line_width(), &out);
    ret = form == TABLE_ALIGNED ? pager_text(out.s, out.len, !s->no_pager, e)
                                : pager_data(out.s, out.len, e);
    buf_clear(&out);
    return ret;
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
