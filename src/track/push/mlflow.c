#include "config.h"
#include "track/push/mlflow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

int mlflow_call(struct mlflow *p, const char *method, const char *path,
                const char *body, json_t **reply, struct err *e)
{
    char *url = xasprintf("%s/api/2.0/mlflow/%s", p->login.url, path);
    /* repeating these would create or log the same things twice */
    const bool once =
        strcmp(path, "runs/create") == 0 || strcmp(path, "runs/log-batch") == 0;
    const struct push_request q = { method, url, body, once };
    struct http_reply r = HTTP_REPLY_INIT;
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
    http_reply_clear(&r);
    free(url);
    return ret;
}

int mlflow_post(struct mlflow *p, const char *path, json_t *request,
                json_t **reply, struct err *e)
{
    char *body = json_dumps(request, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_t *ignored = NULL;
    const int ret =
        mlflow_call(p, "POST", path, body, reply ? reply : &ignored, e);

    if (ret == 0)
        p->totals->bytes += (int64_t)strlen(body);
    json_decref(ignored);
    free(body);
    json_decref(request);
    return ret;
}

int mlflow_save_cursor(struct mlflow *p, struct err *e)
{
    json_object_set_new(p->cursor, "run_id", json_string(p->id));
    return push_cursor_save(p->run, p->destination, p->cursor, e);
}
