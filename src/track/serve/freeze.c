/*
 * freeze - the page with its data, in one file that needs no server
 */
#include "config.h"
#include "track/serve/serve.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/output/emit.h"
#include "common/save.h"
#include "store/query/differ.h"
#include "track/serve/site.h"

/* -- answers --------------------------------------------------------------- */

struct freeze {
    struct site site;
    struct buf requests; /* members of a JSON object */
    struct emit out;
    char *ids;     /* of the runs, with commas */
    char *query;   /* that names them */
    size_t n_runs; /* how many */
};

/* Append a value for a URL, with the escapes that a browser uses. */
static void add_value(struct buf *b, const char *value)
{
    const size_t from = b->len;

    percent_add(b, value, " *-._/,");
    for (char *s = b->s + from; (s = strchr(s, ' '));)
        *s = '+';
}

/* Ask for a path with a query, and add the answer under the key by which the
 * page will ask; `more` is not part of the key. */
static int add_answer(struct freeze *f, const char *path, const char *query,
                      const char *more, struct err *e)
{
    AUTO(answer_clear) struct answer a = ANSWER_INIT;
    AUTO_FREE char *asked = xasprintf("%s%s", query, more);
    AUTO_FREE char *key = xasprintf("%s?%s", path, query);
    int ret = 0;

    site_answer(&f->site, false, path, asked, NULL, &a);
    if (a.status && a.status != 200)
        ret = err_set(e, a.status < 500 ? ERR_MISSING : ERR_SYSTEM, "%s?%s: %s",
                      path, asked, a.body.s);
    else
        emit_raw(&f->out, key, a.body.s);
    return ret;
}

/* Add an answer that is left out if there is none: some runs have no log, and
 * some pairs of parameters have no map. */
static int add_optional(struct freeze *f, const char *path, const char *query,
                        const char *more, struct err *e)
{
    if (add_answer(f, path, query, more, e) == 0)
        return 0;
    if (e->kind != ERR_MISSING)
        return -1;
    *e = (struct err){ 0 };
    return 0;
}

/* -- figures --------------------------------------------------------------- */

/* What the page is told of the runs; the caller releases it. */
static json_t *ask(struct freeze *f, const char *path)
{
    AUTO(answer_clear) struct answer a = ANSWER_INIT;

    site_answer(&f->site, false, path, f->query, NULL, &a);
    return json_loads(a.body.s, 0, NULL);
}

/* The charts of the runs, as the page lists them. */
static json_t *list_charts(struct freeze *f)
{
    json_t *kinds = ask(f, "/api/kinds"), *charts = json_array();
    json_t *group, *chart;
    size_t i, k;

    json_array_foreach(json_object_get(kinds, "groups"), i, group)
        json_array_foreach(json_object_get(group, "charts"), k, chart)
            json_array_append(charts, chart);
    json_decref(kinds);
    return charts;
}

/* Besides the steps; figures over them are added if those have enough
 * detail. */
static const char *const other_axes[] = { "tokens", "time" };

/* The width of figures in pixels, so that all of them take few bytes. */
static int width_of(const struct freeze *f, size_t charts)
{
    enum { BYTES = 2300000, TICKS = 14000, LEAST = 50, MOST = 1600 };
    const double points = 3, bytes = 16; /* in a column, of a point */
    const double room = fmax(BYTES - TICKS * (double)charts, 0);
    const double width =
        room / (points * bytes * (double)(f->n_runs * charts + 1));

    return width < LEAST ? LEAST : width > MOST ? MOST : (int)width;
}

/* The figure of a chart along the steps, and along other axes, which some runs
 * do not have. */
static int add_figure(struct freeze *f, const json_t *chart, size_t axes,
                      const char *more, struct err *e)
{
    const char *kind = json_string_value(json_object_get(chart, "kind"));
    const char *metric = json_string_value(json_object_get(chart, "metric"));
    AUTO(buf_clear) struct buf query = BUF_INIT;
    size_t n;
    int ret;

    buf_str(&query, kind ? "kind=" : "metric=");
    add_value(&query, kind ? kind : metric);
    buf_printf(&query, "&%s", f->query);
    n = query.len;
    ret = add_answer(f, "/api/figure", query.s, more, e);
    for (size_t i = 1; i < axes && ret == 0; i++) {
        buf_trim(&query, n);
        buf_printf(&query, "&x=%s", other_axes[i - 1]);
        ret = add_optional(f, "/api/figure", query.s, more, e);
    }
    return ret;
}

static int add_figures(struct freeze *f, struct err *e)
{
    enum { ENOUGH = 150, ALL = 1 + sizeof other_axes / sizeof other_axes[0] };
    json_t *charts = list_charts(f), *chart;
    const size_t n = json_array_size(charts);
    const size_t axes = width_of(f, ALL * n) >= ENOUGH ? ALL : 1;
    AUTO_FREE char *more =
        xasprintf("&columns=%d&digits=7", width_of(f, axes * n));
    int ret = 0;
    size_t i;

    json_array_foreach(charts, i, chart)
    {
        if (ret == 0)
            ret = add_figure(f, chart, axes, more, e);
    }
    json_decref(charts);
    return ret;
}

/* -- sweeps ---------------------------------------------------------------- */

enum { SWEEP_NAMES = 3 }; /* of parameters, and of metrics */

/* The first names of a list of rows of the comparison; those of parameters, if
 * they differ. */
static size_t list_names(const json_t *rows, bool differing,
                         const char *name[SWEEP_NAMES])
{
    size_t i, n = 0;
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        if (n < SWEEP_NAMES &&
            (!differing || json_is_true(json_object_get(row, "differs"))))
            name[n++] = json_string_value(json_object_get(row, "name"));
    }
    return n;
}

/* The sweep over one parameter, or the map over two; down: NULL for one. */
static int add_sweep(struct freeze *f, const char *metric, const char *across,
                     const char *down, struct err *e)
{
    AUTO(buf_clear) struct buf query = BUF_INIT;

    buf_str(&query, "metric=");
    add_value(&query, metric);
    buf_str(&query, "&param=");
    add_value(&query, across);
    if (down) {
        buf_char(&query, ',');
        add_value(&query, down);
    }
    buf_printf(&query, "&%s", f->query);
    return add_optional(f, "/api/figure", query.s, "", e);
}

/* The sweeps over each of the first parameters in which the runs differ, and
 * over each two of them. */
static int add_sweeps(struct freeze *f, struct err *e)
{
    const char *param[SWEEP_NAMES], *metric[SWEEP_NAMES];
    json_auto_t *all = ask(f, "/api/compare");
    const size_t params =
        list_names(json_object_get(all, "params"), true, param);
    const size_t metrics =
        list_names(json_object_get(all, "metrics"), false, metric);
    int ret = 0;

    for (size_t m = 0; m < metrics; m++)
        for (size_t x = 0; x < params; x++)
            for (size_t y = 0; y < params && ret == 0; y++)
                ret = add_sweep(f, metric[m], param[x],
                                x == y ? NULL : param[y], e);
    return ret;
}

/* -- runs ------------------------------------------------------------------ */

static int add_run(struct freeze *f, const char *id, struct err *e)
{
    AUTO_FREE char *query = xasprintf("id=%s&store=0", id);

    return add_answer(f, "/api/run", query, "", e) < 0
               ? -1
               : add_optional(f, "/api/log", query, "&tail=8192", e);
}

/* The differences between each two of a few runs. */
static int add_diffs(struct freeze *f, const struct runs *runs, struct err *e)
{
    enum { FEW = 8 };
    int ret = 0;

    for (size_t i = 0; i < runs->n && runs->n <= FEW; i++) {
        for (size_t k = 0; k < runs->n && ret == 0; k++) {
            AUTO_FREE char *query = xasprintf("a=%s&b=%s&store=0",
                                              runs->run[i].id, runs->run[k].id);

            if (i != k)
                ret = add_answer(f, "/api/diff", query, "", e);
        }
    }
    return ret;
}

/* {"requests": {URL: answer, ...}} */
static int add_answers(struct freeze *f, const struct runs *runs, struct err *e)
{
    AUTO_FREE char *only = xasprintf("&only=%s", f->ids);
    int ret = -1;

    emit_object(&f->out, NULL);
    emit_object(&f->out, "requests");
    if (add_answer(f, "/api/stores", "", "", e) == 0 &&
        add_answer(f, "/api/runs", f->query, only, e) == 0 &&
        add_answer(f, "/api/kinds", f->query, "", e) == 0 &&
        add_answer(f, "/api/media", f->query, "", e) == 0 &&
        add_answer(f, "/api/compare", f->query, "", e) == 0 &&
        add_answer(f, "/api/summary", f->query, "", e) == 0)
        ret = add_figures(f, e);
    if (ret == 0)
        ret = add_sweeps(f, e);
    for (size_t i = 0; i < runs->n && ret == 0; i++)
        ret = add_run(f, runs->run[i].id, e);
    if (ret == 0)
        ret = add_diffs(f, runs, e);
    emit_object_end(&f->out);
    emit_object_end(&f->out);
    return ret;
}

/* -- the file -------------------------------------------------------------- */

/* JSON inside HTML: a "<" could end the element. */
static void add_json(struct buf *b, const char *json)
{
    for (const char *s = json; *s;) {
        const size_t n = strcspn(s, "<");

        buf_add(b, s, n);
        s += n;
        if (*s) {
            buf_str(b, "\\u003c");
            s++;
        }
    }
}

/* The page with these lines replaced.  The data and the script come last, when
 * the elements are there. */
static int add_page(struct buf *b, const char *requests, struct err *e)
{
    static const struct {
        const char *line, *before, *file, *after;
        bool data;
    } parts[] = {
        { "<link rel=\"stylesheet\" href=\"page/style.css\">",
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
          "'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
          "img-src data: blob:\">\n<style>\n",
          "style.css", "</style>", false },
        { "<script type=\"module\" src=\"page/main.js\"></script>", "", NULL,
          "", false },
        { "</body>", "<script type=\"module\">\n", "main.js",
          "</script>\n</body>", true },
    };
    const char *rest = (const char *)page_file_find("index.html")->data;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *at = strstr(rest, parts[i].line);

        if (!at)
            return err_set(e, ERR_SYSTEM, "the page lacks the line %s",
                           parts[i].line);
        buf_add(b, rest, (size_t)(at - rest));
        if (parts[i].data) {
            buf_str(b, "<script type=\"application/json\" id=\"frozen\">");
            add_json(b, requests);
            buf_str(b, "</script>\n");
        }
        buf_str(b, parts[i].before);
        if (parts[i].file) {
            const struct page_file *f = page_file_find(parts[i].file);

            buf_add(b, f->data, f->size);
        }
        buf_str(b, parts[i].after);
        rest = at + strlen(parts[i].line);
    }
    buf_str(b, rest);
    return 0;
}

static char *list_ids(const struct runs *runs)
{
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < runs->n; i++)
        buf_printf(&b, "%s%s", i ? "," : "", runs->run[i].id);
    return buf_detach(&b);
}

/* A page must not show as damaged what could not be read for a moment. */
static int check_runs(const struct runs *runs, struct err *e)
{
    if (runs->unread.kind) {
        *e = runs->unread;
        return -1;
    }
    for (size_t i = 0; i < runs->n; i++)
        if (runs->run[i].unread)
            return err_set(e, ERR_SYSTEM, "run %s: %s", runs->run[i].name,
                           runs->run[i].damage);
    return 0;
}

static int freeze_runs(const char *path, const char *store, int flags,
                       const struct runs *runs, struct err *e)
{
    struct live live;
    struct freeze f = {
        .site = { .store = &live, .n_stores = 1, .frozen = true },
        .requests = BUF_INIT,
        .ids = list_ids(runs),
        .n_runs = runs->n
    };
    AUTO(buf_clear) struct buf page = BUF_INIT;
    int ret = -1;

    f.query = xasprintf("runs=%s&store=0", f.ids);
    f.out.b = &f.requests;
    live_open(&live, store, flags);
    live_read(&live);
    if (check_runs(&live.runs, e) == 0 && add_answers(&f, runs, e) == 0 &&
        add_page(&page, f.requests.s, e) == 0)
        ret = save_bytes(path, page.s, page.len, e);
    site_clear(&f.site);
    buf_clear(&f.requests);
    FREE(f.query, f.ids);
    return ret;
}

int freeze_write(const char *path, const char *store, const char *sweep,
                 int flags, int n, char **words, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    int ret = n ? runs_select(&runs, store, words, n, flags, e)
                : runs_load(&runs, store, flags, e);

    if (ret == 0 && sweep)
        ret = runs_keep_sweep(&runs, store, sweep, flags, e);
    differ_drop_sweeps(&runs, words, n);
    if (ret == 0 && runs.n == 0)
        ret = err_set(e, ERR_MISSING, "there are no runs in %s", store);
    if (ret == 0)
        ret = freeze_runs(path, store, flags, &runs, e);
    return ret;
}
