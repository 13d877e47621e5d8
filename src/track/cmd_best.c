/*
 * gtrack best - find the best runs, or groups of runs
 */
#include "config.h"
#include "track/cmds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "track/runs/auto_columns.h"
#include "track/runs/column.h"
#include "track/runs/column_parse.h"
#include "track/runs/row_groups.h"
#include "track/runs/track.h"

static struct track_selection selection = TRACK_SELECTION_INIT;
static struct table_style style;
static const char *group_text;
static bool highest, lowest, by_last;
static int count = 1;

static const struct opt best_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_WHERE(selection),
    TRACK_OPT_EXPERIMENT(selection),
    TRACK_OPT_SWEEP(selection),
    { 'n', "count", "count", OPT_INT, &count,
      "print the best COUNT runs (default: 1)" },
    { 'g', "group-by", "list", OPT_STRING, &group_text,
      "group runs with the same values in these columns, and rank the groups "
      "by their means" },
    { 0, "max", NULL, OPT_FLAG, &highest,
      "treat the highest value as the best" },
    { 0, "min", NULL, OPT_FLAG, &lowest, "treat the lowest value as the best" },
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
    char *text = inner     ? xstrdup(metric)
                 : by_last ? xasprintf("last(%s)", metric)
                           : xasprintf("%s(%s)", up ? "max" : "min", metric);
    int ret = columns_parse(c, text, runs, e);

    free(text);
    if (ret == 0 && c->item[0].kind != COLUMN_METRIC)
        ret = err_set(e, ERR_USAGE, "%s is not a metric", metric);
    for (size_t i = 0; i < runs->n && ret == 0; i++)
        if (run_info_metric(&runs->run[i], c->item[0].key))
            return 0;
    return ret < 0 ? -1
                   : err_set(e, ERR_MISSING, "no run has the metric %s",
                             c->item[0].key);
}

static void add_best_runs(struct table *t, const struct runs *runs,
                          const struct column *by, bool up)
{
    struct columns params = COLUMNS_INIT;
    char *seen = xcalloc(runs->n, 1);

    auto_columns_params(&params, runs, false);
    table_columns(t, "name", "id", by->title, "step", NULL);
    for (size_t j = 0; j < params.n; j++)
        table_column(t, params.item[j].title);
    for (int k = 0; k < count; k++) {
        const struct metric_sum *m;
        size_t best = runs->n;
        double value = 0;

        for (size_t i = 0; i < runs->n; i++) {
            const double x = column_number(by, &runs->run[i]);

            if (!seen[i] && !isnan(x) &&
                (best == runs->n || (up ? x > value : x < value))) {
                best = i;
                value = x;
            }
        }
        if (best == runs->n)
            break;
        seen[best] = 1;
        m = run_info_metric(&runs->run[best], by->key);
        table_text(t, runs->run[best].name);
        table_text(t, runs->run[best].id);
        table_real(t, value);
        table_int(t, by_last                             ? m->last_step
                     : strncmp(by->title, "max", 3) == 0 ? m->max_step
                                                         : m->min_step);
        for (size_t j = 0; j < params.n; j++)
            table_add(t, column_cell(&params.item[j], &runs->run[best]));
    }
    columns_clear(&params);
    free(seen);
}

/* The groups with the best means, the best first. */
static int add_best_groups(struct table *t, const struct runs *runs,
                           const struct columns *metric, bool up, struct err *e)
{
    struct columns by = COLUMNS_INIT;
    struct table all = TABLE_INIT("");
    size_t rows, width;

    if (columns_parse(&by, group_text, runs, e) < 0) {
        columns_clear(&by);
        return -1;
    }
    row_groups_fill(&all, runs, &by, metric);
    rows = table_rows(&all);
    width = all.n_columns;
    for (size_t j = 0; j < width; j++)
        table_column(t, all.column[j]);
    for (int k = 0; k < count; k++) {
        size_t best = rows;

        for (size_t i = 0; i < rows; i++) {
            const struct table_cell *c = table_cell(&all, i, width - 1);

            if (c->type == TABLE_SPREAD &&
                (best == rows ||
                 (up ? c->x > table_cell(&all, best, width - 1)->x
                     : c->x < table_cell(&all, best, width - 1)->x)))
                best = i;
        }
        if (best == rows)
            break;
        for (size_t j = 0; j < width; j++) {
            struct table_cell c = *table_cell(&all, best, j);

            c.mark = MARK_NONE;
            table_add(t, c);
        }
        table_cell(&all, best, width - 1)->type = TABLE_NONE;
    }
    table_clear(&all);
    columns_clear(&by);
    return 0;
}

static int best_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.best/1");
    struct runs runs = RUNS_INIT;
    struct columns c = COLUMNS_INIT;
    bool up;
    int ret = -1;

    if (table_form(&style, e) < 0 || track_check_args(argc, argv, 1, -1, e) < 0)
        return -1;
    if (highest && lowest)
        return err_set(e, ERR_USAGE, "--max and --min cannot be used together");
    if (count < 1)
        return err_set(e, ERR_USAGE, "--count expects 1 or more, not %d",
                       count);
    up = highest || (!lowest && track_direction(argv[0]) > 0);
    if (track_select(&runs, &selection, argv + 1, argc - 1, e) < 0)
        goto out;
    if (runs.n == 0) {
        err_set(e, ERR_MISSING, "no run in %s matches", track_store());
        goto out;
    }
    if (parse_metric(&c, argv[0], &runs, up, e) < 0)
        goto out;
    if (!group_text)
        add_best_runs(&t, &runs, c.item, up);
    else if (add_best_groups(&t, &runs, &c, up, e) < 0)
        goto out;
    ret = table_print(&t, &style, e);

out:
    columns_clear(&c);
    table_clear(&t);
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_best = {
    .name = "best",
    .args = "METRIC [RUN|FILTER]...",
    .help = "find the best runs, or groups of runs",
    .opts = best_opts,
    .run = best_main,
};
