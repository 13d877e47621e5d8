/*
 * gtrack ls - list runs
 */
#include "config.h"

#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/opt.h"
#include "store/query/differ.h"
#include "track/runs/column.h"
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
    { 0, "fresh", NULL, OPT_FLAG, &selection.fresh,
      "look at every file, even of runs that have ended" },
    TABLE_OPTS(style),
    { 0 }
};

static bool is_document(int form)
{
    return form == TABLE_ALIGNED || form == TABLE_MARKDOWN ||
           form == TABLE_LATEX;
}

/* Leave out what most runs are, and say how long ago they were started. */
static void shorten_cells(struct table *t, const struct columns *c)
{
    char ago[32];

    for (size_t i = 0; i < t->n_cells; i++) {
        const struct column *x = &c->item[i % c->n];
        struct table_cell *cell = &t->cell[i];

        if (x->kind == COLUMN_ATTRIBUTE && x->attribute == ATTRIBUTE_STATUS &&
            strcmp(cell->text, run_status_word(RUN_FINISHED)) == 0)
            cell->text = "";
        if (cell->type == TABLE_TIME)
            *cell = (struct table_cell){
                .type = TABLE_TEXT,
                .text = arena_strdup(&t->mem, clock_ago(ago, cell->i))
            };
    }
}

static int list_runs(struct table *t, struct runs *runs, int form,
                     struct err *e)
{
    const char *text = columns_text;
    AUTO(columns_clear) struct columns c = { 0 };
    const bool adds = text && *text == '+';
    const bool terminal = form == TABLE_ALIGNED && !all && (!text || adds);

    if (terminal)
        auto_columns_short(&c, runs, &selection);
    else if (!text || adds)
        auto_columns_full(&c, runs, &selection,
                          !is_document(form) ? AUTO_PROGRAM
                          : all              ? AUTO_DOCUMENT_ALL
                                             : AUTO_DOCUMENT);
    if (text && columns_parse(&c, text + adds, runs, e) < 0)
        return -1;
    if (!is_document(form) && form != TABLE_JSON)
        return columns_print(&c, runs, (enum table_form)form, !style.no_header,
                             e);
    columns_fill(&c, t, runs, is_document(form));
    if (terminal)
        shorten_cells(t, &c);
    return table_finish(t, 0, &style, e);
}

/* Groups are sorted by what their rows show. */
static int list_groups(struct table *t, struct runs *runs, struct err *e)
{
    AUTO(columns_clear) struct columns metrics = { 0 };
    const char *text = columns_text;

    if (selection.sort && columns_sort(runs, selection.sort, group_text, e) < 0)
        return -1;
    if (!text)
        auto_columns_metrics(&metrics, runs, all);
    else if (columns_parse(&metrics, text + (*text == '+'), runs, e) < 0)
        return -1;
    return table_finish(
        t, columns_fill_groups(t, runs, group_text, &metrics, e), &style, e);
}

/* Say why no run is listed. */
static void explain_nothing(void)
{
    AUTO(runs_free) struct runs any = { 0 };

    if (track_load(&any, 0, NULL, LOAD_NO_METRICS, ERR_IGNORED) == 0)
        log_info(any.n ? "no run in %s matches" : "there are no runs in %s yet",
                 track_store());
}

static int ls_main(int argc, char **argv, struct err *e)
{
    struct table t =
        TABLE_INIT(group_text ? "gtrack.ls-groups/1" : "gtrack.ls/1");
    AUTO(runs_free) struct runs runs = { 0 };
    const int form = table_form(&style, e);
    int ret;

    t.hint = "-c LIST or --csv shows them";
    if (form < 0 || track_select(&runs, &selection, argc, argv, e) < 0)
        return -1;
    if (group_text || form == TABLE_MARKDOWN || form == TABLE_LATEX)
        differ_drop_sweeps(&runs, argv, argc);
    ret =
        group_text ? list_groups(&t, &runs, e) : list_runs(&t, &runs, form, e);
    if (ret < 0 || runs.n > 0)
        return ret;
    explain_nothing();
    return must_match ? err_set(e, ERR_SYSTEM, "no run is listed") : 0;
}

const struct cmd cmd_ls = {
    .name = "ls",
    .args = "[RUN|FILTER]...",
    .help = "list runs",
    .opts = ls_opts,
    .confine = track_confine_reader,
    .run = ls_main,
};
