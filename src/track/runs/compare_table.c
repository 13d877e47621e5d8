#include "config.h"
#include "track/runs/compare_table.h"

#include <math.h>
#include <string.h>

#include "common/buf.h"
#include "common/opt.h"
#include "store/format/attempt.h"
#include "track/runs/column.h"
#include "track/runs/track.h"

static int list_columns(struct columns *c, const struct runs *runs,
                        const struct compare_table *how, struct err *e)
{
    struct columns metrics = { 0 };

    if (how->columns)
        return columns_parse(c, how->columns, runs, e);
    auto_columns_attribute(c, "experiment", runs, how->all);
    auto_columns_attribute(c, "status", runs, how->all);
    columns_attribute(c, "time");
    columns_attribute(c, "steps");
    auto_columns_params(c, runs, how->all);
    auto_columns_metrics(&metrics, runs, how->all);
    if (how->best)
        columns_use_best(&metrics);
    columns_join(c, &metrics);
    return 0;
}

/* The difference between the values of a run and of the baseline. */
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
            AUTO_FREE char *title = xasprintf("%s +-", c->item[j].title);

            table_column(t, title);
        }
    }
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        table_text(t, r->name);
        for (size_t j = 0; j < c->n; j++) {
            table_borrow(t, column_cell(&c->item[j], r));
            if (base && c->item[j].kind == COLUMN_METRIC)
                add_delta(t, &c->item[j], r, base);
        }
    }
    for (size_t j = 0, at = 1; j < c->n; j++) {
        column_mark_best(&c->item[j], t, at, runs);
        at += base && c->item[j].kind == COLUMN_METRIC ? 2 : 1;
    }
}

static void add_name_columns(struct table *t, const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        AUTO_FREE char *name = track_shown_name(runs, i);

        table_column(t, name);
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
            table_borrow(t, column_cell(column, &runs->run[i]));
        if (column_rank(column, runs))
            table_mark_best_of_last(t, runs->n, column_rank(column, runs) > 0);
        if (!base || column->kind != COLUMN_METRIC)
            continue;
        table_printf(t, "  from %s", base->name);
        for (size_t i = 0; i < runs->n; i++)
            add_delta(t, column, &runs->run[i], base);
    }
}

int compare_table_fill(struct table *t, const struct runs *runs,
                       const struct compare_table *how, struct err *e)
{
    AUTO(columns_clear) struct columns c = { 0 };
    const int ret = list_columns(&c, runs, how, e);

    if (ret == 0)
        (how->across ? add_runs_as_rows : add_runs_as_columns)(t, &c, runs,
                                                               how->base);
    return ret;
}

struct diff {
    struct table *table;
    enum diff_detail detail;
};

static const char patch_tag[] = "mlflow.source.git.diff";

/* Tags that differ between any two runs or that other rows show. */
static const char *const differing_tags[] = { "mlflow.runName",
                                              "mlflow.note.content",
                                              "gtrack.exit_status", NULL };

static const char *kind_of_tag(const char *tag)
{
    if (strncmp(tag, "mlflow.source.git", 17) == 0)
        return "git";
    return run_info_is_own_tag(tag) ? "environment" : "tag";
}

/* A value that fits on a line; of a long one, only its size. */
static void add_value(const struct diff *d, const char *s)
{
    size_t lines = 0;

    for (const char *p = s; p && *p; p++)
        lines += *p == '\n';
    if (s && d->detail != DIFF_ALL && lines > 2)
        table_printf(d->table, "(%zu lines, %zu bytes)", lines, strlen(s));
    else
        table_text(d->table, s);
}

static void add_row(const struct diff *d, const char *kind, const char *key,
                    const char *a, const char *b)
{
    if (str_same(a, b))
        return;
    table_text(d->table, kind);
    table_text(d->table, key);
    add_value(d, a);
    add_value(d, b);
}

static bool is_shown(const struct diff *d, const char *tag)
{
    return d->detail == DIFF_ALL ||
           (opt_find_word(differing_tags, tag) < 0 && !changed_is_tag(tag) &&
            (d->detail != DIFF_LINES || strcmp(tag, patch_tag) != 0));
}

/* Merge two lists, both sorted by key. */
static void add_pairs(const struct diff *d, const struct pair *a, size_t na,
                      const struct pair *b, size_t nb, bool tags)
{
    size_t i = 0, j = 0;

    while (i < na || j < nb) {
        const int cmp = i == na ? 1 : j == nb ? -1 : strcmp(a[i].key, b[j].key);
        const char *key = cmp <= 0 ? a[i].key : b[j].key;

        if (!tags || is_shown(d, key))
            add_row(d, tags ? kind_of_tag(key) : "param", key,
                    cmp <= 0 ? a[i].value : NULL, cmp >= 0 ? b[j].value : NULL);
        i += cmp <= 0;
        j += cmp >= 0;
    }
}

/* -- datasets -------------------------------------------------------------- */

/* NULL if the run has not read it. */
static const char *find_digest(const struct run_info *r, const char *name)
{
    for (size_t i = 0; i < r->n_inputs; i++)
        if (str_same(r->inputs[i].name, name))
            return str_or_empty(r->inputs[i].digest);
    return NULL;
}

static void add_data(const struct diff *d, const struct run_info *a,
                     const struct run_info *b)
{
    for (size_t i = 0; i < a->n_inputs; i++)
        add_row(d, "data", a->inputs[i].name, str_or_empty(a->inputs[i].digest),
                find_digest(b, a->inputs[i].name));
    for (size_t i = 0; i < b->n_inputs; i++)
        if (!find_digest(a, b->inputs[i].name))
            add_row(d, "data", b->inputs[i].name, NULL,
                    str_or_empty(b->inputs[i].digest));
}

/* -- uncommitted changes --------------------------------------------------- */

static bool has_line(const char *text, const char *line, size_t n)
{
    while (text && *text) {
        const size_t len = strcspn(text, "\n");

        if (len == n && memcmp(text, line, n) == 0)
            return true;
        text += len + (text[len] == '\n');
    }
    return false;
}

/* Lines of a patch that the other one does not have. */
static void add_lines(const struct diff *d, const char *text, const char *other,
                      bool first)
{
    while (text && *text) {
        const size_t n = strcspn(text, "\n");
        AUTO_FREE char *line = xstrndup(text, n);

        if (n && !has_line(other, text, n))
            add_row(d, "git", patch_tag, first ? line : NULL,
                    first ? NULL : line);
        text += n + (text[n] == '\n');
    }
}

/* Comparing each line with each takes too long for large patches. */
static void add_patches(const struct diff *d, const char *a, const char *b)
{
    enum { MOST = 64 << 10 };

    if (strlen(str_or_empty(a)) > MOST || strlen(str_or_empty(b)) > MOST) {
        add_row(d, "git", patch_tag, a, b);
    } else {
        add_lines(d, a, b, true);
        add_lines(d, b, a, false);
    }
}

void diff_table_fill(struct table *t, const struct run_info *a,
                     const struct run_info *b, enum diff_detail detail)
{
    const bool same_name = strcmp(a->name, b->name) == 0;
    const struct diff d = { t, detail };

    table_columns(t, "kind", "key", same_name ? a->id : a->name,
                  same_name ? b->id : b->name, NULL);
    add_row(&d, "run", "experiment", a->experiment, b->experiment);
    add_row(&d, "run", "user", a->user, b->user);
    if (a->attempt && b->attempt) {
        add_row(&d, "run", "command", a->attempt->command, b->attempt->command);
        add_row(&d, "run", "host", a->attempt->host, b->attempt->host);
    }
    add_row(&d, "run", "changed", str_or_empty(a->changed),
            str_or_empty(b->changed));
    add_pairs(&d, a->params, a->n_params, b->params, b->n_params, false);
    add_data(&d, a, b);
    add_pairs(&d, a->tags, a->n_tags, b->tags, b->n_tags, true);
    if (detail == DIFF_LINES)
        add_patches(&d, run_info_tag(a, patch_tag), run_info_tag(b, patch_tag));
}
