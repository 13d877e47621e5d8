/*
 * wandb_upload - send files to the URLs that a server of W&B names
 */
#include "config.h"
#include "track/push/wandb.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"

int wandb_map(const struct wandb_file *f, void **data, int64_t *size,
              struct err *e)
{
    const int fd = path_open_inside(f->path, f->inside, e);
    struct stat st = { 0 };
    int ret = 0;

    *data = NULL;
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0)
        ret = err_sys(e, "cannot read %s", f->path);
    else if (st.st_size)
        *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (*data == MAP_FAILED)
        ret = err_sys(e, "cannot read %s", f->path);
    *size = (int64_t)st.st_size;
    close(fd);
    return ret;
}

void wandb_unmap(void *data, int64_t size)
{
    if (data)
        munmap(data, (size_t)size);
}

/* The headers that the server asks for, "Name:value" each. */
static const char **headers_of(json_t *list, struct arena *mem)
{
    const size_t n = json_array_size(list);
    const char **out = arena_alloc(mem, (n + 2) * sizeof *out);
    size_t kept = 0;

    /* keep libcurl from adding a type */
    out[kept++] = "Content-Type:";
    for (size_t i = 0; i < n; i++) {
        const char *s = json_string_value(json_array_get(list, i));
        const char *colon = s ? strchr(s, ':') : NULL;

        if (!colon || strpbrk(s, "\r\n"))
            continue;
        colon++;
        out[kept++] = arena_printf(mem, "%.*s %s", (int)(colon - s), s,
                                   colon + strspn(colon, " "));
    }
    return out;
}

/* A URL with the bytes escaped that no URL may have; the caller frees it. */
static char *escape_url(const char *url)
{
    struct buf b = BUF_INIT;

    for (; *url; url++) {
        if (*url > ' ' && *url < 0x7f)
            buf_char(&b, *url);
        else
            buf_printf(&b, "%%%02X", (unsigned char)*url);
    }
    return buf_detach(&b);
}

static int put_file(struct wandb *w, const struct wandb_file *f,
                    const char *url, const char **headers, struct http_reply *r,
                    struct err *e)
{
    char *where = escape_url(url);
    struct http_call call = { .url = where, .header = headers };
    int ret;

    if (f->path) {
        ret = push_put_file(w->http, &call, f->path, f->inside, r, e);
    } else {
        call.body = f->text;
        call.len = strlen(f->text);
        ret = push_put(w->http, &call, r, e);
    }
    free(where);
    return ret;
}

int wandb_upload(struct wandb *w, const struct wandb_file *f, const char *url,
                 json_t *headers, struct err *e)
{
    struct arena mem = { 0 };
    struct http_reply r = HTTP_REPLY_INIT;
    const int ret = put_file(w, f, url, headers_of(headers, &mem), &r, e);

    http_reply_clear(&r);
    arena_clear(&mem);
    return ret;
}

/* Ask for the URLs of the files that are not sent, and send them.  A URL that
 * has expired (403) is not reported unless this is the last try. */
static int try_upload(struct wandb *w, struct wandb_file *f, size_t n,
                      bool last_try, struct err *e)
{
    static const char query[] =
        "mutation CreateRunFiles($entity:String!,$project:String!,"
        "$run:String!,$files:[String!]!){createRunFiles(input:{"
        "entityName:$entity,projectName:$project,runName:$run,files:$files})"
        "{runID uploadHeaders files{name uploadUrl}}}";
    struct arena mem = { 0 };
    json_t *names = json_array(), *data, *created, *list;
    const char **headers;
    int ret = 0;

    for (size_t i = 0; i < n; i++)
        if (!f[i].sent)
            json_array_append_new(names, json_string(f[i].name));
    if (wandb_graphql(w, "CreateRunFiles", query,
                      json_pack("{s:s, s:s, s:s, s:o}", "entity", w->entity,
                                "project", w->project, "run", w->run, "files",
                                names),
                      &data, e) < 0)
        return -1;
    created = json_object_get(data, "createRunFiles");
    headers = headers_of(json_object_get(created, "uploadHeaders"), &mem);
    list = json_object_get(created, "files");
    for (size_t k = 0; ret == 0 && k < json_array_size(list); k++) {
        const char *name = push_get(json_array_get(list, k), "name");
        const char *url = push_get(json_array_get(list, k), "uploadUrl");
        size_t i = 0;
        struct http_reply r = HTTP_REPLY_INIT;

        while (name && i < n && strcmp(f[i].name, name) != 0)
            i++;
        if (!name || i == n || f[i].sent)
            continue;
        if (!url) {
            f[i].sent = true; /* the server does not need it */
            continue;
        }
        if (put_file(w, &f[i], url, headers, &r, e) == 0) {
            f[i].sent = true;
        } else if (e->kind == ERR_INTERRUPTED) {
            ret = -1;
        } else if (last_try || r.status != 403) {
            log_warn("cannot send %s: %s", name, e->text);
        }
        http_reply_clear(&r);
    }
    json_decref(data);
    arena_clear(&mem);
    return ret;
}

int wandb_upload_files(struct wandb *w, struct wandb_file *f, size_t n,
                       struct err *e)
{
    size_t left = n;

    for (int try = 0; try < 2 && left; try++) {
        if (try_upload(w, f, n, try == 1, e) < 0)
            return -1;
        left = 0;
        for (size_t i = 0; i < n; i++)
            left += !f[i].sent;
    }
    return left ? err_set(e, ERR_REMOTE, "the server refused %zu of %zu files",
                          left, n)
                : 0;
}
