#include "config.h"
#include "track/runs/compare_table.h"

#include <math.h>
#include <stdlib.h>

#include "track/runs/auto_columns.h"
#include "track/runs/column.h"
#include "track/runs/track.h"

static int list_columns(struct columns *c, const struct runs *runs,
                        const struct compare_table *how, struct err *e)
{
    struct columns metrics = { 0 };

    if (how->columns)
        return columns_parse(c, how->columns, runs, e);
    auto_columns_attribute(c, "experiment", runs, how->all);
    auto_columns_attribute(c, "status", runs, how->all);
    columns_attribute(c, "time");
    columns_attribute(c, "steps");
    auto_columns_params(c, runs, how->all);
    auto_columns_metrics(&metrics, runs, how->all);
    if (how->best)
        columns_use_best(&metrics);
    columns_join(c, &metrics);
    return 0;
}

/* The difference between the values of a run and of the baseline. */
static void add_delta(struct table *t, const struct column *c,
                      const struct run_info *r, const struct run_info *base)
{
    const double x = column_number(c, r), y = column_number(c, base);

    if (r == base || isnan(x) || isnan(y)) {
        table_none(t);
        return;
    }
    table_real(t, x - y);
    if (column_direction(c) && x != y)
        table_mark(t,
                   (x > y) == (column_direction(c) > 0) ? MARK_GOOD : MARK_BAD);
}

static void add_runs_as_rows(struct table *t, const struct columns *c,
                             const struct runs *runs,
                             const struct run_info *base)
{
    table_column(t, "name");
    for (size_t j = 0; j < c->n; j++) {
        table_column(t, c->item[j].title);
        if (base && c->item[j].kind == COLUMN_METRIC) {
            char *title = xasprintf("%s +-", c->item[j].title);

            table_column(t, title);
            free(title);
        }
    }
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        table_text(t, r->name);
        for (size_t j = 0; j < c->n; j++) {
            table_add(t, column_cell(&c->item[j], r));
            if (base && c->item[j].kind == COLUMN_METRIC)
                add_delta(t, &c->item[j], r, base);
        }
    }
    for (size_t j = 0, at = 1; j < c->n; j++) {
        column_mark_best(&c->item[j], t, at, runs);
        at += base && c->item[j].kind == COLUMN_METRIC ? 2 : 1;
    }
}

/* The names of the runs; a name that several have gets the id after it. */
static void add_name_columns(struct table *t, const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];
        char *name = track_is_name_shared(runs, i)
                         ? xasprintf("%s %.8s", r->name, r->id)
                         : xstrdup(r->name);

        table_column(t, name);
        free(name);
    }
}

static void add_runs_as_columns(struct table *t, const struct columns *c,
                                const struct runs *runs,
                                const struct run_info *base)
{
    table_column(t, "");
    add_name_columns(t, runs);
    for (size_t j = 0; j < c->n; j++) {
        const struct column *column = &c->item[j];

        table_text(t, column->title);
        for (size_t i = 0; i < runs->n; i++)
            table_add(t, column_cell(column, &runs->run[i]));
        if (column_rank(column, runs))
            table_mark_best_of_last(t, runs->n, column_rank(column, runs) > 0);
        if (!base || column->kind != COLUMN_METRIC)
            continue;
        table_printf(t, "  from %s", base->name);
        for (size_t i = 0; i < runs->n; i++)
            add_delta(t, column, &runs->run[i], base);
    }
}

int compare_table_fill(struct table *t, const struct runs *runs,
                       const struct compare_table *how, struct err *e)
{
    struct columns c = { 0 };
    const int ret = list_columns(&c, runs, how, e);

    if (ret == 0)
        (how->across ? add_runs_as_rows : add_runs_as_columns)(t, &c, runs,
                                                               how->base);
    columns_clear(&c);
    return ret;
}
