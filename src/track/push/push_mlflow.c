#include "config.h"
#include "track/push/mlflow.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/protobuf.h"
#include "common/table.h"
#include "common/utf8.h"
#include "store/md5.h"
#include "track/runs/file_tree.h"
#include "track/runs/track.h"

/* What one log-batch takes. */
enum {
    METRICS_MAX = 1000,
    PAIRS_MAX = 100,
    BODY_MAX = 900 * 1000,
};

/* ---- the experiment and the run ---- */

static int find_experiment(struct mlflow *p, const char *name, json_t **reply,
                           struct err *e)
{
    struct buf path = BUF_INIT;
    int ret;

    buf_str(&path, "experiments/get-by-name?experiment_name=");
    http_escape(&path, name);
    ret = mlflow_call(p, "GET", path.s, NULL, reply, e);
    buf_clear(&path);
    return ret;
}

static int open_experiment(struct mlflow *p, struct err *e)
{
    const char *name = p->conf->project   ? p->conf->project
                       : p->login.project ? p->login.project
                                          : p->run->experiment;
    json_t *reply = NULL, *x, *made = NULL;
    const char *stage;
    int ret = find_experiment(p, name, &reply, e);

    if (ret < 0 && e->kind == ERR_MISSING) {
        *e = (struct err)ERR_INIT;
        ret = mlflow_post(p, "experiments/create",
                          json_pack("{s:s}", "name", name), &made, e);
        json_decref(made);
        if (ret < 0 && e->sys == EEXIST) {
            *e = (struct err)ERR_INIT; /* another push was first */
            ret = 0;
        }
        if (ret == 0)
            ret = find_experiment(p, name, &reply, e);
    }
    if (ret < 0)
        return -1;
    x = json_object_get(reply, "experiment");
    stage = json_string_value(json_object_get(x, "lifecycle_stage"));
    if (json_string_value(json_object_get(x, "experiment_id")))
        p->experiment =
            xstrdup(json_string_value(json_object_get(x, "experiment_id")));
    else
        ret = err_set(e, ERR_REMOTE, "the server names no experiment");
    if (ret == 0 && stage && strcmp(stage, "deleted") == 0) {
        json_t *restored = NULL;

        ret = mlflow_post(p, "experiments/restore",
                          json_pack("{s:s}", "experiment_id", p->experiment),
                          &restored, e);
        json_decref(restored);
    }
    json_decref(reply);
    return ret;
}

static void take_run(struct mlflow *p, json_t *run)
{
    json_t *info = json_object_get(run, "info");
    const char *id = json_string_value(json_object_get(info, "run_id"));
    const char *uri = json_string_value(json_object_get(info, "artifact_uri"));

    free(p->id);
    free(p->artifacts);
    p->id = id ? xstrdup(id) : NULL;
    p->artifacts = uri ? xstrdup(uri) : NULL;
}

/* The run that an earlier push made, by the cursor, or by our tag. */
static int find_run(struct mlflow *p, struct err *e)
{
    const char *known = json_string_value(json_object_get(p->cursor, "run_id"));
    json_t *reply = NULL;
    char *text;
    int ret;

    if (known) {
        char *path = xasprintf("runs/get?run_id=%s", known);

        ret = mlflow_call(p, "GET", path, NULL, &reply, e);
        free(path);
        if (ret == 0) {
            take_run(p, json_object_get(reply, "run"));
            json_decref(reply);
            return 0;
        }
        if (e->kind != ERR_MISSING)
            return -1;
        log_warn("%s was pushed to %s, and is not there any more; it is "
                 "pushed anew",
                 p->run->name, p->login.url);
        *e = (struct err)ERR_INIT;
        json_object_clear(p->cursor);
    }
    if (p->conf->new_run)
        return 0;
    text = xasprintf("tags.`gtrack.run_id` = '%s'", p->run->id);
    ret =
        mlflow_post(p, "runs/search",
                    json_pack("{s:[s], s:s, s:i}", "experiment_ids",
                              p->experiment, "filter", text, "max_results", 1),
                    &reply, e);
    free(text);
    if (ret == 0 && json_array_size(json_object_get(reply, "runs"))) {
        take_run(p, json_array_get(json_object_get(reply, "runs"), 0));
        p->unsure = true;
    }
    json_decref(reply);
    return ret;
}

static int make_run(struct mlflow *p, struct err *e)
{
    char *name = mlflow_text(p->run->name), *user = mlflow_text(p->run->user);
    json_t *reply = NULL;
    json_t *request = json_pack(
        "{s:s, s:s, s:s, s:I, s:[{s:s, s:s}, {s:s, s:s}]}", "experiment_id",
        p->experiment, "user_id", user, "run_name", name, "start_time",
        (json_int_t)p->run->start_ms, "tags", "key", "gtrack.run_id", "value",
        p->run->id, "key", "mlflow.runName", "value", name);
    int ret = mlflow_post(p, "runs/create", request, &reply, e);

    if (ret == 0) {
        take_run(p, json_object_get(reply, "run"));
        if (!p->id)
            ret = err_set(e, ERR_REMOTE, "the server made no run");
    }
    json_decref(reply);
    free(name);
    free(user);
    return ret;
}

/* A run that was made, although no reply came, is found by its tag. */
static int open_run(struct mlflow *p, struct err *e)
{
    for (int n = 1;; n++) {
        *e = (struct err)ERR_INIT;
        if (find_run(p, e) < 0)
            return -1;
        if (p->id || make_run(p, e) == 0)
            return 0;
        if (e->sys != EAGAIN || n == p->conf->tries || p->conf->new_run ||
            !push_again(p->conf, n, e))
            return -1;
    }
}

static int save_cursor(struct mlflow *p, struct err *e)
{
    json_object_set_new(p->cursor, "run_id", json_string(p->id));
    return cursor_save(p->run, p->destination, p->cursor, e);
}

/* ---- parameters and tags ---- */

static int send_pairs(struct mlflow *p, const char *kind,
                      const struct pair *pair, size_t n, struct err *e)
{
    struct buf all = BUF_INIT;
    char hash[33];
    const char *was = json_string_value(json_object_get(p->cursor, kind));
    int ret = 0;

    for (size_t i = 0; i < n; i++)
        buf_printf(&all, "%s=%s\n", pair[i].key, pair[i].value);
    md5_hex(all.s, all.len, hash);
    buf_clear(&all);
    if (was && strcmp(was, hash) == 0)
        return 0;
    for (size_t i = 0; i < n && ret == 0; i += PAIRS_MAX) {
        json_t *list = json_array(), *reply = NULL;

        for (size_t k = i; k < n && k < i + PAIRS_MAX; k++) {
            char *value = mlflow_text(pair[k].value);

            json_array_append_new(list, json_pack("{s:s, s:s}", "key",
                                                  pair[k].key, "value", value));
            free(value);
        }
        ret = mlflow_post(p, "runs/log-batch",
                          json_pack("{s:s, s:o}", "run_id", p->id, kind, list),
                          &reply, e);
        json_decref(reply);
    }
    if (ret == 0)
        json_object_set_new(p->cursor, kind, json_string(hash));
    return ret;
}

/* ---- metrics ---- */

struct batch {
    struct buf body;
    size_t n;
    json_t *marks; /* where metrics stand once it is sent */
};

static int send_batch(struct mlflow *p, struct batch *b, struct err *e)
{
    json_t *reply = NULL, *metrics = json_object_get(p->cursor, "metrics");
    int ret = 0;

    if (b->n) {
        buf_str(&b->body, "]}");
        ret = mlflow_call(p, "POST", "runs/log-batch", b->body.s, &reply, e);
        json_decref(reply);
    }
    if (ret == 0) {
        p->sum->points += (int64_t)b->n;
        p->sum->bytes += (int64_t)b->body.len;
        json_object_update(metrics, b->marks);
        json_object_clear(b->marks);
        if (b->n)
            ret = save_cursor(p, e);
    }
    buf_trim(&b->body, 0);
    b->n = 0;
    return ret;
}

static int put_point(struct mlflow *p, struct batch *b, const char *key,
                     int64_t step, int64_t ms, double value, struct err *e)
{
    if (b->n == METRICS_MAX || b->body.len > BODY_MAX)
        if (send_batch(p, b, e) < 0)
            return -1;
    if (b->n == 0)
        buf_printf(&b->body, "{\"run_id\":\"%s\",\"metrics\":[", p->id);
    buf_str(&b->body, b->n ? ",{\"key\":" : "{\"key\":");
    table_json_text(&b->body, key);
    buf_str(&b->body, ",\"value\":");
    table_json_real(&b->body, value); /* "NaN" and "Infinity" as it wants */
    buf_printf(&b->body, ",\"timestamp\":%" PRId64 ",\"step\":%" PRId64 "}",
               ms < 0 ? 0 : ms, step);
    b->n++;
    return 0;
}

/* A sum over the first n points: are they those that were sent? */
static uint32_t sum_of(const struct series *s, size_t n)
{
    uint32_t sum = crc32c(s->step, n * sizeof *s->step);

    sum ^= crc32c(s->ms, n * sizeof *s->ms) * 3;
    return sum ^ crc32c(s->value, n * sizeof *s->value) * 5;
}

static int send_series(struct mlflow *p, struct batch *b, const char *key,
                       const struct series *s, struct err *e)
{
    json_t *mark = json_object_get(json_object_get(p->cursor, "metrics"), key);
    size_t from = (size_t)json_integer_value(json_object_get(mark, "points"));
    const int64_t sum = json_integer_value(json_object_get(mark, "sum"));
    struct mlflow_points known = { NULL, 0, 0 };
    bool look = p->unsure;
    int ret = 0;

    if (from > s->n || (from && sum != (int64_t)sum_of(s, from))) {
        from = 0; /* a rewind: some are new, and the server tells which */
        look = true;
    }
    if (from < s->n && look)
        ret = mlflow_history(p, key, &known, e);
    for (size_t i = from; i < s->n && ret == 0; i++) {
        const struct mlflow_point k =
            mlflow_kept(s->step[i], s->ms[i], s->value[i]);

        if (known.n &&
            bsearch(&k, known.item, known.n, sizeof k, mlflow_by_point))
            continue;
        ret = put_point(p, b, key, s->step[i], s->ms[i], s->value[i], e);
    }
    if (ret == 0)
        json_object_set_new(b->marks, key,
                            json_pack("{s:I, s:I}", "points", (json_int_t)s->n,
                                      "sum", (json_int_t)sum_of(s, s->n)));
    free(known.item);
    return ret;
}

static int send_metrics(struct mlflow *p, struct err *e)
{
    struct batch b = { BUF_INIT, 0, json_object() };
    int ret = 0;

    if (!json_object_get(p->cursor, "metrics"))
        json_object_set_new(p->cursor, "metrics", json_object());
    for (size_t j = 0; j < p->run->n_metrics && ret == 0; j++) {
        struct series s;

        ret = series_load(&s, p->run, p->run->metrics[j].key, 0, e);
        if (ret < 0)
            break;
        ret = send_series(p, &b, p->run->metrics[j].key, &s, e);
        series_free(&s);
    }
    if (ret == 0)
        ret = send_batch(p, &b, e);
    json_decref(b.marks);
    buf_clear(&b.body);
    return ret;
}

/* A value of the wrong kind makes the server drop the rest of a request and
 * answer 200; so look whether everything is there. */
static int verify(struct mlflow *p, struct err *e)
{
    char *path = xasprintf("runs/get?run_id=%s", p->id);
    json_t *reply = NULL, *list;
    size_t there;
    int ret = mlflow_call(p, "GET", path, NULL, &reply, e);

    free(path);
    if (ret < 0)
        return -1;
    list = json_object_get(
        json_object_get(json_object_get(reply, "run"), "data"), "metrics");
    there = json_array_size(list);
    json_decref(reply);
    if (there < p->run->n_metrics)
        return err_set(e, ERR_REMOTE,
                       "the server has %zu metrics of %zu: it "
                       "dropped something; push again",
                       there, p->run->n_metrics);
    return 0;
}

/* ---- artifacts ---- */

/* Where that ends in failure, refused tells whether by this file's fault. */
static int bulk_artifact(struct mlflow *p, const char *path, const char *name,
                         bool *refused, struct err *e)
{
    const char *prefix = p->artifacts + strlen("mlflow-artifacts:");
    struct http_reply r = HTTP_REPLY_INIT;
    struct http_call c = { .method = "PUT",
                           .user = p->login.user,
                           .password = p->login.password,
                           .bearer = p->login.user ? NULL : p->login.token,
                           .secs = -1 };
    struct buf url = BUF_INIT;
    struct stat st;
    char *whole;
    int ret;

    if (strncmp(prefix, "//", 2) == 0) { /* it may name a host */
        prefix += 2;
        prefix += strcspn(prefix, "/");
    }
    prefix += strspn(prefix, "/");
    whole = xasprintf("%s/%s", prefix, name);
    buf_printf(&url, "%s/api/2.0/mlflow-artifacts/artifacts", p->login.url);
    for (const char *at = whole; *at;) {
        const size_t n = strcspn(at, "/");
        char *part = xstrndup(at, n);

        buf_char(&url, '/');
        http_escape(&url, part);
        free(part);
        at += n + (at[n] == '/');
    }
    free(whole);
    c.url = url.s;
    c.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (c.fd < 0 || fstat(c.fd, &st) < 0) {
        ret = err_sys(e, "cannot read %s", path);
    } else {
        c.len = (size_t)st.st_size;
        ret = http_do(p->http, &c, &r, e);
        p->sum->bytes += (int64_t)c.len;
    }
    if (c.fd >= 0)
        close(c.fd);
    *refused = r.status == 400 || r.status == 413 || r.status == 422;
    http_reply_clear(&r);
    buf_clear(&url);
    return ret;
}

static int send_artifacts(struct mlflow *p, struct err *e)
{
    json_t *sent = json_object_get(p->cursor, "files");
    struct file_tree f;
    int ret = 0;

    if (p->conf->no_files || file_tree_list(&f, p->run->artifacts, e) < 0)
        return p->conf->no_files ? 0 : -1;
    if (!sent) {
        sent = json_object();
        json_object_set_new(p->cursor, "files", sent);
    }
    for (size_t i = 0; i < f.n && ret == 0; i++) {
        const struct file_tree_file *x = &f.file[i];
        const char *was = json_string_value(json_object_get(sent, x->path));
        bool refused = false;
        char *path, now[64];

        if ((!p->conf->artifacts && push_is_checkpoint(x->path, x->size)) ||
            json_object_get(p->refused, x->path))
            continue;
        snprintf(now, sizeof now, "%" PRId64 " %" PRId64, x->size, x->mtime_ms);
        if (was && strcmp(was, now) == 0)
            continue;
        if (!p->artifacts ||
            strncmp(p->artifacts, "mlflow-artifacts:", 17) != 0) {
            ret = err_set(e, ERR_REMOTE,
                          "the server keeps artifacts at %s "
                          "and takes none itself; push with --no-files",
                          p->artifacts ? p->artifacts : "(nowhere)");
            break;
        }
        path = path_join(p->run->artifacts, x->path);
        ret = bulk_artifact(p, path, x->path, &refused, e);
        free(path);
        if (refused) { /* the others need not suffer for it */
            log_warn("%s", e->text);
            json_object_set_new(p->refused, x->path, json_true());
            *e = (struct err)ERR_INIT;
            ret = 0;
        } else if (ret == 0) {
            json_object_set_new(sent, x->path, json_string(now));
            p->sum->files++;
        }
    }
    file_tree_clear(&f);
    return ret;
}

/* ---- the whole ---- */

static const char *status_there(enum run_status s)
{
    return s == RUN_PREEMPTED ? "KILLED"
           : s == RUN_STALE   ? "FAILED"
                              : run_status_word(s);
}

static int update(struct mlflow *p, struct err *e)
{
    const char *status = status_there(p->run->status);
    char *state =
        xasprintf("%s %" PRId64 " %s", status, p->run->end_ms, p->run->name);
    const char *was = json_string_value(json_object_get(p->cursor, "state"));
    char *name = mlflow_text(p->run->name);
    json_t *request, *reply = NULL;
    int ret = 0;

    if (!was || strcmp(was, state) != 0) {
        request = json_pack("{s:s, s:s, s:s}", "run_id", p->id, "status",
                            status, "run_name", name);
        if (p->run->end_ms)
            json_object_set_new(request, "end_time",
                                json_integer(p->run->end_ms));
        ret = mlflow_post(p, "runs/update", request, &reply, e);
        json_decref(reply);
        if (ret == 0)
            json_object_set_new(p->cursor, "state", json_string(state));
    }
    free(name);
    free(state);
    return ret;
}

static int send_data(struct mlflow *p, struct err *e)
{
    return send_pairs(p, "params", p->run->params, p->run->n_params, e) < 0 ||
                   send_pairs(p, "tags", p->run->tags, p->run->n_tags, e) < 0 ||
                   send_metrics(p, e) < 0
               ? -1
               : 0;
}

static int send_all(struct mlflow *p, struct err *e)
{
    int ret;

    p->unsure = p->unsure || json_is_true(json_object_get(p->cursor, "open"));
    json_object_set_new(p->cursor, "open", json_true());
    ret = save_cursor(p, e);
    if (ret == 0)
        ret = send_data(p, e);
    for (int n = 1; ret < 0 && e->sys == EAGAIN && n < p->conf->tries; n++) {
        if (!push_again(p->conf, n, e))
            break;
        *e = (struct err)ERR_INIT;
        p->unsure = true; /* so what is there is asked for */
        ret = send_data(p, e);
    }
    if (ret == 0)
        ret = send_artifacts(p, e);
    if (ret == 0)
        ret = update(p, e);
    if (ret == 0)
        ret = verify(p, e);
    if (ret == 0) {
        json_object_del(p->cursor, "open");
        p->unsure = false;
    }
    if (ret == 0)
        ret = save_cursor(p, e);
    return ret;
}

static int follow(struct mlflow *p, struct err *e)
{
    while (p->run->status == RUN_RUNNING) {
        if (!push_pause(p->conf->every))
            return err_set(e, ERR_INTERRUPTED, "stopped by a signal");
        if (push_reload(&p->runs, p->run->id, e) < 0)
            return -1;
        p->run = &p->runs.run[0];
        if (send_all(p, e) < 0)
            return -1;
    }
    return 0;
}

/* A push that could not send all of a run is a failure, at its end. */
static int tell_refused(const struct mlflow *p, struct err *e)
{
    const size_t n = json_object_size(p->refused);

    if (n == 0)
        return 0;
    return err_set(e, ERR_REMOTE,
                   "the server does not take %zu of the artifacts, as %s; "
                   "all else of the run is there",
                   n, json_object_iter_key(json_object_iter(p->refused)));
}

static void dry_run(const struct mlflow *p)
{
    json_t *metrics = json_object_get(p->cursor, "metrics");
    int64_t points = 0, sent = 0;
    struct file_tree f = FILE_TREE_INIT;
    struct err none = ERR_INIT;

    for (size_t j = 0; j < p->run->n_metrics; j++) {
        const struct metric_sum *m = &p->run->metrics[j];

        points += m->count;
        sent += json_integer_value(
            json_object_get(json_object_get(metrics, m->key), "points"));
    }
    file_tree_list(&f, p->run->artifacts, &none);
    printf("%s: would send to %s, experiment %s: %zu parameters, %zu tags, "
           "%" PRId64 " points (%" PRId64 " were sent), %zu files\n",
           p->run->name, p->login.url,
           p->conf->project ? p->conf->project : p->run->experiment,
           p->run->n_params, p->run->n_tags, points, sent,
           p->conf->no_files ? 0 : f.n);
    file_tree_clear(&f);
}

int push_mlflow(const struct push_conf *c, const struct run_info *r,
                struct push_totals *sum, struct err *e)
{
    struct mlflow p = { .conf = c, .run = r, .sum = sum, .runs = RUNS_INIT };
    int ret = -1;

    if (login_mlflow(&p.login, c->url, e) < 0)
        return -1;
    p.refused = json_object();
    p.destination = xasprintf("mlflow %s %s", p.login.url,
                              c->project ? c->project : r->experiment);
    p.cursor = cursor_load(r, p.destination);
    if (c->new_run)
        json_object_clear(p.cursor);
    if (c->dry) {
        dry_run(&p);
        ret = 0;
        goto out;
    }
    p.http = push_open(c, &p.login, e);
    if (!p.http || open_experiment(&p, e) < 0 || open_run(&p, e) < 0)
        goto out;
    ret = send_all(&p, e);
    if (ret == 0 && c->follow)
        ret = follow(&p, e);
    if (ret == 0)
        ret = tell_refused(&p, e);
    if (ret == 0)
        printf("%s\t%s/#/experiments/%s/runs/%s\n", r->name, p.login.url,
               p.experiment, p.id);

out:
    http_close(p.http);
    login_clear(&p.login);
    json_decref(p.cursor);
    json_decref(p.refused);
    free(p.destination);
    free(p.experiment);
    free(p.id);
    free(p.artifacts);
    runs_free(&p.runs);
    return ret;
}
