#include "config.h"
#include "track/runs/column_sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* Cut " DESC" or " ASC" off, which MLflow has after a column. */
static bool cut_word(char *text, const char *word)
{
    const size_t n = strlen(text), m = strlen(word);

    if (n <= m || strcasecmp(text + n - m, word) != 0)
        return false;
    text[n - m] = '\0';
    return true;
}

/* Parse a list; down[i] says which columns have a "-" or a DESC. */
static int parse_sort(struct columns *c, bool down[MAX_COLUMNS],
                      const char *text, const struct runs *runs, struct err *e)
{
    int ret = 0;

    for (const char *from = text; ret == 0 && from;) {
        const char *end = columns_end(from);
        char *one;

        from += strspn(from, " ");
        one = xstrndup(from, (size_t)(end - from));
        if (c->n == MAX_COLUMNS) {
            ret = err_set(e, ERR_USAGE, "--sort accepts at most %d columns",
                          MAX_COLUMNS);
        } else {
            const bool minus = *one == '-';

            down[c->n] = cut_word(one, " desc") || minus;
            cut_word(one, " asc");
            ret = columns_parse(c, one + minus, runs, e);
        }
        free(one);
        from = *end ? end + 1 : NULL;
    }
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
