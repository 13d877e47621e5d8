/*
 * gtrack show - show one run
 */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "common/opt.h"
#include "common/output/pager.h"
#include "common/output/emit.h"
#include "track/runs/column.h"
#include "track/runs/file_tree.h"
#include "track/runs/track.h"

static struct table_style style;
static bool all, attempts;

static const struct opt show_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    { 'a', "all", NULL, OPT_FLAG, &all,
      "show all tags, and long values in full" },
    { 'A', "attempts", NULL, OPT_FLAG, &attempts,
      "include points that a later attempt has retracted" },
    TABLE_OPTS(style),
    { 0 }
};

static const char *const attributes[] = {
    "name",    "id",     "experiment", "status", "reason",   "damage",
    "started", "ended",  "time",       "steps",  "attempts", "changed",
    "user",    "parent", "deleted",    "folder"
};

enum { N_ATTRIBUTES = sizeof attributes / sizeof attributes[0] };

static struct table_cell attribute_cell(const char *name,
                                        const struct run_info *r)
{
    const struct column c = { .attribute = run_value_find(name, false) };

    return column_cell(&c, r);
}

/* A row; a long value is cut unless --all is given. */
static void add_pair(struct table *t, const char *key, const char *value)
{
    enum { LONG_TEXT = 200 };

    table_text(t, key);
    if (all || strlen(value) <= LONG_TEXT)
        table_text(t, value);
    else
        table_printf(t, "%.*s... (%zu bytes; use --all to show them)", 80,
                     value, strlen(value));
}

/* Tags that are shown among the attributes. */
static const char *const attribute_tags[] = { "mlflow.runName", "mlflow.user",
                                              "mlflow.parentRunId",
                                              "mlflow.note.content", NULL };

/* -- one table, for programs --------------------------------------------- */

static void begin_row(struct table *t, const char *section, const char *key)
{
    table_text(t, section);
    table_text(t, key);
}

static void fill_table(struct table *t, const struct run_info *r,
                       const struct file_tree *f)
{
    table_columns(t, "section", "key", "value", NULL);
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        begin_row(t, "run", attributes[i]);
        table_add(t, attribute_cell(attributes[i], r));
    }
    for (size_t i = 0; i < r->n_params; i++) {
        begin_row(t, "param", r->params[i].key);
        table_text(t, r->params[i].value);
    }
    for (size_t i = 0; i < r->n_metrics; i++) {
        begin_row(t, "metric", r->metrics[i].key);
        table_real(t, r->metrics[i].last);
    }
    for (size_t i = 0; i < r->n_tags; i++) {
        begin_row(t, "tag", r->tags[i].key);
        table_text(t, r->tags[i].value);
    }
    for (size_t i = 0; i < f->n; i++) {
        begin_row(t, "artifact", f->file[i].path);
        file_tree_add_size(t, &f->file[i]);
    }
}

/* -- JSON ---------------------------------------------------------------- */

static void emit_metrics(struct emit *o, const struct run_info *r)
{
    AUTO(table_clear) struct table t = TABLE_INIT("");

    table_columns(&t, "last", "step", "min", "min_step", "max", "max_step",
                  "points", "first_step", NULL);
    emit_object(o, "metrics");
    for (size_t i = 0; i < r->n_metrics; i++) {
        track_add_metric(&t, &r->metrics[i]);
        table_int(&t, r->metrics[i].count);
        table_int(&t, r->metrics[i].first_step);
        table_emit_row(o, r->metrics[i].key, &t, i);
    }
    emit_object_end(o);
}

static void emit_artifacts(struct emit *o, const struct file_tree *f)
{
    AUTO(table_clear) struct table t = TABLE_INIT("");

    table_columns(&t, "path", "bytes", NULL);
    emit_array(o, "artifacts");
    for (size_t i = 0; i < f->n; i++) {
        table_text(&t, f->file[i].path);
        file_tree_add_size(&t, &f->file[i]);
        table_emit_row(o, NULL, &t, i);
    }
    emit_array_end(o);
}

static int print_json(const struct run_info *r, const struct file_tree *f,
                      struct err *e)
{
    AUTO(table_clear) struct table t = TABLE_INIT("");
    AUTO(buf_clear) struct buf b = BUF_INIT;
    struct emit o = { &b, .reals = EMIT_QUOTED, .spaced = true, .lines = 1 };

    for (size_t i = 0; i < N_ATTRIBUTES; i++)
        table_column(&t, attributes[i]);
    for (size_t i = 0; i < N_ATTRIBUTES; i++)
        table_add(&t, attribute_cell(attributes[i], r));
    emit_object(&o, NULL);
    emit_text(&o, "schema", "gtrack.show/1");
    table_emit_row(&o, "run", &t, 0);
    o.lines = 2;
    track_emit_pairs(&o, "params", r->params, r->n_params);
    emit_metrics(&o, r);
    track_emit_pairs(&o, "tags", r->tags, r->n_tags);
    emit_artifacts(&o, f);
    emit_object_end(&o);
    emit_newline(&o);
    return pager_data(b.s, b.len, e);
}

/* -- sections, for people ------------------------------------------------- */

struct page {
    struct buf text;
    bool color;
    size_t width;
};

/* Add a table under a heading, if it has rows, and clear it. */
static void add_section(struct page *p, const char *heading, struct table *t,
                        bool header)
{
    if (t->n_cells) {
        if (heading)
            buf_printf(&p->text, "\n%s%s%s\n", p->color ? "\033[1m" : "",
                       heading, p->color ? "\033[0m" : "");
        table_format(t, TABLE_ALIGNED, header, p->color, p->width, &p->text);
    }
    table_clear(t);
}

static void add_metrics(struct table *t, const struct run_info *r)
{
    table_columns(t, "metric", "last", "step", "lowest", "at step", "highest",
                  "at step ", "points", NULL);
    for (size_t i = 0; i < r->n_metrics; i++) {
        table_text(t, r->metrics[i].key);
        track_add_metric(t, &r->metrics[i]);
        table_int(t, r->metrics[i].count);
    }
}

static void add_attributes(struct page *p, const struct run_info *r)
{
    const char *note = run_info_tag(r, "mlflow.note.content");
    struct table t = TABLE_INIT("");

    table_columns(&t, "key", "value", NULL);
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        const struct table_cell c = attribute_cell(attributes[i], r);

        if (c.type == TABLE_NONE)
            continue;
        table_text(&t, attributes[i]);
        table_add(&t, c);
    }
    if (note)
        add_pair(&t, "note", note);
    add_section(p, NULL, &t, false);
}

static void add_tags(struct page *p, const struct run_info *r)
{
    struct table t = TABLE_INIT("");

    table_columns(&t, "key", "value", NULL);
    for (size_t i = 0; i < r->n_tags; i++)
        if (all || (opt_find_word(attribute_tags, r->tags[i].key) < 0 &&
                    !changed_is_tag(r->tags[i].key)))
            add_pair(&t, r->tags[i].key, r->tags[i].value);
    add_section(p, "tags", &t, false);
}

/* A parameter that was changed is shown with all its values. */
static void add_params(struct page *p, const struct run_info *r)
{
    struct table t = TABLE_INIT("");
    AUTO(buf_clear) struct buf text = BUF_INIT;

    table_columns(&t, "key", "value", NULL);
    for (size_t i = 0; i < r->n_params; i++) {
        buf_trim(&text, 0);
        add_pair(&t, r->params[i].key,
                 changed_text(&text, r, r->params[i].key) ? text.s
                                                          : r->params[i].value);
    }
    add_section(p, "parameters", &t, false);
}

static int print_sections(const struct run_info *r, const struct file_tree *f,
                          struct err *e)
{
    struct page p = { BUF_INIT, table_color(&style, STDOUT_FILENO), 0 };
    struct table t = TABLE_INIT("");
    int rows, columns, ret;

    pager_screen(&rows, &columns);
    p.width = isatty(STDOUT_FILENO) ? (size_t)columns : 0;
    add_attributes(&p, r);
    add_params(&p, r);
    add_metrics(&t, r);
    add_section(&p, "metrics", &t, true);
    add_tags(&p, r);
    table_columns(&t, "key", "value", NULL);
    for (size_t i = 0; i < f->n; i++) {
        table_text(&t, f->file[i].path);
        file_tree_add_size(&t, &f->file[i]);
    }
    add_section(&p, "artifacts", &t, false);
    ret = pager_text(p.text.s, p.text.len, !style.no_pager, e);
    buf_clear(&p.text);
    return ret;
}

static int show_main(int argc, char **argv, struct err *e)
{
    AUTO(table_clear) struct table t = TABLE_INIT("gtrack.show/1");
    AUTO(runs_free) struct runs runs = { 0 };
    AUTO(file_tree_clear) struct file_tree files = { 0 };
    const int form = table_form(&style, e);
    int ret = -1;

    if (form < 0 || track_check_args(argc, argv, 0, 1, e) < 0)
        return -1;
    if (track_select_one(&runs, argv[0],
                         LOAD_DELETED | (attempts ? LOAD_ALL_ATTEMPTS : 0),
                         e) == 0 &&
        file_tree_list(&files, runs.run[0].artifacts,
                       run_info_inside(&runs.run[0]), e) == 0) {
        if (form == TABLE_JSON) {
            ret = print_json(&runs.run[0], &files, e);
        } else if (form == TABLE_ALIGNED) {
            ret = print_sections(&runs.run[0], &files, e);
        } else {
            fill_table(&t, &runs.run[0], &files);
            ret = table_print(&t, &style, e);
        }
    }
    return ret;
}

const struct cmd cmd_show = {
    .name = "show",
    .args = "[RUN]",
    .help = "show one run",
    .opts = show_opts,
    .confine = track_confine_reader,
    .run = show_main,
};
