/*
 * answer_runs - the table of runs, as gtrack ls prints it
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "track/runs/column.h"
#include "track/runs/track.h"
#include "track/serve/site.h"

/* A request for a table of runs, and the runs that it shows. */
struct listing {
    const struct live *live;
    struct track_selection selection;
    const char *columns_text, *group_text;
    struct runs runs; /* of the table, in its order */
    size_t matched;   /* how many the filter selects */
    struct columns columns, group;
};

static const struct {
    const char *name, *prefix; /* what the page calls it, and columns_parse() */
} kinds[] = {
    [COLUMN_ATTRIBUTE] = { "field", "" },
    [COLUMN_PARAM] = { "param", "params." },
    [COLUMN_METRIC] = { "metric", "metrics." },
    [COLUMN_TAG] = { "tag", "tags." },
};

/* -- choosing -------------------------------------------------------------- */

static int choose(struct listing *l, struct err *e)
{
    if (track_narrow(&l->runs, l->live->path, &l->selection, 0, NULL, e) < 0)
        return -1;
    l->matched = l->matched ? l->matched : l->runs.n;
    if (l->columns_text) {
        if (columns_parse(&l->columns, l->columns_text, &l->live->runs, e) < 0)
            return -1;
    } else {
        auto_columns_short(&l->columns, &l->runs, &l->selection);
    }
    return l->group_text
               ? columns_parse(&l->group, l->group_text, &l->live->runs, e)
               : 0;
}

/* -- columns --------------------------------------------------------------- */

static bool has_function(const struct column *c)
{
    return c->kind == COLUMN_METRIC && c->function != FUNCTION_LAST;
}

/* The column as columns_parse() reads it. */
static void write_spec(struct emit *o, const struct column *c)
{
    const char quote = !strchr(c->key, '`') ? '`' : '"';
    const bool plain = !strpbrk(c->key, ",()`\"' ");
    AUTO(buf_clear) struct buf b = BUF_INIT;

    if (has_function(c))
        buf_printf(&b, "%s(", run_value_functions[c->function]);
    buf_str(&b, kinds[c->kind].prefix);
    if (plain)
        buf_str(&b, c->key);
    else
        buf_printf(&b, "%c%s%c", quote, c->key, quote);
    if (has_function(c) && c->function == FUNCTION_AT)
        buf_printf(&b, ",%lld", (long long)c->step);
    if (has_function(c))
        buf_char(&b, ')');
    emit_text(o, "spec", b.s);
}

static void write_column(struct emit *o, const struct column *c)
{
    const int direction = column_direction(c);

    emit_object(o, NULL);
    emit_text(o, "name", c->title);
    emit_text(o, "kind", kinds[c->kind].name);
    write_spec(o, c);
    emit_text(o, "best", direction > 0 ? "high" : direction < 0 ? "low" : NULL);
    emit_object_end(o);
}

static bool is_shown(const struct columns *c, const struct column *x)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->item[i].kind == x->kind && c->item[i].function == x->function &&
            strcmp(c->item[i].key, x->key) == 0)
            return true;
    return false;
}

/* The tags of people, not those of programs. */
static void add_tags(struct columns *c, const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        for (size_t k = 0; k < r->n_tags; k++)
            if (!run_info_is_own_tag(r->tags[k].key))
                columns_add(c, COLUMN_TAG, r->tags[k].key);
    }
}

/* The other columns that can be chosen. */
static void write_hidden(struct emit *o, const struct listing *l)
{
    AUTO(columns_clear) struct columns all = { 0 };

    for (size_t i = 0; run_value_attributes[i]; i++)
        columns_attribute(&all, run_value_attributes[i]);
    auto_columns_params(&all, &l->live->runs, true);
    auto_columns_metrics(&all, &l->live->runs, true);
    add_tags(&all, &l->live->runs);
    emit_array(o, "hidden");
    for (size_t i = 0; i < all.n; i++)
        if (!is_shown(&l->columns, &all.item[i]))
            write_column(o, &all.item[i]);
    emit_array_end(o);
}

/* -- rows ------------------------------------------------------------------ */

/* The number of steps that a run will have; 0 if that is not known. */
static double steps_of(const struct run_info *r)
{
    static const char *const params[] = { "derived.steps", "train.steps",
                                          "max_steps", "num_steps", "steps" };
    double steps;

    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++) {
        const char *text = run_info_param(r, params[i]);

        if (text && num_real(text, &steps) && steps > 0)
            return steps;
    }
    return 0;
}

/* Milliseconds until the last step: as long as each step takes, or has taken
 * on average. */
static double eta_of(const struct run_info *r, double steps, double done)
{
    const struct metric_sum *ms = run_info_metric(r, "perf/step_ms");
    const double past = run_info_seconds(r) * 1000;

    if (ms && ms->last > 0)
        return (steps - done) * ms->last;
    return done > 0 ? (steps - done) / done * past : (double)NAN;
}

static void write_progress(struct emit *o, const struct run_info *r)
{
    const double steps = steps_of(r), done = (double)run_info_last_step(r);

    if (steps <= 0 || done < 0)
        return;
    emit_real(o, "progress", fmin(done / steps, 1));
    if (r->status == RUN_RUNNING)
        emit_real(o, "eta_ms", round(eta_of(r, steps, done)));
}

static void write_group(struct emit *o, const struct columns *group,
                        const struct run_info *r)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;

    for (size_t i = 0; i < group->n; i++) {
        const struct table_cell c = column_cell(&group->item[i], r);

        buf_str(&text, i ? ", " : "");
        table_cell_text(&text, &c, -1);
    }
    if (group->n)
        emit_text(o, "group", text.s);
}

static void write_rows(struct emit *o, const struct listing *l)
{
    AUTO(table_clear) struct table t = TABLE_INIT("");
    AUTO_FREE int *places = NULL;

    columns_fill(&l->columns, &t, &l->runs, true);
    places = table_decimals(&t);
    emit_array(o, "rows");
    for (size_t i = 0; i < l->runs.n; i++) {
        const struct run_info *r = &l->runs.run[i];

        emit_object(o, NULL);
        emit_text(o, "id", r->id);
        emit_text(o, "name", r->name);
        emit_text(o, "status", run_status_word(r->status));
        if (r->deleted)
            emit_bool(o, "deleted", true);
        write_group(o, &l->group, r);
        write_progress(o, r);
        emit_array(o, "cells");
        for (size_t j = 0; j < l->columns.n; j++)
            site_write_cell(o, table_cell(&t, i, j), places[j]);
        emit_array_end(o);
        emit_object_end(o);
    }
    emit_array_end(o);
}

/* -- the answer ------------------------------------------------------------ */

static void write_command(struct emit *o, const struct listing *l)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    buf_str(&b, "gtrack ls");
    site_root_option(&b, l->live);
    buf_shell_option(&b, "-w", l->selection.where);
    buf_shell_option(&b, "-c", l->columns_text);
    buf_shell_option(&b, "-g", l->group_text);
    buf_shell_option(&b, "--sort", l->selection.sort);
    if (l->selection.limit)
        buf_printf(&b, " -n %d", l->selection.limit);
    if (l->selection.deleted)
        buf_str(&b, " -d");
    emit_text(o, "command", b.s);
}

/* The number of runs without a filter. */
static int64_t count_runs(const struct listing *l)
{
    int64_t n = 0;

    for (size_t i = 0; i < l->live->runs.n; i++)
        n += l->selection.deleted || !l->live->runs.run[i].deleted;
    return n;
}

static void write_listing(struct emit *o, const struct listing *l)
{
    write_command(o, l);
    emit_array(o, "columns");
    for (size_t i = 0; i < l->columns.n; i++)
        write_column(o, &l->columns.item[i]);
    emit_array_end(o);
    write_hidden(o, l);
    write_rows(o, l);
    emit_int(o, "total", count_runs(l));
    emit_int(o, "matched", (int64_t)l->matched);
}

/* The table has the runs that charts show, or those under `only`, or all. */
static int choose_only(struct listing *l, struct site *s, struct query *q,
                       struct err *e)
{
    struct chosen c = { .matched = 0 };

    if ((query_get(q, "first") ? chosen_open(&c, s, q, e)
                               : site_runs(s, q, "only", &c.runs, e)) < 0)
        return -1;
    l->runs = c.runs;
    l->matched = c.matched;
    if (!l->runs.n) {
        free(l->runs.run);
        l->runs = site_all_runs(l->live, l->selection.deleted);
    }
    return 0;
}

int answer_runs(struct site *s, struct query *q, struct answer *a,
                struct err *e)
{
    struct listing l = { .live = site_store(s, q, e),
                         .selection = TRACK_SELECTION_INIT,
                         .columns_text = query_get(q, "columns"),
                         .group_text = query_get(q, "group") };
    int ret = -1;

    if (!l.live)
        return -1;
    l.selection.where = query_get(q, "filter");
    l.selection.sort = query_get(q, "sort");
    l.selection.sort = l.selection.sort ? l.selection.sort : CHOSEN_SORT;
    l.selection.deleted = query_flag(q, "deleted");
    if (choose_only(&l, s, q, e) == 0 &&
        query_number(q, "limit", 1000000, 0, &l.selection.limit, e) == 0 &&
        choose(&l, e) == 0) {
        write_listing(&a->out, &l);
        ret = 0;
    }
    columns_clear(&l.columns);
    columns_clear(&l.group);
    free(l.runs.run);
    return ret;
}
