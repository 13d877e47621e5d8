#include "config.h"
#include "track/push/mlflow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/utf8.h"

enum { PAGE = 25000 }; /* points, the most a server gives at once */

/* One call of the API; the reply is released by the caller.  A name that is
 * not there is ERR_MISSING. */
int mlflow_call(struct mlflow *p, const char *method, const char *path,
                const char *body, json_t **reply, struct err *e)
{
    char *url = xasprintf("%s/api/2.0/mlflow/%s", p->login.url, path);
    /* doing these twice would add what they add twice */
    const bool once =
        strcmp(path, "runs/create") == 0 || strcmp(path, "runs/log-batch") == 0;
    const struct push_request q = { method, url, body, once };
    struct http_reply r = HTTP_REPLY_INIT;
    int ret = push_call(p->http, &p->login, &q, &r, reply, e);
    const char *message = json_string_value(json_object_get(*reply, "message"));
    const char *code = json_string_value(json_object_get(*reply, "error_code"));
    const int sys = e->sys;

    if (ret < 0 && e->kind == ERR_REMOTE && message) {
        err_set(e, ERR_REMOTE, "%s (%s)", message, path);
        e->sys = sys;
    }
    if (ret < 0 && code && strcmp(code, "RESOURCE_DOES_NOT_EXIST") == 0)
        e->kind = ERR_MISSING;
    if (ret < 0 && code && strcmp(code, "RESOURCE_ALREADY_EXISTS") == 0)
        e->sys = EEXIST;
    if (ret == 0 && !*reply)
        ret = err_set(e, ERR_REMOTE,
                      "%s: the reply is no JSON: is an MLflow "
                      "server there?",
                      url);
    if (ret < 0) {
        json_decref(*reply);
        *reply = NULL;
    }
    http_reply_clear(&r);
    free(url);
    return ret;
}

int mlflow_post(struct mlflow *p, const char *path, json_t *request,
                json_t **reply, struct err *e)
{
    char *body = json_dumps(request, JSON_COMPACT);
    const int ret = mlflow_call(p, "POST", path, body, reply, e);

    free(body);
    json_decref(request);
    return ret;
}

char *mlflow_text(const char *s)
{
    struct buf b = BUF_INIT;

    utf8_clean(&b, s, strlen(s));
    return b.len ? buf_detach(&b) : xstrdup("");
}

int mlflow_by_point(const void *a, const void *b)
{
    const struct mlflow_point *x = a, *y = b;

    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->ms != y->ms)
        return x->ms < y->ms ? -1 : 1;
    if (isnan(x->value) || isnan(y->value))
        return isnan(x->value) - isnan(y->value);
    return (x->value > y->value) - (x->value < y->value);
}

struct mlflow_point mlflow_kept(int64_t step, int64_t ms, double value)
{
    if (isinf(value))
        value = value < 0 ? -1.7976931348623157e308 : 1.7976931348623157e308;
    return (struct mlflow_point){ step, ms < 0 ? 0 : ms, value + 0.0 };
}

/* All points of a metric that the server has, sorted. */
int mlflow_history(struct mlflow *p, const char *key, struct mlflow_points *k,
                   struct err *e)
{
    char *token = NULL;
    int ret = 0;

    do {
        struct buf path = BUF_INIT;
        json_t *reply = NULL, *list, *m;
        const char *next;
        size_t i;

        buf_printf(&path,
                   "metrics/get-history?run_id=%s&max_results=%d"
                   "&metric_key=",
                   p->id, PAGE);
        http_escape(&path, key);
        if (token) {
            buf_str(&path, "&page_token=");
            http_escape(&path, token);
        }
        ret = mlflow_call(p, "GET", path.s, NULL, &reply, e);
        buf_clear(&path);
        free(token);
        token = NULL;
        if (ret < 0)
            break;
        list = json_object_get(reply, "metrics");
        json_array_foreach(list, i, m)
        {
            json_t *value = json_object_get(m, "value");
            double x = json_number_value(value);

            if (json_is_string(value))
                num_real(json_string_value(value), &x);
            GROW(k->item, k->n, k->room);
            k->item[k->n++] = mlflow_kept(
                json_integer_value(json_object_get(m, "step")),
                json_integer_value(json_object_get(m, "timestamp")), x);
        }
        next = json_string_value(json_object_get(reply, "next_page_token"));
        if (next && *next)
            token = xstrdup(next);
        json_decref(reply);
    } while (token);
    if (k->n)
        qsort(k->item, k->n, sizeof *k->item, mlflow_by_point);
    return ret;
}
