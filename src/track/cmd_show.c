#include "config.h"
#include "track/cmds.h"
#include "track/runs/track.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/pager.h"
#include "track/runs/column.h"
#include "track/runs/file_tree.h"

static struct table_style style;
static bool all, attempts;

static const struct opt show_opts[] = {
    TRACK_OPTS,
    { 'a', "all", NULL, OPT_FLAG, &all,
      "show all tags, and long values in full" },
    { 'A', "attempts", NULL, OPT_FLAG, &attempts,
      "include points that a later attempt has retracted" },
    TABLE_OPTS(style),
    { 0 }
};

static const char *const facts[] = {
    "name", "id",    "experiment", "status", "damage", "started", "ended",
    "time", "steps", "attempts",   "user",   "parent", "deleted", "folder"
};

enum { N_FACTS = sizeof facts / sizeof facts[0], LONG_TEXT = 200 };

static struct table_cell fact(const char *name, const struct run_info *r)
{
    struct columns c = COLUMNS_INIT;
    struct table_cell cell;

    columns_attribute(&c, name);
    cell = column_cell(c.item, r);
    columns_clear(&c);
    return cell;
}

/* A value on one line, not longer than a screen or two. */
static void put_value(struct table *t, const char *s, bool whole)
{
    if (whole || strlen(s) <= LONG_TEXT)
        table_text(t, s);
    else
        table_printf(t, "%.*s... (%zu bytes; --all shows them)", 80, s,
                     strlen(s));
}

/* Tags that repeat what is told elsewhere. */
static bool repeats(const char *tag)
{
    return strcmp(tag, "mlflow.runName") == 0 ||
           strcmp(tag, "mlflow.user") == 0 ||
           strcmp(tag, "mlflow.parentRunId") == 0;
}

/* ---- everything in one table, for programs ---- */

static void row(struct table *t, const char *section, const char *key)
{
    table_text(t, section);
    table_text(t, key);
}

static void flat(struct table *t, const struct run_info *r,
                 const struct files *f)
{
    table_column(t, "section");
    table_column(t, "key");
    table_column(t, "value");
    for (size_t i = 0; i < N_FACTS; i++) {
        row(t, "run", facts[i]);
        table_add(t, fact(facts[i], r));
    }
    for (size_t i = 0; i < r->n_params; i++) {
        row(t, "param", r->params[i].key);
        table_text(t, r->params[i].value);
    }
    for (size_t i = 0; i < r->n_metrics; i++) {
        row(t, "metric", r->metrics[i].key);
        table_real(t, r->metrics[i].last);
    }
    for (size_t i = 0; i < r->n_tags; i++) {
        row(t, "tag", r->tags[i].key);
        table_text(t, r->tags[i].value);
    }
    for (size_t i = 0; i < f->n; i++) {
        row(t, "artifact", f->item[i].path);
        table_bytes(t, f->item[i].size);
    }
}

/* ---- one object, as JSON ---- */

static void json_pairs(struct buf *b, const char *name, const struct pair *pair,
                       size_t n)
{
    buf_printf(b, ",\n  \"%s\": {", name);
    for (size_t i = 0; i < n; i++) {
        buf_str(b, i ? ",\n    " : "\n    ");
        table_json_text(b, pair[i].key);
        buf_str(b, ": ");
        table_json_text(b, pair[i].value);
    }
    buf_str(b, n ? "\n  }" : "}");
}

static void json_metrics(struct buf *b, const struct run_info *r)
{
    buf_str(b, ",\n  \"metrics\": {");
    for (size_t i = 0; i < r->n_metrics; i++) {
        const struct metric_sum *m = &r->metrics[i];

        buf_str(b, i ? ",\n    " : "\n    ");
        table_json_text(b, m->key);
        buf_str(b, ": {\"last\": ");
        table_json_real(b, m->last);
        buf_printf(b, ", \"step\": %" PRId64 ", \"min\": ", m->last_step);
        table_json_real(b, m->min);
        buf_printf(b, ", \"min_step\": %" PRId64 ", \"max\": ", m->min_step);
        table_json_real(b, m->max);
        buf_printf(b,
                   ", \"max_step\": %" PRId64 ", \"points\": %" PRId64
                   ", \"first_step\": %" PRId64 "}",
                   m->max_step, m->count, m->first_step);
    }
    buf_str(b, r->n_metrics ? "\n  }" : "}");
}

static int json(const struct run_info *r, const struct files *f, struct err *e)
{
    struct buf b = BUF_INIT;
    struct table t = TABLE_INIT("gtrack.show/1");
    const char *from, *end;
    int ret;

    for (size_t i = 0; i < N_FACTS; i++) {
        table_column(&t, facts[i]);
        table_add(&t, fact(facts[i], r));
    }
    buf_str(&b, "{\n  \"schema\": \"gtrack.show/1\",\n  \"run\": ");
    {
        struct buf whole = BUF_INIT;

        /* the one row of that table */
        table_format(&t, TABLE_JSON, true, false, 0, &whole);
        from = strstr(whole.s, "\"rows\": [") + strlen("\"rows\": [");
        from = strchr(from, '{');
        end = strrchr(whole.s, ']');
        while (*end != '}')
            end--;
        buf_add(&b, from, (size_t)(end - from) + 1);
        buf_clear(&whole);
    }
    json_pairs(&b, "params", r->params, r->n_params);
    json_metrics(&b, r);
    json_pairs(&b, "tags", r->tags, r->n_tags);
    buf_str(&b, ",\n  \"artifacts\": [");
    for (size_t i = 0; i < f->n; i++) {
        buf_str(&b, i ? ",\n    {\"path\": " : "\n    {\"path\": ");
        table_json_text(&b, f->item[i].path);
        buf_printf(&b, ", \"bytes\": %" PRId64 "}", f->item[i].size);
    }
    buf_str(&b, f->n ? "\n  ]\n}\n" : "]\n}\n");
    ret = pager_text(b.s, b.len, false, e);
    buf_clear(&b);
    table_clear(&t);
    return ret;
}

/* ---- sections, for people ---- */

struct page {
    struct buf text;
    bool color;
    size_t width;
};

/* Print a section's table under its heading, if it has rows, and free it. */
static void section(struct page *p, const char *heading, struct table *t,
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

static void two_columns(struct table *t)
{
    table_column(t, "key");
    table_column(t, "value");
}

static void metrics_table(struct table *t, const struct run_info *r)
{
    static const char *const names[] = { "metric",   "last",    "step",
                                         "least",    "at step", "greatest",
                                         "at step ", "points" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        table_column(t, names[i]);
    for (size_t i = 0; i < r->n_metrics; i++) {
        const struct metric_sum *m = &r->metrics[i];

        table_text(t, m->key);
        table_real(t, m->last);
        table_int(t, m->last_step);
        table_real(t, m->min);
        table_int(t, m->min_step);
        table_real(t, m->max);
        table_int(t, m->max_step);
        table_int(t, m->count);
    }
}

static int sections(const struct run_info *r, const struct files *f,
                    struct err *e)
{
    struct page p = { BUF_INIT, table_color(&style, STDOUT_FILENO), 0 };
    struct table t = TABLE_INIT("");
    const char *note = run_info_tag(r, "mlflow.note.content");
    int rows, columns, ret;

    pager_screen(&rows, &columns);
    p.width = isatty(STDOUT_FILENO) ? (size_t)columns : 0;
    two_columns(&t);
    for (size_t i = 0; i < N_FACTS; i++) {
        const struct table_cell c = fact(facts[i], r);

        if (c.type == TABLE_NONE)
            continue;
        table_text(&t, facts[i]);
        table_add(&t, c);
    }
    if (note) {
        table_text(&t, "note");
        put_value(&t, note, all);
    }
    section(&p, NULL, &t, false);
    two_columns(&t);
    for (size_t i = 0; i < r->n_params; i++) {
        table_text(&t, r->params[i].key);
        put_value(&t, r->params[i].value, all);
    }
    section(&p, "parameters", &t, false);
    metrics_table(&t, r);
    section(&p, "metrics", &t, true);
    two_columns(&t);
    for (size_t i = 0; i < r->n_tags; i++) {
        const struct pair *tag = &r->tags[i];

        if (!all && (repeats(tag->key) || (note && tag->value == note)))
            continue;
        table_text(&t, tag->key);
        put_value(&t, tag->value, all);
    }
    section(&p, "tags", &t, false);
    two_columns(&t);
    for (size_t i = 0; i < f->n; i++) {
        table_text(&t, f->item[i].path);
        table_bytes(&t, f->item[i].size);
    }
    section(&p, "artifacts", &t, false);
    ret = pager_text(p.text.s, p.text.len, !style.no_pager, e);
    buf_clear(&p.text);
    return ret;
}

static int show_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.show/1");
    struct runs runs = RUNS_INIT;
    struct files files = FILES_INIT;
    const int form = table_form(&style, e);
    int ret = -1;

    if (form < 0 || track_words(argc, 0, 1, "show [RUN]", e) < 0)
        return -1;
    if (track_one(&runs, argv[0],
                  LOAD_DELETED | (attempts ? LOAD_ALL_ATTEMPTS : 0), e) == 0 &&
        files_list(&files, runs.run[0].artifacts, e) == 0) {
        if (form == TABLE_JSON) {
            ret = json(&runs.run[0], &files, e);
        } else if (form == TABLE_ALIGNED) {
            ret = sections(&runs.run[0], &files, e);
        } else {
            flat(&t, &runs.run[0], &files);
            ret = table_print(&t, &style, e);
        }
    }
    files_clear(&files);
    table_clear(&t);
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_show = {
    .name = "show",
    .args = "[RUN]",
    .help = "show one run",
    .opts = show_opts,
    .run = show_main,
};
