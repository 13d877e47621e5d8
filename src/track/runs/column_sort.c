#include "config.h"
#include "track/runs/column_sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "track/runs/column_parse.h"

enum { MAX_COLUMNS = 64 };

struct sort_row {
    struct run_info run;
    struct table_cell *cell; /* of each column that is sorted by */
};

struct sort_order {
    size_t n;
    const bool *down;
};

/* Numbers come before other texts; NaN and missing values come last in either
 * order. */
static int compare_cells(const struct table_cell *a, const struct table_cell *b,
                         bool down)
{
    enum { NUMBER, TEXT, NOT_A_NUMBER, MISSING };
    const struct table_cell *cell[] = { a, b };
    double x[2];
    int kind[2], cmp;

    for (int i = 0; i < 2; i++) {
        x[i] = column_cell_number(cell[i]);
        kind[i] = cell[i]->type == TABLE_NONE   ? MISSING
                  : !isnan(x[i])                ? NUMBER
                  : cell[i]->type == TABLE_TEXT ? TEXT
                                                : NOT_A_NUMBER;
    }
    if (kind[0] != kind[1])
        cmp = kind[0] - kind[1];
    else if (kind[0] == TEXT)
        cmp = strcmp(a->text, b->text);
    else
        cmp = kind[0] == NUMBER ? (x[0] > x[1]) - (x[0] < x[1]) : 0;
    return down && kind[0] <= TEXT && kind[1] <= TEXT ? -cmp : cmp;
}

static int by_order(const void *a, const void *b, void *arg)
{
    const struct sort_order *o = arg;
    const struct sort_row *x = a, *y = b;

    for (size_t i = 0; i < o->n; i++) {
        const int cmp = compare_cells(&x->cell[i], &y->cell[i], o->down[i]);

        if (cmp)
            return cmp;
    }
    return (x->cell > y->cell) - (x->cell < y->cell); /* keep their order */
}

static void sort_rows(struct runs *runs, const struct columns *c,
                      const bool *down)
{
    struct sort_row *row = xcalloc(runs->n, sizeof *row);
    struct table_cell *cell = xcalloc(runs->n * c->n, sizeof *cell);
    struct sort_order o = { c->n, down };

    for (size_t i = 0; i < runs->n; i++) {
        row[i].run = runs->run[i];
        row[i].cell = cell + i * c->n;
        for (size_t j = 0; j < c->n; j++)
            row[i].cell[j] = column_cell(&c->item[j], &runs->run[i]);
    }
    qsort_r(row, runs->n, sizeof *row, by_order, &o);
    for (size_t i = 0; i < runs->n; i++)
        runs->run[i] = row[i].run;
    free(cell);
    free(row);
}

/* Parse a list without its "-"; down[i] says which columns had one. */
static int parse_sort(struct columns *c, bool down[MAX_COLUMNS],
                      const char *text, const struct runs *runs, struct err *e)
{
    struct buf plain = BUF_INIT;
    size_t n = 0;
    int ret;

    for (const char *p = text; *p; p++) {
        const bool begins = p == text || p[-1] == ',';

        if (begins && *p == '-' && n < MAX_COLUMNS)
            down[n] = true;
        else
            buf_char(&plain, *p);
        n += *p == ',';
    }
    ret = n < MAX_COLUMNS
              ? columns_parse(c, plain.s, runs, e)
              : err_set(e, ERR_USAGE, "--sort accepts at most %d columns",
                        MAX_COLUMNS);
    buf_clear(&plain);
    return ret;
}

int columns_sort(struct runs *runs, const char *text, struct err *e)
{
    struct columns c = COLUMNS_INIT;
    bool down[MAX_COLUMNS] = { false };
    const int ret = parse_sort(&c, down, text, runs, e);

    if (ret == 0)
        sort_rows(runs, &c, down);
    columns_clear(&c);
    return ret;
}

void columns_add_sorted(struct columns *c, const char *text,
                        const struct runs *runs)
{
    bool down[MAX_COLUMNS] = { false };
    struct err none = ERR_INIT;

    if (text)
        parse_sort(c, down, text, runs, &none);
}
