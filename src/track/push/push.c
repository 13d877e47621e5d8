#include "config.h"
#include "track/push/push.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/output/pager.h"
#include "common/path.h"
#include "common/sig.h"
#include "common/utf8.h"
#include "store/format/store.h"
#include "track/runs/file_tree.h"
#include "track/runs/track.h"

static char *cursor_path(const struct run_info *r, const char *destination)
{
    char hex[33];

    md5_hex(destination, strlen(destination), hex);
    return xasprintf("%s/" STORE_OWN "/push.%s.json", r->folder, hex);
}

json_t *push_cursor_load(const struct run_info *r, const char *destination)
{
    enum { MOST = 64 << 20 };
    AUTO_FREE char *path = cursor_path(r, destination);
    AUTO(buf_clear) struct buf text = BUF_INIT;
    json_t *cursor = buf_read_unlinked(&text, path, MOST, ERR_IGNORED) == 0
                         ? json_loadb(text.s, text.len, 0, NULL)
                         : NULL;

    if (!json_is_object(cursor)) {
        json_decref(cursor);
        cursor = json_object();
    }
    json_object_set_new(cursor, "destination", json_string(destination));
    return cursor;
}

json_t *push_cursor_object(json_t *cursor, const char *name)
{
    if (!json_object_get(cursor, name))
        json_object_set_new(cursor, name, json_object());
    return json_object_get(cursor, name);
}

int push_cursor_save(const struct run_info *r, const char *destination,
                     json_t *cursor, struct err *e)
{
    AUTO_FREE char *path = cursor_path(r, destination);
    AUTO_FREE char *text = json_dumps(cursor, JSON_INDENT(1) | JSON_SORT_KEYS);

    return store_write_below(r->folder, path, NULL, text, strlen(text), true,
                             e);
}

struct http *push_open(const struct push_conf *c, const struct login *l,
                       struct err *e)
{
    const struct http_conf conf = {
        .agent = "gtrack/" PACKAGE_VERSION,
        .tries = c->tries,
        .wait = c->retry_wait,
        .wait_most = 300,
        .secs = 180,
        .ca = l->ca,
        .cert = l->cert,
        .insecure = l->insecure,
    };

    if ((l->password || l->token) && !c->plain_http &&
        login_is_exposed(l->url)) {
        err_usage(e,
                  "%s: a key or password is sent only by https; --plain-http "
                  "sends it unencrypted",
                  l->url);
        return NULL;
    }
    return http_open(&conf, e);
}

int push_call(struct http *h, const struct login *l,
              const struct push_request *q, struct http_reply *r,
              json_t **reply, struct err *e)
{
    AUTO_FREE char *workspace =
        l->workspace ? xasprintf("X-MLFLOW-WORKSPACE: %s", l->workspace) : NULL;
    const char *const json[] = { "Content-Type: application/json", workspace,
                                 NULL };
    const struct http_call call = {
        .method = q->method,
        .url = q->url,
        .once = q->once,
        .stay = true,
        .header = json,
        .user = l->user,
        .password = l->password,
        .bearer = l->user ? NULL : l->token,
        .body = q->body,
        .len = q->body ? strlen(q->body) : 0,
    };
    const int ret = http_do(h, &call, r, e);

    if (ret < 0 && q->once && e->kind == ERR_REMOTE &&
        (r->status / 100 != 4 || r->status == 408))
        e->sys = EAGAIN;
    if (reply) {
        *reply = json_loadb(r->body.s, r->body.len, 0, NULL);
        if (!json_is_object(*reply)) {
            json_decref(*reply);
            *reply = NULL;
        }
    }
    return ret;
}

int push_put(struct http *h, struct http_call *c, struct http_reply *r,
             struct err *e)
{
    c->method = "PUT";
    c->secs = -1;
    c->stay = true;
    if (http_do(h, c, r, e) < 0)
        return -1;
    return r->body.len && strcasestr(r->body.s, "<html")
               ? err_set(e, ERR_REMOTE, "%s replies with a web page", c->url)
               : 0;
}

int push_put_file(struct http *h, struct http_call *c, const char *path,
                  const char *inside, struct http_reply *r, struct err *e)
{
    struct stat st;
    int ret;

    c->fd = path_open_inside(path, inside, e);
    if (c->fd < 0) {
        ret = -1;
    } else if (fstat(c->fd, &st) < 0) {
        ret = err_sys(e, "cannot read %s", path);
    } else {
        c->len = (size_t)st.st_size;
        ret = push_put(h, c, r, e);
    }
    if (c->fd >= 0)
        close(c->fd);
    return ret;
}

void push_print(char end, const char *format, ...)
{
    AUTO(buf_clear) struct buf text = BUF_INIT, shown = BUF_INIT;
    va_list ap;

    va_start(ap, format);
    buf_vprintf(&text, format, ap);
    va_end(ap);
    utf8_visible(&shown, text.s);
    pager_print(ERR_IGNORED, "%s%c", shown.s, end);
}

const char *push_get(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

bool push_is(json_t *object, const char *key, const char *text)
{
    const char *s = push_get(object, key);

    return s && strcmp(s, text) == 0;
}

json_t *push_text(const char *s)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    if (!s)
        return json_null();
    utf8_clean(&b, s, strlen(s));
    return json_string(b.s);
}

json_t *push_value(const char *text)
{
    int64_t whole;
    double x;
    char *end;

    if (strcmp(text, "True") == 0 || strcmp(text, "true") == 0)
        return json_true();
    if (strcmp(text, "False") == 0 || strcmp(text, "false") == 0)
        return json_false();
    if (strcmp(text, "None") == 0 || strcmp(text, "null") == 0)
        return json_null();
    strtoll(text, &end, 10);
    if (*end == '\0' && num_int(text, &whole))
        return json_integer(whole);
    strtod(text, &end);
    if (*end == '\0' && num_real(text, &x))
        return isfinite(x) ? json_real(x) : json_null();
    if (*text == '[' || *text == '{') {
        json_t *value = json_loads(text, 0, NULL);

        if (value)
            return value;
    }
    return push_text(text);
}

void push_hash(json_t *value, char out[33])
{
    AUTO_FREE char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);

    md5_hex(text, strlen(text), out);
}

bool push_is_checkpoint(const char *path, int64_t size)
{
    static const char *const ends[] = { ".safetensors", ".pt",  ".bin", ".ckpt",
                                        ".gguf",        ".pth", ".npz" };

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (str_ends(path, ends[i]))
            return true;
    return strstr(path, "checkpoint") || size > (int64_t)64 << 20;
}

int push_count_left(const struct push_conf *c, const struct run_info *r,
                    struct push_totals *totals, struct err *e)
{
    AUTO(file_tree_clear) struct file_tree f = { 0 };
    int n = 0;

    if (c->no_files)
        return 0;
    if (file_tree_list(&f, r->artifacts, run_info_inside(r), e) < 0)
        return -1;
    for (size_t i = 0; i < f.n; i++) {
        if (f.file[i].outside) {
            totals->left_links++;
        } else if (!c->checkpoints &&
                   push_is_checkpoint(f.file[i].path, f.file[i].size)) {
            totals->left++;
            totals->left_bytes += f.file[i].size;
        } else {
            n++;
        }
    }
    return n;
}

bool push_pause(double secs)
{
    double left = secs;

    while (left > 0 && !sig_caught()) {
        const double slice = left < 0.2 ? left : 0.2;

        clock_pause(slice);
        left -= slice;
    }
    return !sig_caught();
}

int push_reload(const struct push_conf *c, struct runs *runs,
                const struct run_info **run, struct err *e)
{
    AUTO_FREE char *id = NULL;
    int ret;

    if (!push_pause(c->every))
        return err_set(e, ERR_INTERRUPTED, "stopped by a signal");
    id = xstrdup((*run)->id); /* the run may be one of these runs */
    runs_free(runs);
    ret = track_select_one(runs, id, LOAD_DELETED, e);
    *run = runs->run;
    return ret;
}

bool push_goes_on(const struct run_info *r, struct err *e)
{
    if (e->kind != ERR_REMOTE || r->status != RUN_RUNNING)
        return false;
    log_warn("%s: %s; the run goes on, and so does its push", r->name, e->text);
    *e = (struct err){ 0 };
    return true;
}

bool push_again(const struct push_conf *c, int n, const struct err *why)
{
    const double secs = fmin(c->retry_wait * ldexp(1, n - 1), 60);

    log_warn("%s; checking what the server has and trying again in %.1f s",
             why->text, secs);
    return push_pause(secs);
}
