/*
 * gtrack best - find the best runs, or groups of runs
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/opt.h"
#include "store/query/find_key.h"
#include "track/paired_table.h"
#include "track/runs/auto_columns.h"
#include "track/runs/column.h"
#include "track/runs/column_parse.h"
#include "track/runs/row_groups.h"
#include "track/runs/run_facts.h"
#include "track/runs/track.h"

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
      "print the best COUNT runs (default: 1)" },
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
                   : find_key_fail(runs->run, runs->n, METRIC, c->item[0].key,
                                   NULL, e);
}

/* A row for each run with the metric. */
static void fill_runs(struct table *t, const struct runs *runs,
                      const struct column *by)
{
    struct columns params = COLUMNS_INIT;

    auto_columns_params(&params, runs, false);
    table_columns(t, "name", "id", by->title, "step", NULL);
    for (size_t j = 0; j < params.n; j++)
        table_column(t, params.item[j].title);
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];
        const struct metric_sum *m = run_info_metric(r, by->key);

        if (!m)
            continue;
        table_text(t, r->name);
        table_text(t, r->id);
        table_real(t, column_number(by, r));
        table_int(t, by_last                             ? m->last_step
                     : strncmp(by->title, "max", 3) == 0 ? m->max_step
                                                         : m->min_step);
        for (size_t j = 0; j < params.n; j++)
            table_add(t, column_cell(&params.item[j], r));
    }
    columns_clear(&params);
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
    struct columns by = COLUMNS_INIT;
    int ret = group_text ? columns_parse(&by, group_text, runs, e) : 0;

    if (ret == 0)
        ret = paired_table_fill(&t, runs, metric, &by, up, e);
    if (ret == 0)
        ret = table_print(&t, &style, e);
    columns_clear(&by);
    table_clear(&t);
    return ret;
}

static int best_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.best/1"), all = TABLE_INIT("");
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
    up = highest || (!lowest && run_facts_direction(argv[0]) > 0);
    if (track_select(&runs, &selection, argc - 1, argv + 1, e) < 0)
        goto out;
    if (runs.n == 0) {
        err_set(e, ERR_MISSING, "no run in %s matches", track_store());
        goto out;
    }
    if (parse_metric(&c, argv[0], &runs, up, e) < 0)
        goto out;
    if (paired) {
        ret = print_paired(&runs, c.item[0].key, up, e);
        goto out;
    }
    if (!group_text)
        fill_runs(&all, &runs, c.item);
    else if (row_groups_fill(&all, &runs, group_text, &c, e) < 0)
        goto out;
    move_best_rows(&t, &all, group_text ? all.n_columns - 1 : 2, up);
    ret = table_print(&t, &style, e);

out:
    columns_clear(&c);
    table_clear(&all);
    table_clear(&t);
    runs_free(&runs);
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
