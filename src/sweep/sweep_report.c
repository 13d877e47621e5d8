/*
 * sweep_report - a table of the cells, and one of how the results depend on an
 * axis
 *
 * The sensitivity is defined by Wortsman et al. (2023), "Small-scale proxies
 * for large-scale Transformer training instabilities", section 2.2: the mean
 * over the values of min(loss, loss of a guess) - least loss.
 */
#include "config.h"
#include "common/mem.h"
#include "sweep/sweep_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/num.h"

int sweep_run_status(const struct sweep_run *s, const struct table_style *style,
                     struct err *e)
{
    const struct sweep *w = &s->sweep;
    struct table t = TABLE_INIT("sweep/1");
    const struct outcome *best = NULL;
    int ret;

    table_columns(&t, "cell", "run", "status", NULL);
    for (size_t i = 0; i < w->n_axes; i++)
        table_column(&t, w->axis[i].key);
    table_column(&t, "step");
    table_column(&t, w->metric);
    for (size_t c = 0; c < w->n_cells; c++) {
        const struct outcome *o = &s->outcome[c];

        table_int(&t, (int64_t)c);
        table_text(&t, o->run ? o->run->name : NULL);
        table_text(&t, o->run ? run_status_word(o->run->status) : "missing");
        for (size_t i = 0; i < w->n_axes; i++)
            table_text(&t, w->cell[c].value[i]);
        if (o->run)
            table_int(&t, o->step);
        else
            table_none(&t);
        table_real_or_none(&t, o->best);
        if (!isnan(o->best) &&
            (!best || sweep_run_better(w, o->best, best->best)))
            best = o;
    }
    table_mark_best(&t, 3 + w->n_axes + 1, w->goal == SWEEP_MAX);
    ret = table_finish(&t, 0, style, e);
    log_info("%zu of %zu cells are done", s->count[CELL_DONE], w->n_cells);
    if (best)
        log_info("best %s: %g, %s", w->metric, best->best, best->run->name);
    return ret;
}

/* ---- the report -------------------------------------------------------- */

enum { MOST_COLUMNS = 24 };

struct sweep_table {
    const struct sweep_run *s;
    size_t by;          /* the axis */
    const char **value; /* its values; the grid's, or those drawn */
    size_t n_values;
    size_t *row_of; /* of each cell */
    size_t *first;  /* cell of each row */
    size_t n_rows;
    bool wide;  /* a column for each value */
    bool sized; /* the runs tell how many parameters their models have */
};

static int find_axis(struct sweep_table *r, const char *by, struct err *e)
{
    const struct sweep *w = &r->s->sweep;
    const char *want = by ? by : "optim.lr";

    for (r->by = 0; r->by < w->n_axes; r->by++)
        if (strcmp(w->axis[r->by].key, want) == 0)
            return 0;
    if (by)
        return err_set(e, ERR_USAGE,
                       "--by expects an axis of this sweep, not '%s'", by);
    r->by = 0;
    return 0;
}

/* Does an axis have a column?  One of a single value says nothing. */
static bool has_column(const struct sweep_table *r, size_t axis)
{
    const struct sweep *w = &r->s->sweep;

    return axis != r->by && strcmp(w->axis[axis].key, w->seed_key) != 0 &&
           w->axis[axis].n != 1;
}

/* Cells of one row agree in all axes but this one and the seed. */
static bool same_row(const struct sweep_table *r, size_t x, size_t y)
{
    const struct sweep *w = &r->s->sweep;

    for (size_t i = 0; i < w->n_axes; i++)
        if (has_column(r, i) &&
            strcmp(w->cell[x].value[i], w->cell[y].value[i]) != 0)
            return false;
    return true;
}

static void find_rows(struct sweep_table *r)
{
    const size_t n = r->s->sweep.n_cells;

    r->row_of = xcalloc(n, sizeof *r->row_of);
    r->first = xcalloc(n, sizeof *r->first);
    for (size_t c = 0; c < n; c++) {
        size_t row = 0;

        while (row < r->n_rows && !same_row(r, r->first[row], c))
            row++;
        if (row == r->n_rows)
            r->first[r->n_rows++] = c;
        r->row_of[c] = row;
    }
}

static void find_values(struct sweep_table *r)
{
    const struct sweep *w = &r->s->sweep;
    size_t n = 0;

    r->value = xcalloc(w->n_cells, sizeof *r->value);
    for (size_t c = 0; c < w->n_cells; c++)
        r->value[c] = w->cell[c].value[r->by];
    SORT(r->value, w->n_cells, num_by_text);
    for (size_t i = 0; i < w->n_cells; i++)
        if (*r->value[i] &&
            (n == 0 || strcmp(r->value[n - 1], r->value[i]) != 0))
            r->value[n++] = r->value[i];
    r->n_values = n;
}

/* The metric in a row at a value, averaged over seeds; NaN if no cell has it.
 * *run is the run of one of these cells. */
static double mean_at(const struct sweep_table *r, size_t row,
                      const char *value, const struct run_info **run)
{
    const struct sweep *w = &r->s->sweep;
    double sum = 0;
    int n = 0;

    for (size_t c = 0; c < w->n_cells; c++) {
        const struct outcome *o = &r->s->outcome[c];

        if (r->row_of[c] != row || isnan(o->best) ||
            strcmp(w->cell[c].value[r->by], value) != 0)
            continue;
        *run = o->run;
        sum += o->best;
        n++;
    }
    return n ? sum / n : (double)NAN;
}

/* The loss of a uniform guess, where the metric is a loss in nats. */
static double guess_loss(const struct sweep *w, const struct run_info *run)
{
    const char *vocab = run ? run_info_param(run, "model.vocab") : NULL;
    int64_t n;

    if (w->goal != SWEEP_MIN || !vocab || !num_int(vocab, &n) || n < 2 ||
        (strcmp(w->metric, "val/loss") != 0 &&
         strcmp(w->metric, "train/loss") != 0))
        return INFINITY;
    return log((double)n);
}

static void add_row(const struct sweep_table *r, struct table *t, size_t row)
{
    const struct sweep *w = &r->s->sweep;
    const struct run_info *run = NULL;
    const char *parameters, *best_value = NULL;
    double *x = xcalloc(r->n_values, sizeof *x);
    double best = (double)NAN, most, worse = 0;
    int64_t count = -1;
    int n = 0;

    for (size_t v = 0; v < r->n_values; v++) {
        x[v] = mean_at(r, row, r->value[v], &run);
        if (sweep_run_better(w, x[v], best)) {
            best = x[v];
            best_value = r->value[v];
        }
    }
    most = guess_loss(w, run);
    for (size_t v = 0; v < r->n_values; v++) {
        if (isnan(x[v]))
            continue;
        worse += fmax(0, w->goal == SWEEP_MAX ? best - x[v]
                                              : fmin(x[v], most) - best);
        n++;
    }
    for (size_t i = 0; i < w->n_axes; i++)
        if (has_column(r, i))
            table_text(t, w->cell[r->first[row]].value[i]);
    parameters = run ? run_info_param(run, "derived.parameters") : NULL;
    if (parameters)
        num_int(parameters, &count);
    if (r->sized)
        table_int_or_none(t, count);
    for (size_t v = 0; r->wide && v < r->n_values; v++) {
        table_real_or_none(t, x[v]);
        if (r->value[v] == best_value)
            table_mark(t, MARK_BEST);
    }
    table_text(t, best_value);
    table_real_or_none(t, best);
    table_real_or_none(t, n > 1 ? worse / n : (double)NAN);
    free(x);
}

static void name_columns(const struct sweep_table *r, struct table *t)
{
    const struct sweep *w = &r->s->sweep;
    const char *key = w->axis[r->by].key;

    for (size_t i = 0; i < w->n_axes; i++)
        if (has_column(r, i))
            table_column(t, w->axis[i].key);
    if (r->sized)
        table_column(t, "parameters");
    for (size_t v = 0; r->wide && v < r->n_values; v++)
        table_column(t, arena_printf(&t->mem, "%s=%s", key, r->value[v]));
    table_column(t, arena_printf(&t->mem, "best %s", key));
    table_column(t, w->metric);
    table_column(t, "sensitivity");
}

/* Failed cells are in the means, too, and so are those that halving ended. */
static void warn_unequal(const struct sweep_run *s)
{
    int64_t least = INT64_MAX, most = 0;
    size_t n = 0;

    for (const struct outcome *o = s->outcome;
         o < s->outcome + s->sweep.n_cells; o++) {
        if (!o->run || isnan(o->best))
            continue;
        n += o->run->status != RUN_FINISHED;
        least = o->step < least ? o->step : least;
        most = o->step > most ? o->step : most;
    }
    if (least < most)
        log_warn("the values are not at equal steps: the cells have %lld to "
                 "%lld steps",
                 (long long)least, (long long)most);
    if (n)
        log_warn("counted, but not finished: %zu of %zu cells; "
                 "'gtrain sweep status' lists them",
                 n, s->sweep.n_cells);
}

int sweep_run_report(const struct sweep_run *s, const char *by,
                     const struct table_style *style, struct err *e)
{
    struct table t = TABLE_INIT("sweep.report/1");
    struct sweep_table r = { .s = s };
    int ret = find_axis(&r, by, e);

    if (ret == 0) {
        find_rows(&r);
        find_values(&r);
        r.wide = r.n_values <= MOST_COLUMNS && !s->sweep.axis[r.by].random;
        for (size_t c = 0; c < s->sweep.n_cells; c++)
            r.sized |= s->outcome[c].run &&
                       run_info_param(s->outcome[c].run, "derived.parameters");
        name_columns(&r, &t);
        for (size_t row = 0; row < r.n_rows; row++)
            add_row(&r, &t, row);
        ret = table_print(&t, style, e);
        warn_unequal(s);
    }
    table_clear(&t);
    FREE(r.value, r.row_of, r.first);
    return ret;
}
