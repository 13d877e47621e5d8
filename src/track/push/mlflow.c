#include "config.h"
#include "track/push/mlflow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "track/runs/file_tree.h"

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

/* ---- artifacts --------------------------------------------------------- */

static const char scheme[] = "mlflow-artifacts:";

/* The URL of an artifact; the caller frees it. */
static char *artifact_url(const struct mlflow *p, const char *name)
{
    const char *prefix = p->artifact_uri + strlen(scheme);
    struct buf url = BUF_INIT;
    char *path;

    if (strncmp(prefix, "//", 2) == 0) { /* it may name a host */
        prefix += 2;
        prefix += strcspn(prefix, "/");
    }
    prefix += strspn(prefix, "/");
    path = xasprintf("%s/%s", prefix, name);
    buf_printf(&url, "%s/api/2.0/mlflow-artifacts/artifacts", p->login.url);
    for (const char *at = path; *at;) {
        const size_t n = strcspn(at, "/");
        char *part = xstrndup(at, n);

        buf_char(&url, '/');
        http_escape(&url, part);
        free(part);
        at += n + (at[n] == '/');
    }
    free(path);
    return buf_detach(&url);
}

/* *refused says whether the server does not accept this file. */
static int send_file(struct mlflow *p, const char *path, const char *name,
                     bool *refused, struct err *e)
{
    struct http_reply r = HTTP_REPLY_INIT;
    char *url = artifact_url(p, name);
    struct http_call c = { .url = url,
                           .user = p->login.user,
                           .password = p->login.password,
                           .bearer = p->login.user ? NULL : p->login.token };
    const int ret =
        push_put_file(p->http, &c, path, run_info_inside(p->run), &r, e);

    p->totals->bytes += (int64_t)c.len;
    *refused = r.status == 400 || r.status == 413 || r.status == 422;
    http_reply_clear(&r);
    free(url);
    return ret;
}

static int send_if_new(struct mlflow *p, const struct file_tree_file *f,
                       struct err *e)
{
    json_t *sent = push_cursor_object(p->cursor, "files");
    bool refused = false;
    char *path, now[64];
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
    path = path_join(p->run->artifacts, f->path);
    ret = send_file(p, path, f->path, &refused, e);
    free(path);
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
    struct file_tree f;
    int ret = 0;

    if (p->conf->no_files)
        return 0;
    if (file_tree_list(&f, p->run->artifacts, run_info_inside(p->run), e) < 0)
        return -1;
    for (size_t i = 0; i < f.n && ret == 0; i++)
        ret = send_if_new(p, &f.file[i], e);
    file_tree_clear(&f);
    return ret;
}
