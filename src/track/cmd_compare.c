#include "config.h"
#include "track/cmds.h"
#include "track/runs/track.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "track/runs/auto_columns.h"
#include "track/runs/column.h"
#include "track/runs/row_groups.h"

static struct track_choice choice;
static struct table_style style;
static const char *baseline_word, *columns_text, *group_text, *by = "last";
static bool all, across, down;

static const struct opt compare_opts[] = {
    TRACK_OPTS,
    TRACK_CHOICE_OPTS(choice),
    { 'a', "all", NULL, OPT_FLAG, &all,
      "also print equal parameters, and every metric" },
    { 'b', "baseline", "run", OPT_STRING, &baseline_word,
      "print how far each metric is from its value in RUN" },
    { 'c', "columns", "list", OPT_STRING, &columns_text,
      "compare these columns, as in lr,min(val/loss)" },
    { 'g', "group-by", "list", OPT_STRING, &group_text,
      "print the mean and the spread of runs with the same values in these "
      "columns" },
    { 0, "by", "value", OPT_STRING, &by,
      "compare the last or the best values of metrics (default: last)" },
    { 0, "across", NULL, OPT_FLAG, &across,
      "print one run per row (default for more than four runs)" },
    { 0, "down", NULL, OPT_FLAG, &down,
      "print one run per column (default for up to four runs)" },
    TABLE_OPTS(style),
    { 0 }
};

enum { SIDE_BY_SIDE = 4 };

/* "best" is the least or greatest value, by the kind of the metric. */
static int use_best(struct columns *c, const struct runs *runs, struct err *e)
{
    struct columns out = COLUMNS_INIT;
    int ret = 0;

    for (size_t i = 0; i < c->n && ret == 0; i++) {
        const struct column *m = &c->item[i];
        const int direction = column_direction(m);

        if (direction) {
            char *text =
                xasprintf("%s(`%s`)", direction > 0 ? "max" : "min", m->key);

            ret = columns_parse(&out, text, runs, e);
            free(text);
        } else {
            columns_add(&out, COLUMN_METRIC, m->key);
        }
    }
    columns_clear(c);
    *c = out;
    return ret;
}

static int choose(struct columns *c, const struct runs *runs, struct err *e)
{
    struct columns metrics = COLUMNS_INIT;
    int ret = 0;

    if (columns_text)
        return columns_parse(c, columns_text, runs, e);
    columns_attribute(c, "experiment");
    columns_attribute(c, "status");
    columns_attribute(c, "time");
    columns_attribute(c, "steps");
    choose_params(c, runs, all);
    choose_metrics(&metrics, runs, all);
    if (strcmp(by, "best") == 0)
        ret = use_best(&metrics, runs, e);
    for (size_t i = 0; i < metrics.n && ret == 0; i++) {
        GROW(c->item, c->n, c->room);
        c->item[c->n++] = metrics.item[i];
        metrics.item[i] = (struct column){ 0 };
    }
    columns_clear(&metrics);
    return ret;
}

/* Attributes that all runs share are left out, like parameters. */
static bool worth_showing(const struct column *c, const struct runs *runs)
{
    if (all || columns_text || c->kind != COLUMN_ATTRIBUTE ||
        (strcmp(c->key, "experiment") != 0 && strcmp(c->key, "status") != 0))
        return true;
    for (size_t i = 1; i < runs->n; i++) {
        const struct table_cell x = column_cell(c, &runs->run[0]);
        const struct table_cell y = column_cell(c, &runs->run[i]);

        if (x.text && y.text && strcmp(x.text, y.text) != 0)
            return true;
    }
    return false;
}

/* "val/loss - base": of two values, the second run's less the baseline's. */
static void put_delta(struct table *t, const struct column *c,
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

static void rows_are_runs(struct table *t, const struct columns *c,
                          const struct runs *runs, const struct run_info *base)
{
    table_column(t, "name");
    for (size_t j = 0; j < c->n; j++) {
        if (!worth_showing(&c->item[j], runs))
            continue;
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
            if (!worth_showing(&c->item[j], runs))
                continue;
            table_add(t, column_cell(&c->item[j], r));
            if (base && c->item[j].kind == COLUMN_METRIC)
                put_delta(t, &c->item[j], r, base);
        }
    }
    for (size_t j = 0, at = 1; j < c->n; j++) {
        if (!worth_showing(&c->item[j], runs))
            continue;
        if (column_direction(&c->item[j]))
            table_mark_best(t, at, column_direction(&c->item[j]) > 0);
        at += base && c->item[j].kind == COLUMN_METRIC ? 2 : 1;
    }
}

/* Mark the best of a row of numbers. */
static void mark_row(struct table *t, size_t row, bool greatest)
{
    struct table_cell *best = NULL;
    size_t numbers = 0;

    for (size_t j = 1; j < t->n_columns; j++) {
        struct table_cell *c = table_cell(t, row, j);

        numbers += c->type == TABLE_REAL && !isnan(c->x) ? 1 : 0;
        if (c->type == TABLE_REAL && !isnan(c->x) &&
            (!best || (greatest ? c->x > best->x : c->x < best->x)))
            best = c;
    }
    if (numbers > 1)
        best->mark = MARK_BEST;
}

/* Names of runs as columns; a name that comes again is told by its id. */
static void name_columns(struct table *t, const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];
        bool again = false;
        char *name;

        for (size_t k = 0; k < runs->n; k++)
            again =
                again || (k != i && strcmp(runs->run[k].name, r->name) == 0);
        name = again ? xasprintf("%s %.8s", r->name, r->id) : xstrdup(r->name);
        table_column(t, name);
        free(name);
    }
}

static void columns_are_runs(struct table *t, const struct columns *c,
                             const struct runs *runs,
                             const struct run_info *base)
{
    table_column(t, "");
    name_columns(t, runs);
    for (size_t j = 0; j < c->n; j++) {
        const struct column *column = &c->item[j];

        if (!worth_showing(column, runs))
            continue;
        table_text(t, column->title);
        for (size_t i = 0; i < runs->n; i++)
            table_add(t, column_cell(column, &runs->run[i]));
        if (column_direction(column) && runs->n > 1)
            mark_row(t, table_rows(t) - 1, column_direction(column) > 0);
        if (!base || column->kind != COLUMN_METRIC)
            continue;
        table_printf(t, "  from %s", base->name);
        for (size_t i = 0; i < runs->n; i++)
            put_delta(t, column, &runs->run[i], base);
    }
}

/* The baseline is put first, if it is not one of the runs already. */
static int find_baseline(const struct runs *runs, size_t *at, struct err *e)
{
    struct runs one = RUNS_INIT;

    if (track_one(&one, baseline_word, LOAD_NO_METRICS, e) < 0)
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

static int compare(struct table *t, struct runs *runs, struct err *e)
{
    struct columns c = COLUMNS_INIT, groups = COLUMNS_INIT;
    const struct run_info *base = NULL;
    size_t at = 0;
    int ret = -1;

    if (runs->n == 0)
        return err_set(e, ERR_MISSING, "no run to compare in %s",
                       track_store());
    if (baseline_word) {
        if (find_baseline(runs, &at, e) < 0)
            return -1;
        base = &runs->run[at];
    }
    if (group_text) {
        if (columns_parse(&groups, group_text, runs, e) < 0)
            goto out;
        if (columns_text)
            ret = columns_parse(&c, columns_text, runs, e);
        else
            choose_metrics(&c, runs, all);
        if (!columns_text)
            ret = strcmp(by, "best") == 0 ? use_best(&c, runs, e) : 0;
        if (ret == 0)
            group_table(t, runs, &groups, &c);
        goto out;
    }
    if (choose(&c, runs, e) < 0)
        goto out;
    if (across || (!down && runs->n > SIDE_BY_SIDE))
        rows_are_runs(t, &c, runs, base);
    else
        columns_are_runs(t, &c, runs, base);
    ret = 0;

out:
    columns_clear(&c);
    columns_clear(&groups);
    return ret;
}

static int compare_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.compare/1");
    struct runs runs = RUNS_INIT;
    int ret = -1;

    if (strcmp(by, "last") != 0 && strcmp(by, "best") != 0)
        return err_set(e, ERR_USAGE, "--by wants last or best, not '%s'", by);
    if (across && down)
        return err_set(e, ERR_USAGE, "--across and --down exclude each other");
    if (group_text)
        t.schema = "gtrack.ls-groups/1";
    if (track_choose(&runs, &choice, argv, argc, 0, e) == 0 &&
        compare(&t, &runs, e) == 0)
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
    .run = compare_main,
};
