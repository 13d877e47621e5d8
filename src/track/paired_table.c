#include "config.h"
#include "track/paired_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/stats/student.h"
#include "store/analysis/paired_runs.h"
#include "track/runs/row_groups.h"

static const double all_errors = 0.05;

struct cell {
    const struct run_info **run;
    size_t n;
    double mean;
    struct paired diff; /* from the best cell */
};

struct cells {
    struct cell *item;
    size_t n;
    const char *metric;
    bool high;
};

/* ---- means ------------------------------------------------------------ */

/* The mean in the last quarter of the points; NaN if there are none. */
static int last_mean(double *mean, const struct run_info *run, const char *key,
                     struct err *e)
{
    struct series s = SERIES_INIT;
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
    series_free(&s);
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

/* ---- differences ------------------------------------------------------ */

static const char *seed_of(const struct run_info *run)
{
    const char *seed = run_info_param(run, "train.seed");

    return seed ? seed : run_info_param(run, "seed");
}

static const struct run_info *find_seed(const struct cell *c, const char *seed)
{
    for (size_t i = 0; seed && i < c->n; i++)
        if (seed_of(c->run[i]) && strcmp(seed_of(c->run[i]), seed) == 0)
            return c->run[i];
    return NULL;
}

/* Pairs of runs with the same seed; of one pair, its steps. */
static int compare_cells(struct cell *c, const struct cell *best,
                         const char *key, struct err *e)
{
    double *diff = xcalloc(c->n, sizeof *diff);
    size_t n = 0;
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < c->n; i++) {
        const bool single = c->n == 1 && best->n == 1;
        const struct run_info *other =
            single ? best->run[0] : find_seed(best, seed_of(c->run[i]));

        if (!other)
            continue;
        ret = paired_runs(&c->diff, c->run[i], other, key, e);
        if (isfinite(c->diff.mean))
            diff[n++] = c->diff.mean;
    }
    if (n != 1)
        c->diff = paired_independent(diff, n);
    free(diff);
    return ret;
}

/* The number of seeds that would decide, if the difference and its deviation
 * stay; 0 if more than a thousand, or if there is one seed. */
static int64_t count_seeds(const struct cell *c, double error)
{
    const double deviation = c->diff.error * sqrt((double)c->diff.n);

    if (c->n < 2)
        return 0;
    for (size_t n = c->diff.n + 1; n <= 1000; n++)
        if (student_quantile(1 - error / 2, n - 1) * deviation /
                sqrt((double)n) <
            fabs(c->diff.mean))
            return (int64_t)n;
    return 0;
}

/* ---- the table -------------------------------------------------------- */

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
    const double error = all_errors / (double)(all->n > 2 ? all->n - 1 : 1);
    const double half = paired_half(&c->diff, error);
    const char *result = judge(all, c, half);
    int64_t seeds = 0;

    if (by->n == 0)
        table_text(t, c->run[0]->name);
    for (size_t k = 0; k < by->n; k++)
        table_add(t, column_cell(&by->item[k], c->run[0]));
    table_int(t, (int64_t)c->n);
    table_real_or_none(t, c->mean);
    if (c == all->item) {
        for (int i = 0; i < 3; i++)
            table_none(t);
    } else {
        table_real_or_none(t, c->diff.mean);
        table_real_or_none(t, c->diff.mean - half);
        table_real_or_none(t, c->diff.mean + half);
    }
    table_text(t, result);
    if (strcmp(result, "may be best") == 0)
        seeds = count_seeds(c, error);
    if (seeds > 0)
        table_int(t, seeds);
    else
        table_none(t);
}

static void show_verdict(const struct cells *all, struct table *t,
                         size_t result)
{
    struct buf names = BUF_INIT;
    size_t open = 0;

    for (size_t i = 1; i < all->n; i++) {
        const char *text = table_cell(t, i, result)->text;

        if (strcmp(text, "worse") == 0)
            continue;
        open++;
        buf_printf(&names, "%s%s", names.len ? ", " : "",
                   all->item[i].run[0]->name);
    }
    if (open == 0)
        log_info("%s is the best", all->item[0].run[0]->name);
    else if (open == 1)
        log_info("%s is the best, or %s", all->item[0].run[0]->name, names.s);
    else
        log_info("%s is the best, or one of these %zu: %s",
                 all->item[0].run[0]->name, open, names.s);
    buf_clear(&names);
}

static void find_cells(struct cells *all, const struct runs *runs,
                       const struct columns *by)
{
    struct table_cell *key = xcalloc(runs->n * by->n + 1, sizeof *key);
    size_t *group = xcalloc(runs->n, sizeof *group);

    for (size_t i = 0; i < runs->n; i++) {
        group[i] = i;
        for (size_t k = 0; k < by->n; k++)
            key[i * by->n + k] = column_cell(&by->item[k], &runs->run[i]);
    }
    all->n = by->n ? row_groups_number(key, runs->n, by->n, group) : runs->n;
    all->item = xcalloc(all->n, sizeof *all->item);
    for (size_t i = 0; i < runs->n; i++) {
        struct cell *c = &all->item[group[i]];

        if (!c->run)
            c->run = xcalloc(runs->n, sizeof(struct run_info *));
        c->run[c->n++] = &runs->run[i];
    }
    free(group);
    free(key);
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

int paired_table_fill(struct table *t, const struct runs *runs,
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
        free(all.item[--all.n].run);
    for (size_t i = 1; ret == 0 && i < all.n; i++)
        ret = compare_cells(&all.item[i], &all.item[0], metric, e);
    name_columns(t, metric, by);
    for (size_t i = 0; ret == 0 && i < all.n; i++)
        add_cell(t, &all, &all.item[i], by);
    if (ret == 0 && all.n > 1)
        show_verdict(&all, t, t->n_columns - 2);
    for (size_t i = 0; i < all.n; i++)
        free(all.item[i].run);
    free(all.item);
    return ret;
}
