#include "config.h"
#include "track/push/mlflow.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/format/protobuf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "store/format/metric.h"
#include "track/runs/file_tree.h"

static int call(struct mlflow *p, const char *path, const char *body, bool once,
                json_t **reply, struct err *e)
{
    AUTO_FREE char *url = xasprintf("%s/api/2.0/mlflow/%s", p->login.url, path);
    const struct push_request q = { body ? "POST" : "GET", url, body, once };
    AUTO(http_reply_clear) struct http_reply r = HTTP_REPLY_INIT;
    int ret = push_call(p->http, &p->login, &q, &r, reply, e);
    const char *message = push_get(*reply, "message");
    const int sys = e->sys;

    if (ret < 0 && e->kind == ERR_REMOTE && message) {
        err_set(e, ERR_REMOTE, "%s (%s)", message, path);
        e->sys = sys;
    }
    if (ret < 0 && push_is(*reply, "error_code", "RESOURCE_DOES_NOT_EXIST"))
        e->kind = ERR_MISSING;
    if (ret < 0 && push_is(*reply, "error_code", "RESOURCE_ALREADY_EXISTS"))
        e->sys = EEXIST;
    if (ret == 0 && !*reply)
        ret = err_set(e, ERR_REMOTE,
                      "%s: the reply is not JSON; is this an MLflow server?",
                      url);
    if (ret < 0) {
        json_decref(*reply);
        *reply = NULL;
    }
    return ret;
}

int mlflow_get(struct mlflow *p, const char *path, const char *value,
               json_t **reply, struct err *e)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    buf_str(&b, path);
    percent_add(&b, value, PERCENT_PART);
    return call(p, b.s, NULL, false, reply, e);
}

int mlflow_post(struct mlflow *p, const char *path, json_t *request,
                json_t **reply, struct err *e)
{
    AUTO_FREE char *body =
        json_dumps(request, JSON_COMPACT | JSON_REAL_PRECISION(17));
    /* repeating these would create a run or log points twice */
    const bool once =
        strcmp(path, "runs/create") == 0 || json_object_get(request, "metrics");
    json_auto_t *ignored = NULL;
    const int ret = call(p, path, body, once, reply ? reply : &ignored, e);

    if (ret == 0)
        p->totals->bytes += (int64_t)strlen(body);
    json_decref(request);
    return ret;
}

int mlflow_save_cursor(struct mlflow *p, struct err *e)
{
    json_object_set_new(p->cursor, "run_id", json_string(p->id));
    return push_cursor_save(p->run, p->destination, p->cursor, e);
}

/* ---- artifacts --------------------------------------------------------- */

static const char scheme[] = "mlflow-artifacts:";

/* The URL of an artifact; the caller frees it. */
static char *artifact_url(const struct mlflow *p, const char *name)
{
    const char *prefix = p->artifact_uri + strlen(scheme);
    struct buf url = BUF_INIT;
    AUTO_FREE char *path = NULL;

    if (strncmp(prefix, "//", 2) == 0) { /* it may name a host */
        prefix += 2;
        prefix += strcspn(prefix, "/");
    }
    prefix += strspn(prefix, "/");
    path = xasprintf("%s/%s", prefix, name);
    buf_printf(&url, "%s/api/2.0/mlflow-artifacts/artifacts", p->login.url);
    buf_char(&url, '/');
    percent_add(&url, path, PERCENT_PART "/");
    return buf_detach(&url);
}

/* *refused says whether the server does not accept this file. */
static int send_file(struct mlflow *p, const char *path, const char *name,
                     bool *refused, struct err *e)
{
    AUTO(http_reply_clear) struct http_reply r = HTTP_REPLY_INIT;
    AUTO_FREE char *url = artifact_url(p, name);
    struct http_call c = { .url = url,
                           .user = p->login.user,
                           .password = p->login.password,
                           .bearer = p->login.user ? NULL : p->login.token };
    const int ret =
        push_put_file(p->http, &c, path, run_info_inside(p->run), &r, e);

    p->totals->bytes += (int64_t)c.len;
    *refused = r.status == 400 || r.status == 413 || r.status == 422 ||
               (ret < 0 && e->kind == ERR_INPUT);
    return ret;
}

static int send_if_new(struct mlflow *p, const struct file_tree_file *f,
                       struct err *e)
{
    json_t *sent = push_cursor_object(p->cursor, "files");
    bool refused = false;
    char now[64];
    int ret;

    if (f->outside ||
        (!p->conf->checkpoints && push_is_checkpoint(f->path, f->size)) ||
        json_object_get(p->refused, f->path))
        return 0;
    snprintf(now, sizeof now, "%" PRId64 " %" PRId64, f->size, f->mtime_ms);
    if (push_is(sent, f->path, now))
        return 0;
    if (!p->artifact_uri ||
        strncmp(p->artifact_uri, scheme, strlen(scheme)) != 0)
        return err_set(e, ERR_REMOTE,
                       "the server keeps artifacts at %s and does not accept "
                       "them itself; use --no-files",
                       p->artifact_uri ? p->artifact_uri : "(nowhere)");
    ret = send_file(p, f->whole, f->path, &refused, e);
    if (refused) {
        log_warn("%s", e->text);
        json_object_set_new(p->refused, f->path, json_true());
        *e = (struct err){ 0 };
        return 0;
    }
    if (ret == 0) {
        json_object_set_new(sent, f->path, json_string(now));
        p->totals->files++;
    }
    return ret;
}

int mlflow_send_artifacts(struct mlflow *p, struct err *e)
{
    AUTO(file_tree_clear) struct file_tree f = { 0 };
    int ret = 0;

    if (p->conf->no_files)
        return 0;
    if (file_tree_list(&f, p->run->artifacts, run_info_inside(p->run), e) < 0)
        return -1;
    for (size_t i = 0; i < f.n && ret == 0; i++)
        ret = send_if_new(p, &f.file[i], e);
    return ret;
}

/* ---- metrics ----------------------------------------------------------- */

/* Limits of the server: points in a reply, points and bytes in a log-batch. */
enum { MAX_HISTORY = 25000, MAX_POINTS = 1000, MAX_BODY = 900 * 1000 };

/* -- the points that the server has --------------------------------------- */

struct mlflow_points {
    struct metric_point *item;
    size_t n, room;
};

static int by_point(const void *a, const void *b)
{
    const struct metric_point *x = a, *y = b;

    return ORDER(x->step, y->step) ?: ORDER(x->ms, y->ms) ?:
           ORDER(isnan(x->value), isnan(y->value)) ?: ORDER(x->value, y->value);
}

/* A point as a server with a database returns it: it has no infinities, and
 * only one zero. */
static struct metric_point as_stored(int64_t step, int64_t ms, double value)
{
    if (isinf(value))
        value = value < 0 ? -1.7976931348623157e308 : 1.7976931348623157e308;
    return (struct metric_point){ ms < 0 ? 0 : ms, step, value + 0.0 };
}

static struct metric_point point_of(json_t *json)
{
    json_t *value = json_object_get(json, "value");
    double x = json_number_value(value);

    if (json_is_string(value))
        num_real(json_string_value(value), &x);
    return as_stored(json_integer_value(json_object_get(json, "step")),
                     json_integer_value(json_object_get(json, "timestamp")), x);
}

/* Append one page of a metric's points; *token is what the next page is asked
 * for with, NULL at the end. */
static int load_page(struct mlflow *p, const char *key, char **token,
                     struct mlflow_points *all, struct err *e)
{
    AUTO(buf_clear) struct buf path = BUF_INIT;
    json_t *reply = NULL, *point;
    const char *next;
    size_t i;
    int ret;

    buf_printf(&path, "metrics/get-history?run_id=%s&max_results=%d", p->id,
               MAX_HISTORY);
    if (*token) {
        buf_str(&path, "&page_token=");
        percent_add(&path, *token, PERCENT_PART);
    }
    buf_str(&path, "&metric_key=");
    ret = mlflow_get(p, path.s, key, &reply, e);
    json_array_foreach(json_object_get(reply, "metrics"), i, point)
    {
        APPEND(all->item, all->n, all->room) = point_of(point);
    }
    next = push_get(reply, "next_page_token");
    if (ret == 0 && next && *token && strcmp(next, *token) == 0)
        ret = err_set(e, ERR_REMOTE,
                      "the MLflow server sends the same page of %s again", key);
    free(*token);
    *token = next && *next ? xstrdup(next) : NULL;
    json_decref(reply);
    return ret;
}

/* All points of a metric, sorted. */
static int load_points(struct mlflow *p, const char *key,
                       struct mlflow_points *all, struct err *e)
{
    AUTO_FREE char *token = NULL;
    int ret;

    do
        ret = load_page(p, key, &token, all, e);
    while (ret == 0 && token);
    SORT(all->item, all->n, by_point);
    return ret;
}

static bool has_point(const struct mlflow_points *all, struct metric_point x)
{
    return all->n && bsearch(&x, all->item, all->n, sizeof x, by_point);
}

/* -- sending --------------------------------------------------------------- */

struct point_batch {
    json_t *points;
    size_t bytes;  /* about how long the request will be */
    json_t *marks; /* of the cursor, once the batch is sent */
};

/* After a failure: take the points that have arrived out of the batch. */
static int drop_arrived(struct mlflow *p, struct point_batch *b, struct err *e)
{
    struct mlflow_points known = { NULL, 0, 0 };
    json_t *left = json_array(), *point;
    const char *last = "";
    size_t i;
    int ret = 0;

    json_array_foreach(b->points, i, point)
    {
        const char *key = push_get(point, "key");

        if (strcmp(key, last) != 0) {
            known.n = 0;
            ret = load_points(p, key, &known, e);
            last = key;
        }
        if (ret < 0)
            break;
        if (has_point(&known, point_of(point)))
            p->totals->points++;
        else
            json_array_append(left, point);
    }
    json_decref(b->points);
    b->points = left;
    free(known.item);
    return ret;
}

/* Send the points of a batch.  As the server may have taken them although it
 * failed to say so, a retry sends only those that it does not have. */
static int send_points(struct mlflow *p, struct point_batch *b, struct err *e)
{
    for (int n = 1; json_array_size(b->points); n++) {
        if (mlflow_post(
                p, "runs/log-batch",
                json_pack("{s:s, s:O}", "run_id", p->id, "metrics", b->points),
                NULL, e) == 0) {
            p->totals->points += (int64_t)json_array_size(b->points);
            return 0;
        }
        if (e->sys != EAGAIN || n == p->conf->tries ||
            !push_again(p->conf, n, e))
            return -1;
        *e = (struct err){ 0 };
        if (drop_arrived(p, b, e) < 0)
            return -1;
    }
    return 0;
}

static int send_batch(struct mlflow *p, struct point_batch *b, struct err *e)
{
    const bool any = json_array_size(b->points) > 0;
    int ret = send_points(p, b, e);

    if (ret == 0) {
        json_object_update(push_cursor_object(p->cursor, "metrics"), b->marks);
        json_object_clear(b->marks);
        if (any)
            ret = mlflow_save_cursor(p, e);
    }
    json_array_clear(b->points);
    b->bytes = 0;
    return ret;
}

static json_t *json_of_real(double x)
{
    return isnan(x)   ? json_string("NaN")
           : isinf(x) ? json_string(x < 0 ? "-Infinity" : "Infinity")
                      : json_real(x);
}

static int add_point(struct mlflow *p, struct point_batch *b, const char *key,
                     const struct series *s, size_t i, struct err *e)
{
    enum { POINT_BYTES = 90 };

    if ((json_array_size(b->points) == MAX_POINTS || b->bytes > MAX_BODY) &&
        send_batch(p, b, e) < 0)
        return -1;
    json_array_append_new(
        b->points, json_pack("{s:o, s:o, s:I, s:I}", "key", push_text(key),
                             "value", json_of_real(s->value[i]), "timestamp",
                             (json_int_t)(s->ms[i] < 0 ? 0 : s->ms[i]), "step",
                             (json_int_t)s->step[i]));
    b->bytes += strlen(key) + POINT_BYTES;
    return 0;
}

static uint32_t checksum(const struct series *s, size_t n)
{
    uint32_t sum = crc32c(s->step, n * sizeof *s->step);

    sum ^= crc32c(s->ms, n * sizeof *s->ms) * 3;
    return sum ^ crc32c(s->value, n * sizeof *s->value) * 5;
}

static int send_series(struct mlflow *p, struct point_batch *b, const char *key,
                       const struct series *s, struct err *e)
{
    json_t *mark =
        json_object_get(push_cursor_object(p->cursor, "metrics"), key);
    size_t from = (size_t)json_integer_value(json_object_get(mark, "points"));
    const int64_t sum = json_integer_value(json_object_get(mark, "sum"));
    struct mlflow_points known = { NULL, 0, 0 };
    bool ask = p->unsure;
    int ret = 0;

    if (from > s->n || (from && sum != (int64_t)checksum(s, from))) {
        from = 0; /* the run was rewound; some points are new */
        ask = true;
    }
    if (from < s->n && ask)
        ret = load_points(p, key, &known, e);
    for (size_t i = from; i < s->n && ret == 0; i++) {
        if (!has_point(&known, as_stored(s->step[i], s->ms[i], s->value[i])))
            ret = add_point(p, b, key, s, i, e);
    }
    if (ret == 0)
        json_object_set_new(b->marks, key,
                            json_pack("{s:I, s:I}", "points", (json_int_t)s->n,
                                      "sum", (json_int_t)checksum(s, s->n)));
    free(known.item);
    return ret;
}

int mlflow_send_metrics(struct mlflow *p, struct err *e)
{
    struct point_batch b = { json_array(), 0, json_object() };
    int ret = 0;

    for (size_t j = 0; j < p->run->n_metrics && ret == 0; j++) {
        const char *key = p->run->metrics[j].key;
        AUTO(series_free) struct series s = { 0 };

        ret = series_load(&s, p->run, key, 0, e);
        if (ret < 0)
            break;
        ret = send_series(p, &b, key, &s, e);
    }
    if (ret == 0)
        ret = send_batch(p, &b, e);
    json_decref(b.points);
    json_decref(b.marks);
    return ret;
}
