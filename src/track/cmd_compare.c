/*
 * gtrack compare - compare runs side by side
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/opt.h"
#include "track/compare_documents.h"
#include "track/runs/auto_columns.h"
#include "track/runs/column.h"
#include "track/runs/column_parse.h"
#include "track/runs/row_groups.h"
#include "track/runs/track.h"

static struct track_selection selection = TRACK_SELECTION_INIT;
static struct table_style style;
static const char *baseline_word, *columns_text, *group_text, *documents;
static int by;
static bool all, across, down;

enum { BY_LAST, BY_BEST };

static const char *const by_words[] = {
    [BY_LAST] = "last",
    [BY_BEST] = "best",
    [BY_BEST + 1] = NULL,
};

static const struct opt compare_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    TRACK_OPTS_SELECTION(selection),
    { 'a', "all", NULL, OPT_FLAG, &all,
      "also print equal parameters, and every metric" },
    { 'b', "baseline", "run", OPT_STRING, &baseline_word,
      "print how far each metric is from its value in RUN" },
    { 'c', "columns", "list", OPT_STRING, &columns_text,
      "compare these columns, as in lr,min(val/loss)" },
    { 'g', "group-by", "list", OPT_STRING, &group_text,
      "print the mean and the spread of runs with the same values in these "
      "columns" },
    { 0, "documents", "name", OPT_STRING, &documents,
      "compare the losses of two runs on each document of NAME, which gtrain "
      "eval --documents has kept" },
    { 0, "by", "value", OPT_WORD, &by,
      "compare the last or the best values of metrics (default: last)",
      by_words },
    { 0, "across", NULL, OPT_FLAG, &across,
      "print one run per row (default for more than four runs)" },
    { 0, "down", NULL, OPT_FLAG, &down,
      "print one run per column (default for up to four runs)" },
    TABLE_OPTS(style),
    { 0 }
};

enum { SIDE_BY_SIDE = 4 };

static int list_columns(struct columns *c, const struct runs *runs,
                        struct err *e)
{
    struct columns metrics = COLUMNS_INIT;

    if (columns_text)
        return columns_parse(c, columns_text, runs, e);
    columns_attribute(c, "experiment");
    columns_attribute(c, "status");
    columns_attribute(c, "time");
    columns_attribute(c, "steps");
    auto_columns_params(c, runs, all);
    auto_columns_metrics(&metrics, runs, all);
    if (by == BY_BEST)
        columns_use_best(&metrics);
    columns_join(c, &metrics);
    return 0;
}

/* Leave out the experiment and the status if they are the same in all runs. */
static void drop_equal(struct columns *c, const struct runs *runs)
{
    for (size_t j = 0; j < c->n;) {
        const struct column *x = &c->item[j];

        if (x->kind != COLUMN_ATTRIBUTE ||
            (strcmp(x->key, "experiment") != 0 &&
             strcmp(x->key, "status") != 0) ||
            column_differs(x, runs))
            j++;
        else
            columns_remove(c, j);
    }
}

/* How far the value of a run is from that of the baseline. */
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
        column_mark_best(&c->item[j], t, at);
        at += base && c->item[j].kind == COLUMN_METRIC ? 2 : 1;
    }
}

/* Mark the best of a row of numbers. */
static void mark_row(struct table *t, size_t row, bool highest)
{
    struct table_cell *best = NULL;
    size_t numbers = 0;

    for (size_t j = 1; j < t->n_columns; j++) {
        struct table_cell *c = table_cell(t, row, j);

        numbers += c->type == TABLE_REAL && !isnan(c->x) ? 1 : 0;
        if (c->type == TABLE_REAL && !isnan(c->x) &&
            (!best || (highest ? c->x > best->x : c->x < best->x)))
            best = c;
    }
    if (numbers > 1)
        best->mark = MARK_BEST;
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
        if (column_direction(column) && runs->n > 1)
            mark_row(t, table_rows(t) - 1, column_direction(column) > 0);
        if (!base || column->kind != COLUMN_METRIC)
            continue;
        table_printf(t, "  from %s", base->name);
        for (size_t i = 0; i < runs->n; i++)
            add_delta(t, column, &runs->run[i], base);
    }
}

static int find_baseline(const struct runs *runs, size_t *at, struct err *e)
{
    struct runs one = RUNS_INIT;

    if (track_select_one(&one, baseline_word, LOAD_NO_METRICS, e) < 0)
        return -1;
    for (*at = 0; *at < runs->n; ++*at)
        if (strcmp(runs->run[*at].folder, one.run[0].folder) == 0)
            break;
    if (*at == runs->n)
        err_set(e, ERR_USAGE, "the baseline %s is not among the runs compared",
                one.run[0].name);
    runs_free(&one);
    return *at < runs->n ? 0 : -1;
}

static int compare_runs(struct table *t, const struct runs *runs, struct err *e)
{
    struct columns c = COLUMNS_INIT;
    const struct run_info *base = NULL;
    size_t at = 0;
    int ret = -1;

    if (baseline_word) {
        if (find_baseline(runs, &at, e) < 0)
            return -1;
        base = &runs->run[at];
    }
    if (list_columns(&c, runs, e) == 0) {
        if (!all && !columns_text)
            drop_equal(&c, runs);
        if (across || (!down && runs->n > SIDE_BY_SIDE))
            add_runs_as_rows(t, &c, runs, base);
        else
            add_runs_as_columns(t, &c, runs, base);
        ret = 0;
    }
    columns_clear(&c);
    return ret;
}

static int compare_groups(struct table *t, const struct runs *runs,
                          struct err *e)
{
    struct columns c = COLUMNS_INIT;
    int ret = 0;

    if (columns_text)
        ret = columns_parse(&c, columns_text, runs, e);
    else
        auto_columns_metrics(&c, runs, all);
    if (!columns_text && by == BY_BEST)
        columns_use_best(&c);
    if (ret == 0)
        ret = row_groups_fill(t, runs, group_text, &c, e);
    t->schema = "gtrack.ls-groups/1";
    columns_clear(&c);
    return ret;
}

/* Two runs, in the order of the command line. */
static int print_documents(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.compare-documents/1");
    struct runs a = RUNS_INIT, b = RUNS_INIT;
    int ret = track_check_args(argc, argv, 2, 2, e);

    if (ret == 0)
        ret = track_select_one(&a, argv[0], LOAD_NO_METRICS, e);
    if (ret == 0)
        ret = track_select_one(&b, argv[1], LOAD_NO_METRICS, e);
    if (ret == 0)
        ret = compare_documents(&t, &a.run[0], &b.run[0], documents, e);
    if (ret == 0)
        ret = table_print(&t, &style, e);
    table_clear(&t);
    runs_free(&a);
    runs_free(&b);
    return ret;
}

static int compare_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.compare/1");
    struct runs runs = RUNS_INIT;
    int ret;

    if (across && down)
        return err_set(e, ERR_USAGE,
                       "--across and --down cannot be used together");
    if (documents)
        return print_documents(argc, argv, e);
    ret = track_select(&runs, &selection, argv, argc, e);
    if (ret == 0 && runs.n == 0)
        ret = err_set(e, ERR_MISSING, "there are no runs to compare in %s",
                      track_store());
    if (ret == 0)
        ret = group_text ? compare_groups(&t, &runs, e)
                         : compare_runs(&t, &runs, e);
    if (ret == 0)
        ret = table_print(&t, &style, e);
    table_clear(&t);
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_compare = {
    .name = "compare",
    .args = "[RUN|FILTER]...",
    .help = "compare runs side by side",
    .opts = compare_opts,
    .confine = track_confine_reader,
    .run = compare_main,
};
