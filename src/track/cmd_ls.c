/*
 * gtrack ls - list runs
 */
#include "config.h"
#include "track/cmds.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "track/runs/auto_columns.h"
#include "track/runs/column.h"
#include "track/runs/column_parse.h"
#include "track/runs/column_sort.h"
#include "track/runs/row_groups.h"
#include "track/runs/track.h"

static struct track_selection selection = TRACK_SELECTION_INIT;
static struct table_style style;
static const char *columns_text, *group_text;
static bool all, must_match;

static const struct opt ls_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    TRACK_OPTS_SELECTION(selection),
    { 'c', "columns", "list", OPT_STRING, &columns_text,
      "print these columns, as in name,lr,min(val/loss); with + before the "
      "list, after the usual ones" },
    { 'g', "group-by", "list", OPT_STRING, &group_text,
      "print one row for all runs with the same values in these columns" },
    { 'a', "all", NULL, OPT_FLAG, &all,
      "print every parameter and every metric" },
    { 'x', "exit-status", NULL, OPT_FLAG, &must_match,
      "exit with status 1 if no run is listed" },
    TABLE_OPTS(style),
    { 0 }
};

/* Do the runs differ in an attribute? */
static bool attribute_differs(const struct runs *runs, const char *attribute)
{
    const struct column c = { .attribute = column_find_attribute(attribute) };

    return column_differs(&c, runs);
}

static bool has_damage(const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->run[i].damage)
            return true;
    return false;
}

/*
 * People get the columns in which the runs differ, and the most important
 * metrics; programs get the same attributes for any runs.
 */
static void add_default_columns(struct columns *c, const struct runs *runs,
                                bool people)
{
    columns_attribute(c, "name");
    if (people)
        columns_add_sorted(c, selection.sort, runs);
    if (!people)
        columns_attribute(c, "id");
    if (!people || all || attribute_differs(runs, "experiment"))
        columns_attribute(c, "experiment");
    columns_attribute(c, "status");
    if (selection.deleted)
        columns_attribute(c, "deleted");
    if (has_damage(runs) || !people)
        columns_attribute(c, "damage");
    columns_attribute(c, "started");
    columns_attribute(c, "time");
    if (!people || all)
        columns_attribute(c, "user");
    if (!people || all || attribute_differs(runs, "attempts"))
        columns_attribute(c, "attempts");
    columns_attribute(c, "steps");
    if (people && !all) {
        auto_columns_metrics(c, runs, false);
        auto_columns_params(c, runs, false);
    } else {
        auto_columns_params(c, runs, true);
        auto_columns_metrics(c, runs, true);
    }
}

static void fill_table(struct table *t, const struct columns *c,
                       const struct runs *runs)
{
    for (size_t j = 0; j < c->n; j++)
        table_column(t, c->item[j].title);
    for (size_t i = 0; i < runs->n; i++) {
        for (size_t j = 0; j < c->n; j++)
            table_add(t, column_cell(&c->item[j], &runs->run[i]));
    }
    for (size_t j = 0; j < c->n; j++)
        column_mark_best(&c->item[j], t, j);
}

static int list_runs(struct table *t, struct runs *runs, bool people,
                     struct err *e)
{
    const char *text = columns_text;
    struct columns c = COLUMNS_INIT;
    const bool adds = text && *text == '+';
    int ret = 0;

    if (!text || adds)
        add_default_columns(&c, runs, people);
    if (text)
        ret = columns_parse(&c, text + adds, runs, e);
    if (ret == 0)
        fill_table(t, &c, runs);
    columns_clear(&c);
    return ret;
}

static int list_groups(struct table *t, const struct runs *runs, struct err *e)
{
    struct columns metrics = COLUMNS_INIT;
    const char *text = columns_text;
    int ret = 0;

    if (text)
        ret = columns_parse(&metrics, text + (*text == '+'), runs, e);
    else
        auto_columns_metrics(&metrics, runs, all);
    if (ret == 0)
        ret = row_groups_fill(t, runs, group_text, &metrics, e);
    columns_clear(&metrics);
    return ret;
}

/* Say why no run is listed. */
static void explain_nothing(void)
{
    struct runs any = RUNS_INIT;
    struct err ignored = ERR_INIT;

    if (track_load(&any, NULL, 0, LOAD_NO_METRICS, &ignored) == 0)
        log_info(any.n ? "no run in %s matches" : "there are no runs in %s yet",
                 track_store());
    runs_free(&any);
}

static int ls_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.ls/1");
    struct runs runs = RUNS_INIT;
    const int form = table_form(&style, e);
    const bool people =
        form == TABLE_ALIGNED || form == TABLE_MARKDOWN || form == TABLE_LATEX;
    int ret = -1;

    if (form < 0)
        return -1;
    if (group_text)
        t.schema = "gtrack.ls-groups/1";
    if (track_select(&runs, &selection, argv, argc, e) == 0 &&
        (group_text ? list_groups(&t, &runs, e)
                    : list_runs(&t, &runs, people, e)) == 0)
        ret = table_print(&t, &style, e);
    if (ret == 0 && runs.n == 0 && form == TABLE_ALIGNED)
        explain_nothing();
    if (ret == 0 && runs.n == 0 && must_match)
        ret = err_set(e, ERR_SYSTEM, "no run is listed");
    table_clear(&t);
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_ls = {
    .name = "ls",
    .args = "[RUN|FILTER]...",
    .help = "list runs",
    .opts = ls_opts,
    .run = ls_main,
};
