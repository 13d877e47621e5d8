/*
 * gtrack compare - compare runs side by side
 */
#include "config.h"

#include <string.h>

#include "common/opt.h"
#include "track/compare_documents.h"
#include "track/runs/auto_columns.h"
#include "track/runs/column_parse.h"
#include "track/runs/compare_table.h"
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
    struct compare_table c = { .columns = columns_text,
                               .best = by == BY_BEST,
                               .all = all,
                               .across = across ||
                                         (!down && runs->n > SIDE_BY_SIDE) };
    size_t at;

    if (baseline_word) {
        if (find_baseline(runs, &at, e) < 0)
            return -1;
        c.base = &runs->run[at];
    }
    return compare_table_fill(t, runs, &c, e);
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
    ret = track_select(&runs, &selection, argc, argv, e);
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
