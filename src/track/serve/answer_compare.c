/*
 * answer_compare - what differs between runs, what it has to do with the
 * results, and what a report says of them
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/output/emit.h"
#include "common/output/table.h"
#include "plot/draw/axis.h"
#include "plot/draw/json.h"
#include "plot/draw/figure.h"
#include "track/report/report.h"
#include "track/runs/column.h"
#include "track/runs/compare_table.h"
#include "track/runs/importance.h"
#include "track/serve/site.h"

/* -- tables ---------------------------------------------------------------- */

/* The first columns of parameters are those that differ. */
static void write_rows(struct emit *o, const char *key, const struct columns *c,
                       size_t differ, const struct runs *runs)
{
    AUTO(table_clear) struct table t = TABLE_INIT("");
    AUTO_FREE int *places = NULL;

    columns_fill(c, &t, runs, true);
    places = table_decimals(&t);
    emit_array(o, key);
    for (size_t j = 0; j < c->n; j++) {
        emit_object(o, NULL);
        emit_text(o, "name", c->item[j].title);
        emit_bool(o, "differs", j < differ);
        emit_array(o, "values");
        for (size_t i = 0; i < runs->n; i++) {
            const struct table_cell *cell = table_cell(&t, i, j);

            if (cell->type == TABLE_NONE)
                emit_null(o, NULL);
            else
                site_write_cell(o, cell, places[j]);
        }
        emit_array_end(o);
        emit_object_end(o);
    }
    emit_array_end(o);
}

/* -- numbers --------------------------------------------------------------- */

/* The columns whose numbers are compared: parameters in which the runs differ,
 * then the best values of results. */
struct numbers {
    struct columns columns;
    size_t n_params;
    double **value; /* of each column, for each run; NaN for none */
    size_t runs;
};

/* Are there two different numbers?  The least and the greatest one. */
static bool find_range(const double *v, size_t n, double *lo, double *hi)
{
    *lo = INFINITY;
    *hi = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        *lo = isfinite(v[i]) ? fmin(*lo, v[i]) : *lo;
        *hi = isfinite(v[i]) ? fmax(*hi, v[i]) : *hi;
    }
    return *lo < *hi;
}

/* Keep a column if its numbers vary. */
static void add_numbers(struct numbers *n, const struct column *c,
                        const struct runs *runs)
{
    double *v = xcalloc(runs->n + 1, sizeof *v);
    struct column *kept;
    double lo, hi;
    AUTO_FREE char *title = NULL;

    for (size_t i = 0; i < runs->n; i++)
        v[i] = column_number(c, &runs->run[i]);
    if (!find_range(v, runs->n, &lo, &hi)) {
        free(v);
        return;
    }
    title = c->kind == COLUMN_METRIC
                ? xasprintf("%s(%s)", run_value_functions[c->function], c->key)
                : xstrdup(c->key);
    kept = columns_append(&n->columns, c->key, title);
    kept->kind = c->kind;
    kept->function = c->function;
    n->value = xrealloc(n->value, n->columns.n, sizeof *n->value);
    n->value[n->columns.n - 1] = v;
}

static void collect_numbers(struct numbers *n, const struct columns *params,
                            size_t differ, const struct runs *runs)
{
    AUTO(columns_clear) struct columns metrics = { 0 };

    n->runs = runs->n;
    for (size_t i = 0; i < differ; i++)
        add_numbers(n, &params->item[i], runs);
    n->n_params = n->columns.n;
    auto_columns_metrics(&metrics, runs, false);
    columns_use_best(&metrics);
    for (size_t i = 0; i < metrics.n; i++)
        if (column_direction(&metrics.item[i]))
            add_numbers(n, &metrics.item[i], runs);
}

static void clear_numbers(struct numbers *n)
{
    for (size_t i = 0; i < n->columns.n; i++)
        free(n->value[i]);
    free(n->value);
    columns_clear(&n->columns);
}

static void write_importance_param(struct emit *o,
                                   const struct importance_param *p)
{
    emit_object(o, NULL);
    emit_text(o, "param", p->name);
    emit_real(o, "share", p->share);
    emit_real(o, "gap", p->gap);
    emit_real(o, "half", p->half);
    emit_int(o, "pairs", (int64_t)p->pairs);
    emit_int(o, "best", p->best < p->n ? (int64_t)p->best : -1);
    emit_array(o, "values");
    for (size_t i = 0; i < p->n; i++) {
        emit_object(o, NULL);
        emit_text(o, "text", p->value[i].text);
        emit_real(o, "mean", p->value[i].mean);
        emit_real(o, "half", p->value[i].half);
        emit_int(o, "runs", (int64_t)p->value[i].runs);
        emit_int(o, "failed", (int64_t)p->value[i].failed);
        emit_object_end(o);
    }
    emit_array_end(o);
    emit_object_end(o);
}

/* What the parameters in which the runs differ have to do with a metric. */
static void write_importance(struct emit *o, const struct columns *params,
                             size_t differ, const struct column *metric,
                             const struct runs *runs)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;
    AUTO(arena_clear) struct arena mem = { 0 };
    struct importance im;

    importance_find(&im, runs, params->item, differ, metric, &mem);
    importance_say(&im, &text);
    emit_object(o, NULL);
    emit_text(o, "metric", metric->title);
    emit_text(o, "sentence", text.len ? text.s : NULL);
    emit_array(o, "params");
    for (size_t i = 0; i < im.n; i++)
        write_importance_param(o, &im.param[i]);
    emit_array_end(o);
    emit_object_end(o);
}

/* The results of validation come before those of training. */
static void write_importances(struct emit *o, const struct columns *params,
                              size_t differ, const struct numbers *n,
                              const struct runs *runs)
{
    emit_array(o, "importance");
    for (int later = 0; later < 2; later++)
        for (size_t m = n->n_params; m < n->columns.n; m++)
            if ((strstr(n->columns.item[m].key, "val") == NULL) == later)
                write_importance(o, params, differ, &n->columns.item[m], runs);
    emit_array_end(o);
}

/* An axis that holds the numbers, with its ticks: that of a parameter is
 * logarithmic where a sweep draws it so. */
static void write_axis(struct emit *o, const char *name, const double *v,
                       size_t n, bool param)
{
    enum { TICKS = 6 };
    AUTO_FREE double *known = xcalloc(n + 1, sizeof *known);
    AUTO(arena_clear) struct arena mem = { 0 };
    double lo, hi;
    struct axis a;
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i]))
            known[k++] = v[i];
    find_range(known, k, &lo, &hi);
    axis_init(&a, name, UNIT_NONE);
    if (param && axis_geometric(known, k))
        a.scale = SCALE_LOG;
    axis_scale(&a, known, k);
    axis_range(&a, lo, hi, 0.02);
    axis_ticks(&a, &mem, TICKS);
    json_axis(o, NULL, &a, 0);
}

/* The colour of a value among others. */
static void write_colour(struct emit *o, const double *v, size_t i, size_t n)
{
    double lo, hi;
    int slot = COLOUR_GREY;

    if (find_range(v, n, &lo, &hi) && isfinite(v[i]))
        slot = palette_ramp_slot((v[i] - lo) / (hi - lo));
    json_colours(o, slot);
}

static void write_parallel(struct emit *o, const struct numbers *n,
                           const struct runs *runs)
{
    emit_object(o, "parallel");
    emit_array(o, "axes");
    for (size_t j = 0; j < n->columns.n; j++)
        write_axis(o, n->columns.item[j].title, n->value[j], n->runs,
                   j < n->n_params);
    emit_array_end(o);
    emit_array(o, "lines");
    for (size_t i = 0; i < runs->n; i++) {
        emit_object(o, NULL);
        emit_text(o, "run", runs->run[i].id);
        if (n->columns.n)
            write_colour(o, n->value[n->columns.n - 1], i, n->runs);
        emit_array(o, "values");
        for (size_t j = 0; j < n->columns.n; j++)
            emit_real(o, NULL, n->value[j][i]);
        emit_array_end(o);
        emit_object_end(o);
    }
    emit_array_end(o);
    emit_object_end(o);
}

/* -- the answer ------------------------------------------------------------ */

int answer_compare(struct site *s, struct query *q, struct answer *a,
                   struct err *e)
{
    struct emit *const o = &a->out;
    AUTO(columns_clear) struct columns params = { 0 }, metrics = { 0 };
    struct numbers numbers = { 0 };
    AUTO(chosen_close) struct chosen chosen = { 0 };
    const struct runs *runs = &chosen.runs;
    struct buf command = BUF_INIT;
    size_t differ;

    if (chosen_open(&chosen, s, q, e) < 0)
        return -1;
    auto_columns_params(&params, runs, false);
    differ = params.n;
    auto_columns_params(&params, runs, true); /* and the other ones */
    auto_columns_metrics(&metrics, runs, true);
    collect_numbers(&numbers, &params, differ, runs);
    buf_str(&command, "gtrack compare");
    chosen_words(&command, &chosen);
    site_write_command(o, chosen.live, &command);
    write_rows(o, "params", &params, differ, runs);
    write_rows(o, "metrics", &metrics, metrics.n, runs);
    write_importances(o, &params, differ, &numbers, runs);
    write_parallel(o, &numbers, runs);
    clear_numbers(&numbers);
    return 0;
}

/* -- two runs -------------------------------------------------------------- */

/* As gtrack diff prints it. */
int answer_diff(struct site *s, struct query *q, struct answer *ans,
                struct err *e)
{
    const struct live *l = site_store(s, q, e);
    const struct run_info *a = l ? site_run(s, q, "a", e) : NULL;
    const struct run_info *b = a ? site_run(s, q, "b", e) : NULL;
    AUTO(table_clear) struct table t = TABLE_INIT("");
    struct buf command = BUF_INIT;

    if (!b)
        return -1;
    buf_str(&command, "gtrack diff");
    site_run_word(&command, l, a);
    site_run_word(&command, l, b);
    site_write_command(&ans->out, l, &command);
    diff_table_fill(&t, a, b, DIFF_LINES);
    site_write_table(&ans->out, "rows", &t, true);
    return 0;
}

/* -- what a report says --------------------------------------------------- */

/* The best run, where they come from, their commands, and a sample. */
int answer_summary(struct site *s, struct query *q, struct answer *a,
                   struct err *e)
{
    struct emit *const o = &a->out;
    AUTO(buf_clear)
    struct buf best = BUF_INIT, commands = BUF_INIT, sample = BUF_INIT;
    AUTO(table_clear) struct table origin = TABLE_INIT("");
    AUTO(arena_clear) struct arena mem = { 0 };
    struct run_set set;
    AUTO(chosen_close) struct chosen chosen = { 0 };
    const struct runs *runs = &chosen.runs;
    size_t at;

    if (chosen_open(&chosen, s, q, e) < 0)
        return -1;
    run_set_init(&set, runs->run, runs->n, &mem);
    at = runs->n ? facts_best(&set, &best) : 0;
    if (at < runs->n)
        facts_sample(&runs->run[at], &sample);
    facts_commands(&set, &commands);
    emit_text(o, "best", best.len ? best.s : NULL);
    facts_table(&set, &origin);
    site_write_table(o, "origin", &origin, false);
    emit_text(o, "commands", commands.len ? commands.s : NULL);
    emit_text(o, "sample", sample.len ? sample.s : NULL);
    return 0;
}
