/*
 * gtrack best - find the best runs, or groups of runs
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/stats/paired.h"
#include "store/query/differ.h"
#include "store/query/run_value.h"
#include "store/read/runs.h"
#include "track/runs/column.h"
#include "track/runs/track.h"

/* ---- which runs could be the best -------------------------------------- */

/* All intervals hold together with 95 %, whichever row is chosen as the best,
 * so the rows that may be the best include the one that is, with this
 * probability. */
static const double all_errors = 0.05;

struct cell {
    const struct run_info **run;
    size_t n;
    double mean;
    struct paired diff; /* from the best cell */
};

struct cells {
    struct cell *item;
    const struct run_info **run; /* of all cells, one after the other */
    size_t n;
    const char *metric;
    bool high;
};

/* The mean in the last quarter of the points; NaN if there are none. */
static int last_mean(double *mean, const struct run_info *run, const char *key,
                     struct err *e)
{
    AUTO(series_free) struct series s = { 0 };
    double sum = 0;
    size_t from;

    *mean = (double)NAN;
    if (series_load(&s, run, key, LOAD_MAY_LACK, e) < 0)
        return -1;
    from = s.n - (s.n + 3) / 4;
    for (size_t i = from; i < s.n; i++)
        sum += s.value[i];
    if (s.n > 0)
        *mean = sum / (double)(s.n - from);
    return 0;
}

static int measure_cell(struct cell *c, const char *key, struct err *e)
{
    double sum = 0;

    for (size_t i = 0; i < c->n; i++) {
        double mean;

        if (last_mean(&mean, c->run[i], key, e) < 0)
            return -1;
        sum += mean;
    }
    c->mean = sum / (double)c->n;
    return 0;
}

/* Cells without the metric come last. */
static int by_mean(const void *a, const void *b, void *cells)
{
    const struct cells *all = cells;
    const double x = ((const struct cell *)a)->mean;
    const double y = ((const struct cell *)b)->mean;

    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return all->high ? (x < y) - (x > y) : (x > y) - (x < y);
}

/* The number of seeds that would decide, if the difference and its deviation
 * stay; -1 if more than a thousand, or if there is one seed. */
static int64_t count_seeds(const struct cell *c, double error)
{
    const double deviation = c->diff.error * sqrt((double)c->diff.n);

    if (c->n < 2)
        return -1;
    for (size_t n = c->diff.n + 1; n <= 1000; n++)
        if (student_quantile(1 - error / 2, n - 1) * deviation /
                sqrt((double)n) <
            fabs(c->diff.mean))
            return (int64_t)n;
    return -1;
}

static const char *judge(const struct cells *all, const struct cell *c,
                         double half)
{
    const double worse = all->high ? -c->diff.mean : c->diff.mean;

    if (c == all->item)
        return "best";
    return isnan(half) ? "unknown" : worse > half ? "worse" : "may be best";
}

static void add_cell(struct table *t, const struct cells *all,
                     const struct cell *c, const struct columns *by)
{
    const double error = paired_error(all_errors, all->n);
    const double half = paired_half(&c->diff, error);
    const double diff = c == all->item ? (double)NAN : c->diff.mean;
    const char *result = judge(all, c, half);
    int64_t seeds = -1;

    if (by->n == 0)
        table_text(t, c->run[0]->name);
    for (size_t k = 0; k < by->n; k++)
        table_add(t, column_cell(&by->item[k], c->run[0]));
    table_int(t, (int64_t)c->n);
    table_real_or_none(t, c->mean);
    table_real_or_none(t, diff);
    table_real_or_none(t, diff - half);
    table_real_or_none(t, diff + half);
    table_text(t, result);
    if (strcmp(result, "may be best") == 0)
        seeds = count_seeds(c, error);
    table_int_or_none(t, seeds);
}

enum { MOST_NAMES = 10 };

/* What a cell is called: by the columns that it is a group of, or by the name
 * of its run, with the id if another one has the same name. */
static void name_cell(struct buf *b, const struct cells *all, size_t i,
                      const struct columns *by)
{
    const struct run_info *run = all->item[i].run[0];
    bool same = false;

    for (size_t k = 0; k < by->n; k++) {
        const struct table_cell value = column_cell(&by->item[k], run);

        buf_printf(b, "%s%s=", k ? " " : "", by->item[k].title);
        table_cell_text(b, &value, -1);
    }
    if (by->n > 0)
        return;
    for (size_t j = 0; j < all->n; j++)
        same |= j != i && strcmp(all->item[j].run[0]->name, run->name) == 0;
    buf_str(b, run->name);
    if (same)
        buf_printf(b, " (%.8s)", run->id);
}

static void show_verdict(const struct cells *all, struct table *t,
                         const struct columns *by)
{
    const size_t result = t->n_columns - 2;
    AUTO(buf_clear) struct buf names = BUF_INIT, best = BUF_INIT;
    size_t open = 0;

    name_cell(&best, all, 0, by);
    for (size_t i = 1; i < all->n; i++) {
        const char *text = table_cell(t, i, result)->text;

        if (strcmp(text, "worse") == 0)
            continue;
        if (open++ >= MOST_NAMES)
            continue;
        buf_str(&names, names.len ? ", " : "");
        name_cell(&names, all, i, by);
    }
    if (open > MOST_NAMES)
        buf_str(&names, ", ...");
    if (open == 0)
        log_info("%s is the best", best.s);
    else if (open == 1)
        log_info("%s is the best, or %s", best.s, names.s);
    else
        log_info("%s is the best, or one of these %zu: %s", best.s, open,
                 names.s);
}

static void find_cells(struct cells *all, const struct runs *runs,
                       const struct columns *by)
{
    AUTO_FREE struct table_cell *key =
        xcalloc(runs->n * by->n + 1, sizeof *key);
    AUTO_FREE size_t *group = xcalloc(runs->n, sizeof *group);

    for (size_t i = 0; i < runs->n; i++) {
        group[i] = i;
        for (size_t k = 0; k < by->n; k++)
            key[i * by->n + k] = column_cell(&by->item[k], &runs->run[i]);
    }
    all->n = by->n ? column_group_cells(key, runs->n, by->n, group) : runs->n;
    all->item = xcalloc(all->n, sizeof *all->item);
    all->run = xcalloc(runs->n, sizeof(struct run_info *));
    for (size_t i = 0; i < runs->n; i++)
        all->item[group[i]].n++;
    for (size_t g = 0, from = 0; g < all->n; g++) {
        all->item[g].run = all->run + from;
        from += all->item[g].n;
        all->item[g].n = 0;
    }
    for (size_t i = 0; i < runs->n; i++) {
        struct cell *c = &all->item[group[i]];

        c->run[c->n++] = &runs->run[i];
    }
}

static void name_columns(struct table *t, const char *metric,
                         const struct columns *by)
{
    if (by->n == 0)
        table_column(t, "name");
    for (size_t k = 0; k < by->n; k++)
        table_column(t, by->item[k].title);
    table_columns(t, "runs", metric, "difference", "low", "high", "result",
                  "seeds_needed", NULL);
}

/* A row for each group of runs with equal values in the columns `by`, or for
 * each run if there are none, the best first: the mean of the metric in the
 * last quarter of its steps, the difference from the best row, and the interval
 * of that difference.  The runs of two groups are paired by their seeds, and
 * two runs by their steps (common/stats/paired.h). */
static int fill_paired(struct table *t, const struct runs *runs,
                       const char *metric, const struct columns *by,
                       bool high_is_good, struct err *e)
{
    struct cells all = { .metric = metric, .high = high_is_good };
    int ret = 0;

    find_cells(&all, runs, by);
    for (size_t i = 0; ret == 0 && i < all.n; i++)
        ret = measure_cell(&all.item[i], metric, e);
    if (ret == 0)
        qsort_r(all.item, all.n, sizeof *all.item, by_mean, &all);
    while (all.n > 0 && isnan(all.item[all.n - 1].mean))
        all.n--;
    for (size_t i = 1; ret == 0 && i < all.n; i++)
        ret = paired_groups(&all.item[i].diff, all.item[i].run, all.item[i].n,
                            all.item[0].run, all.item[0].n, metric, e);
    name_columns(t, metric, by);
    for (size_t i = 0; ret == 0 && i < all.n; i++)
        add_cell(t, &all, &all.item[i], by);
    if (ret == 0 && all.n > 1)
        show_verdict(&all, t, by);
    FREE(all.run, all.item);
    return ret;
}

/* ---- the command ------------------------------------------------------- */

static struct track_selection selection = TRACK_SELECTION_INIT;
static struct table_style style;
static const char *group_text;
static bool highest, lowest, by_last, paired;
static int count = 1;

static const struct opt best_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    TRACK_OPT_WHERE(selection),
    TRACK_OPT_EXPERIMENT(selection),
    TRACK_OPT_SWEEP(selection),
    { 'n', "count", "count", OPT_INT, &count,
      "print the best COUNT runs (default: 1)", .range = OPT_FROM(1) },
    { 'g', "group-by", "list", OPT_STRING, &group_text,
      "group runs with the same values in these columns, and rank the groups "
      "by their means" },
    { 0, "max", NULL, OPT_FLAG, &highest,
      "treat the highest value as the best" },
    { 0, "min", NULL, OPT_FLAG, &lowest, "treat the lowest value as the best" },
    { 0, "paired", NULL, OPT_FLAG, &paired,
      "print which runs may be the best, from differences at equal steps" },
    { 0, "last", NULL, OPT_FLAG, &by_last,
      "rank by last values instead of best values" },
    TABLE_OPTS(style),
    { 0 }
};

/* The column to rank by: the best or last value of the metric in each run. */
static int parse_metric(struct columns *c, const char *metric,
                        const struct runs *runs, bool up, struct err *e)
{
    const char *inner = strchr(metric, '(') ? metric : NULL;
    AUTO_FREE char *text =
        inner     ? xstrdup(metric)
        : by_last ? xasprintf("last(%s)", metric)
                  : xasprintf("%s(%s)", up ? "max" : "min", metric);
    int ret = columns_parse(c, text, runs, e);

    if (ret == 0 && !inner && !by_last && run_rate_is(c->item[0].key)) {
        columns_clear(c);
        ret = columns_parse(c, metric, runs, e);
    }
    if (ret == 0 && c->item[0].kind != COLUMN_METRIC)
        ret = err_usage(e, "%s is not a metric", metric);
    if (ret == 0 && find_key_exists(runs, METRIC, c->item[0].key))
        return 0;
    return ret < 0 ? -1
                   : find_key_fail(runs->run, runs->n, METRIC, c->item[0].key,
                                   NULL, e);
}

/* A row for each run with the metric. */
static void fill_runs(struct table *t, const struct runs *runs,
                      const struct column *by, bool screen)
{
    AUTO(columns_clear) struct columns params = { 0 };

    auto_columns_params(&params, runs, false);
    if (screen) /* the id is wide, so it comes last */
        auto_columns_shorten(&params);
    table_column(t, "name");
    if (!screen)
        table_column(t, "id");
    table_columns(t, by->title, "step", NULL);
    for (size_t j = 0; j < params.n; j++)
        table_column(t, params.item[j].title);
    if (screen)
        table_column(t, "id");
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];
        const struct metric_sum *m = run_info_metric(r, by->key);

        if (!m)
            continue;
        table_text(t, r->name);
        if (!screen)
            table_text(t, r->id);
        table_real(t, column_number(by, r));
        table_int(t, by_last || by->function == FUNCTION_MEAN ? m->last_step
                     : strncmp(by->title, "max", 3) == 0      ? m->max_step
                                                              : m->min_step);
        for (size_t j = 0; j < params.n; j++)
            table_add(t, column_cell(&params.item[j], r));
        if (screen)
            table_text(t, r->id);
    }
}

/* Move the rows with the best numbers in a column, the best first. */
static void move_best_rows(struct table *to, struct table *from, size_t column,
                           bool up)
{
    for (size_t j = 0; j < from->n_columns; j++)
        table_column(to, from->column[j]);
    for (int k = 0; k < count; k++) {
        struct table_cell *best = NULL;
        size_t row = 0;

        for (size_t i = 0; i < table_rows(from); i++) {
            struct table_cell *c = table_cell(from, i, column);

            if (c->type != TABLE_NONE && !isnan(c->x) &&
                (!best || (up ? c->x > best->x : c->x < best->x))) {
                best = c;
                row = i;
            }
        }
        if (!best)
            break;
        for (size_t j = 0; j < from->n_columns; j++) {
            table_add(to, *table_cell(from, row, j));
            table_mark(to, MARK_NONE);
        }
        best->type = TABLE_NONE;
    }
}

static int print_paired(const struct runs *runs, const char *metric, bool up,
                        struct err *e)
{
    struct table t = TABLE_INIT("gtrack.best-paired/1");
    AUTO(columns_clear) struct columns by = { 0 };
    int ret = group_text ? columns_parse(&by, group_text, runs, e) : 0;

    if (ret == 0)
        ret = fill_paired(&t, runs, metric, &by, up, e);
    return table_finish(&t, ret, &style, e);
}

static int best_main(int argc, char **argv, struct err *e)
{
    AUTO(table_clear) struct table t = TABLE_INIT("gtrack.best/1");
    AUTO(table_clear) struct table all = TABLE_INIT("");
    AUTO(runs_free) struct runs runs = { 0 };
    AUTO(columns_clear) struct columns c = { 0 };
    const char *caution;
    const int form = table_form(&style, e);
    const bool screen = form == TABLE_ALIGNED;
    bool up;
    int ret;

    if (form < 0 || track_check_args(argc, argv, 1, -1, e) < 0)
        return -1;
    if (highest && lowest)
        return err_usage(e, "--max and --min cannot be used together");
    up = highest || (!lowest && run_value_direction(argv[0]) > 0);
    if (track_select(&runs, &selection, argc - 1, argv + 1, e) < 0)
        return -1;
    if (runs.n == 0)
        return err_set(e, ERR_MISSING, "no run in %s matches", track_store());
    differ_drop_sweeps(&runs, argv + 1, argc - 1);
    if (parse_metric(&c, argv[0], &runs, up, e) < 0)
        return -1;
    caution = differ_caution(runs.run, runs.n, c.item[0].key);
    if (caution)
        log_warn("%s", caution);
    if (paired)
        return print_paired(&runs, c.item[0].key, up, e);
    if (!group_text)
        fill_runs(&all, &runs, c.item, screen);
    else if (columns_fill_groups(&all, &runs, group_text, &c, e) < 0)
        return -1;
    move_best_rows(&t, &all,
                   group_text ? all.n_columns - 1
                   : screen   ? 1
                              : 2,
                   up);
    ret = table_print(&t, &style, e);
    if (ret == 0)
        track_tell_left_out(&runs);
    return ret;
}

const struct cmd cmd_best = {
    .name = "best",
    .args = "METRIC [RUN|FILTER]...",
    .help = "find the best runs, or groups of runs",
    .opts = best_opts,
    .confine = track_confine_reader,
    .run = best_main,
};
