/*
 * mlflow_metrics - the points of a run, to an MLflow server
 */
#include "config.h"
#include "track/push/mlflow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/format/protobuf.h"
#include "store/format/metric.h"

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

    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->ms != y->ms)
        return x->ms < y->ms ? -1 : 1;
    if (isnan(x->value) || isnan(y->value))
        return isnan(x->value) - isnan(y->value);
    return (x->value > y->value) - (x->value < y->value);
}

/* A point as a server with a database returns it: it has no infinities, and
 * only one zero. */
static struct metric_point as_stored(int64_t step, int64_t ms, double value)
{
    if (isinf(value))
        value = value < 0 ? -1.7976931348623157e308 : 1.7976931348623157e308;
    return (struct metric_point){ ms < 0 ? 0 : ms, step, value + 0.0 };
}

/* Append one page of a metric's points; *token is what the next page is asked
 * for with, NULL at the end. */
static int load_page(struct mlflow *p, const char *key, char **token,
                     struct mlflow_points *all, struct err *e)
{
    struct buf path = BUF_INIT;
    json_t *reply = NULL, *point;
    const char *next;
    size_t i;
    int ret;

    buf_printf(&path,
               "metrics/get-history?run_id=%s&max_results=%d&metric_key=",
               p->id, MAX_HISTORY);
    http_escape(&path, key);
    if (*token) {
        buf_str(&path, "&page_token=");
        http_escape(&path, *token);
    }
    ret = mlflow_call(p, "GET", path.s, NULL, &reply, e);
    json_array_foreach(json_object_get(reply, "metrics"), i, point)
    {
        json_t *value = json_object_get(point, "value");
        double x = json_number_value(value);

        if (json_is_string(value))
            num_real(json_string_value(value), &x);
        GROW(all->item, all->n, all->room);
        all->item[all->n++] = as_stored(
            json_integer_value(json_object_get(point, "step")),
            json_integer_value(json_object_get(point, "timestamp")), x);
    }
    next = push_get(reply, "next_page_token");
    if (ret == 0 && next && *token && strcmp(next, *token) == 0)
        ret = err_set(e, ERR_REMOTE,
                      "the MLflow server sends the same page of %s again", key);
    free(*token);
    *token = next && *next ? xstrdup(next) : NULL;
    json_decref(reply);
    buf_clear(&path);
    return ret;
}

/* All points of a metric, sorted. */
static int load_points(struct mlflow *p, const char *key,
                       struct mlflow_points *all, struct err *e)
{
    char *token = NULL;
    int ret;

    do
        ret = load_page(p, key, &token, all, e);
    while (ret == 0 && token);
    free(token);
    if (all->n)
        qsort(all->item, all->n, sizeof *all->item, by_point);
    return ret;
}

/* -- sending --------------------------------------------------------------- */

struct point_batch {
    json_t *points;
    size_t bytes;  /* about how long the request will be */
    json_t *marks; /* of the cursor, once the batch is sent */
};

static int send_batch(struct mlflow *p, struct point_batch *b, struct err *e)
{
    const size_t n = json_array_size(b->points);
    int ret = 0;

    if (n)
        ret = mlflow_post(
            p, "runs/log-batch",
            json_pack("{s:s, s:O}", "run_id", p->id, "metrics", b->points),
            NULL, e);
    if (ret == 0) {
        p->totals->points += (int64_t)n;
        json_object_update(push_cursor_object(p->cursor, "metrics"), b->marks);
        json_object_clear(b->marks);
        if (n)
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
        const struct metric_point k =
            as_stored(s->step[i], s->ms[i], s->value[i]);

        if (!known.n || !bsearch(&k, known.item, known.n, sizeof k, by_point))
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
        struct series s;

        ret = series_load(&s, p->run, key, 0, e);
        if (ret < 0)
            break;
        ret = send_series(p, &b, key, &s, e);
        series_free(&s);
    }
    if (ret == 0)
        ret = send_batch(p, &b, e);
    json_decref(b.points);
    json_decref(b.marks);
    return ret;
}
