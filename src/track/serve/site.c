#include "config.h"
#include "track/serve/site.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "store/format/saved_panels.h"
#include "store/query/differ.h"
#include "track/runs/column.h"
#include "track/runs/track.h"
#include "track/serve/answer.h"

/* clang-format off */
static const struct page {
    const char *path;
    site_fn *answer;
    bool post;
    bool plain;     /* the answer is no object */
    bool of_runs;   /* it is about the runs in the query alone */
    double seconds; /* for which an answer is valid if nothing changes */
} pages[] = {
    { "/api/stores",   answer_stores },
    { "/api/runs",     answer_runs, .seconds = 2 },
    { "/api/kinds",    answer_kinds },
    { "/api/figure",   answer_figure, .of_runs = true, .seconds = INFINITY },
    { "/api/events",   answer_events, .plain = true },
    { "/api/compare",  answer_compare, .of_runs = true, .seconds = INFINITY },
    { "/api/summary",  answer_summary, .of_runs = true, .seconds = INFINITY },
    { "/api/diff",     answer_diff },
    { "/api/run",      answer_run },
    { "/api/log",      answer_log },
    { "/api/media",    answer_media },
    { "/api/artifact", answer_artifact, .plain = true },
    { "/api/download", answer_download, .plain = true },
    { "/api/edit",     answer_edit, .post = true },
};
/* clang-format on */

static const char *page_file_type(const char *name)
{
    return str_ends(name, ".html")  ? "text/html; charset=utf-8"
           : str_ends(name, ".css") ? "text/css; charset=utf-8"
                                    : "text/javascript; charset=utf-8";
}

const struct page_file *page_file_find(const char *name)
{
    for (const struct page_file *f = page_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

static int answer_file(const char *name, struct answer *a, struct err *e)
{
    const struct page_file *f = page_file_find(name);

    if (!f)
        return err_set(e, ERR_MISSING, "there is no page here");
    a->type = page_file_type(name);
    buf_add(&a->body, f->data, f->size);
    return 0;
}

/* The version of the store that an answer depends on: the one in which the
 * runs that it is about changed last. */
static int64_t version_of(const struct page *p, const struct live *l,
                          struct query *q)
{
    char **run, **baseline;
    const size_t n = query_list(q, "runs", &run);
    const size_t m = query_list(q, "baseline", &baseline);
    const int64_t a = live_since(l, run, n), b = live_since(l, baseline, m);

    if (!p->of_runs || n == 0) /* none: a filter chooses them */
        return l->version;
    return a > b ? a : b;
}

static int make_answer(struct site *s, const struct page *p, struct query *q,
                       struct answer *a, struct err *e)
{
    int ret;

    if (!p->plain)
        emit_object(&a->out, NULL);
    ret = p->answer(s, q, a, e);
    if (!p->plain)
        emit_object_end(&a->out);
    return ret;
}

/* Answer a request, or repeat the answer to an equal one.  A page that has an
 * older answer ends its request with "&have=", and the mark of that one. */
static int answer_page(struct site *s, const struct page *p, const char *text,
                       struct query *q, struct answer *a, struct err *e)
{
    const struct live *l = p->seconds > 0 ? site_store(s, q, e) : NULL;
    const char *have = strstr(text, "&have=");
    const int len = (int)(have ? (size_t)(have - text) : strlen(text));
    const struct buf *old;
    int64_t version;
    AUTO_FREE char *url = NULL;
    int ret = 0;

    if (!l)
        return p->seconds > 0 ? -1 : make_answer(s, p, q, a, e);
    version = version_of(p, l, q);
    url = xasprintf("%s?%.*s", p->path, len, text);
    if (!cache_get(&s->cache, url, version, p->seconds, &a->body)) {
        ret = make_answer(s, p, q, a, e);
        if (ret == 0)
            cache_put(&s->cache, url, version, &a->body);
    }
    a->mark = cache_mark(&a->body);
    old = have ? cache_find(&s->cache, url, have + strlen("&have=")) : NULL;
    if (ret == 0 && old)
        cache_delta(&a->body, old);
    return ret;
}

static int answer_path(struct site *s, bool post, const char *path,
                       const char *text, struct query *q, struct answer *a,
                       struct err *e)
{
    if (!post && strcmp(path, "/") == 0)
        return answer_file("index.html", a, e);
    if (!post && strncmp(path, "/page/", 6) == 0)
        return answer_file(path + 6, a, e);
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        if (strcmp(path, pages[i].path) == 0 && post == pages[i].post)
            return answer_page(s, &pages[i], text, q, a, e);
    return err_set(e, ERR_MISSING, "there is no page here");
}

void site_answer(struct site *s, bool post, const char *path, const char *query,
                 const char *body, struct answer *a)
{
    AUTO(query_clear) struct query q = { 0 };
    struct err e = { 0 };

    q.body = body ? body : "";
    a->out.b = &a->body;
    if (query_parse(&q, query, &e) < 0 ||
        answer_path(s, post, path, query, &q, a, &e) < 0)
        answer_error(a, &e);
}

void site_clear(struct site *s)
{
    cache_clear(&s->cache);
    for (size_t i = 0; i < s->n_stores; i++)
        live_close(&s->store[i]);
}

struct live *site_store(struct site *s, const struct query *q, struct err *e)
{
    struct live *l;
    int at;

    if (query_number(q, "store", (int)s->n_stores - 1, 0, &at, e) < 0)
        return NULL;
    l = &s->store[at];
    if (l->problem.kind == ERR_NONE)
        return l;
    *e = l->problem;
    return NULL;
}

static const struct run_info *find_run(const struct live *l, const char *id,
                                       struct err *e)
{
    for (size_t i = 0; i < l->runs.n; i++)
        if (strcmp(l->runs.run[i].id, id) == 0)
            return &l->runs.run[i];
    err_set(e, ERR_MISSING, "there is no run %.64s in %s", id, l->path);
    return NULL;
}

struct runs site_all_runs(const struct live *l, bool deleted)
{
    struct runs all = { .run = xcalloc(l->runs.n + 1, sizeof *all.run) };

    for (size_t i = 0; i < l->runs.n; i++)
        if (deleted || !l->runs.run[i].deleted)
            all.run[all.n++] = l->runs.run[i];
    return all;
}

int site_runs(struct site *s, struct query *q, const char *key,
              struct runs *runs, struct err *e)
{
    const struct live *l = site_store(s, q, e);
    char **id;
    const size_t n = query_list(q, key, &id);

    *runs = (struct runs){ 0 };
    if (!l)
        return -1;
    runs->run = xcalloc(n + 1, sizeof *runs->run);
    for (size_t i = 0; i < n; i++) {
        const struct run_info *r = find_run(l, id[i], e);

        if (!r) {
            free(runs->run);
            *runs = (struct runs){ 0 };
            return -1;
        }
        runs->run[runs->n++] = *r;
    }
    return 0;
}

const struct run_info *site_run_of(struct site *s, const struct query *q,
                                   const char *id, struct err *e)
{
    const struct live *l = site_store(s, q, e);

    return l ? find_run(l, id, e) : NULL;
}

const struct run_info *site_run(struct site *s, const struct query *q,
                                const char *key, struct err *e)
{
    const char *id = query_get(q, key);

    if (!id) {
        err_usage(e, "the URL has no %s", key);
        return NULL;
    }
    return site_run_of(s, q, id, e);
}

/* Can its name be taken for something else? */
static bool is_plain_name(const struct live *l, const struct run_info *r)
{
    size_t same = 0;

    if (strpbrk(r->name, "=<> \n") || strchr("@-", r->name[0]))
        return false;
    for (size_t i = 0; i < l->runs.n; i++)
        same += strcmp(l->runs.run[i].name, r->name) == 0;
    return same == 1;
}

void site_run_word(struct buf *b, const struct live *l,
                   const struct run_info *r)
{
    buf_shell_option(b, "", is_plain_name(l, r) ? r->name : r->id);
}

void site_root_option(struct buf *b, const struct live *l)
{
    if (strcmp(l->path, "mlruns") != 0)
        buf_shell_option(b, "-r", l->path);
}

void site_write_command(struct emit *o, const struct live *l, struct buf *words)
{
    site_root_option(words, l);
    emit_text(o, "command", words->s);
    buf_clear(words);
}

/* A stream that begins with the version, so that a page that was away for a
 * while learns that it has missed something. */
int answer_events(struct site *s, struct query *q, struct answer *a,
                  struct err *e)
{
    struct emit *const o = &a->out;
    int at;

    if (query_number(q, "store", (int)s->n_stores - 1, 0, &at, e) < 0)
        return -1;
    a->stream = at + 1;
    a->type = "text/event-stream";
    buf_str(&a->body, "retry: 1000\nevent: runs\ndata: ");
    emit_object(o, NULL);
    emit_int(o, "version", s->store[at].version);
    emit_array(o, "runs");
    emit_array_end(o);
    emit_object_end(o);
    buf_str(&a->body, "\n\n");
    return 0;
}

static void write_panels(struct emit *o, const char *root)
{
    json_auto_t *all = saved_panels_load(root, ERR_IGNORED);
    AUTO_FREE char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;

    if (text)
        emit_raw(o, "panels", text);
}

int answer_stores(struct site *s, struct query *q UNUSED, struct answer *a,
                  struct err *e UNUSED)
{
    struct emit *const o = &a->out;

    emit_array(o, "stores");
    for (size_t i = 0; i < s->n_stores; i++) {
        emit_object(o, NULL);
        emit_int(o, "id", (int64_t)i);
        emit_text(o, "path", s->store[i].path);
        write_panels(o, s->store[i].path);
        emit_text(o, "problem",
                  s->store[i].problem.kind ? s->store[i].problem.text : NULL);
        emit_object_end(o);
    }
    emit_array_end(o);
    emit_text(o, "version", PACKAGE_VERSION);
    emit_bool(o, "edit", s->edit);
    return 0;
}

void site_write_table(struct emit *o, const char *key, struct table *t,
                      bool empty)
{
    AUTO_FREE bool *used = xcalloc(t->n_columns, sizeof *used);
    AUTO_FREE int *places = table_decimals(t);
    AUTO(buf_clear) struct buf text = BUF_INIT;

    for (size_t i = 0; i < t->n_cells; i++)
        used[i % t->n_columns] |= empty || t->cell[i].type != TABLE_NONE;
    emit_array(o, key);
    emit_array(o, NULL);
    for (size_t j = 0; j < t->n_columns; j++)
        if (used[j])
            emit_text(o, NULL, t->column[j]);
    emit_array_end(o);
    for (size_t i = 0; i < table_rows(t); i++) {
        emit_array(o, NULL);
        for (size_t j = 0; j < t->n_columns; j++) {
            buf_trim(&text, 0);
            table_cell_text(&text, table_cell(t, i, j), places[j]);
            if (used[j])
                emit_text(o, NULL, text.s);
        }
        emit_array_end(o);
    }
    emit_array_end(o);
}

void site_write_cell(struct emit *o, const struct table_cell *c, int decimals)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;
    const double value = column_cell_number(c);

    table_cell_text(&text, c, decimals);
    emit_object(o, NULL);
    emit_text(o, "text", c->type == TABLE_NONE ? "" : text.s);
    if (isfinite(value))
        emit_real(o, "value", value);
    if (c->type == TABLE_TIME)
        emit_bool(o, "time", true);
    if (c->mark == MARK_BEST)
        emit_bool(o, "best", true);
    emit_object_end(o);
}

/* The runs of the filter in the order of the store, without whole sweeps. */
static int filter_store(struct runs *runs, const struct live *l,
                        const struct query *q, struct err *e)
{
    struct track_selection s = TRACK_SELECTION_INIT;

    s.where = query_get(q, "filter");
    *runs = site_all_runs(l, false);
    if (track_narrow(runs, l->path, &s, 0, NULL, e) < 0)
        return -1;
    differ_drop_sweeps(runs, NULL, 0);
    return 0;
}

/* Of too many runs, the first ones in the order of the table. */
static int keep_first(struct chosen *c, const struct live *l,
                      const struct query *q, int first, struct err *e)
{
    struct track_selection s = TRACK_SELECTION_INIT;

    if (c->runs.n <= (size_t)first)
        return 0;
    s.sort = query_get(q, "sort");
    s.sort = s.sort ? s.sort : CHOSEN_SORT;
    s.limit = first;
    return track_narrow(&c->runs, l->path, &s, 0, NULL, e);
}

int chosen_open(struct chosen *c, struct site *s, struct query *q,
                struct err *e)
{
    const struct live *l = site_store(s, q, e);
    int first;

    *c = (struct chosen){ .live = l };
    if (!l || query_number(q, "first", 100000, 0, &first, e) < 0)
        return -1;
    if (!first || query_get(q, "runs")) {
        if (site_runs(s, q, "runs", &c->runs, e) < 0)
            return -1;
        c->matched = c->runs.n;
        return 0;
    }
    if (filter_store(&c->runs, l, q, e) < 0)
        goto failed;
    c->matched = c->runs.n;
    if (keep_first(c, l, q, first, e) < 0)
        goto failed;
    c->filter = query_get(q, "filter");
    if (!c->filter)
        c->filter = "*";
    if (c->matched > c->runs.n)
        c->filter = NULL;
    return 0;

failed:
    chosen_close(c);
    return -1;
}

void chosen_words(struct buf *b, const struct chosen *c)
{
    buf_shell_option(b, "", c->filter);
    for (size_t i = 0; i < c->runs.n && !c->filter; i++)
        site_run_word(b, c->live, &c->runs.run[i]);
}

void chosen_close(struct chosen *c)
{
    free(c->runs.run);
    *c = (struct chosen){ 0 };
}
