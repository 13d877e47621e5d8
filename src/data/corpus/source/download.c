#include "config.h"
#include "data/corpus/source/download.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/sig.h"

bool download_is_url(const char *path)
{
    return strstr(path, "://") != NULL;
}

bool download_any(char *const *path, int n)
{
    for (int i = 0; i < n; i++)
        if (download_is_url(path[i]))
            return true;
    return false;
}

bool download_write(void *sink, const void *data, size_t n)
{
    struct download_sink *s = sink;
    const char *at = data;
    const char *end = at + n;

    while (at < end && !s->sys) {
        const ssize_t put = write(s->fd, at, (size_t)(end - at));

        if (put > 0)
            at += put;
        else if (errno != EINTR)
            s->sys = errno;
    }
    s->at += (int64_t)n;
    if (s->from->progress)
        s->from->progress(s->from->arg, s->at, s->reply->size);
    return !s->sys;
}

/* Read a file of a mirror that is a folder. */
static int read_local(const struct http_call *call, struct http_reply *reply,
                      struct err *e)
{
    const int fd = path_open(call->url, PATH_FOLLOW_LINKS, e);
    char *buf;
    struct stat st;
    ssize_t got;
    int ret = 0;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0)
        reply->size = st.st_size;
    buf = xmalloc(1 << 18);
    while ((got = read(fd, buf, 1 << 18)) > 0 && !sig_caught())
        if (!call->sink(call->arg, buf, (size_t)got))
            break;
    if (got < 0)
        ret = err_sys(e, "cannot read %s", call->url);
    else if (sig_caught())
        ret = err_set(e, ERR_INTERRUPTED, "%s: interrupted", call->url);
    close(fd);
    free(buf);
    return ret;
}

/* Only this host gets the token, and only encrypted. */
static bool may_have_token(const char *url)
{
    char *host = http_host(url);
    const bool may = host && strcmp(host, "huggingface.co") == 0 &&
                     strncmp(url, "https://", 8) == 0;

    free(host);
    return may;
}

int download_call(const struct download *d, struct http_call *call,
                  struct http_reply *reply, struct err *e)
{
    struct err why = { 0 };

    if (!download_is_url(call->url))
        return read_local(call, reply, e);
    call->bearer = may_have_token(call->url) ? d->token : NULL;
    if (http_do(d->http, call, reply, &why) == 0)
        return 0;
    *e = why;
    if (reply->no_host)
        err_set(e, ERR_REMOTE,
                "%s; without a network, fetch on another machine, such as a "
                "login node, or use --mirror FOLDER",
                why.text);
    return -1;
}

int download_pipe(const struct download *d, const char *url, int64_t from,
                  int fd, struct err *e)
{
    struct http_reply reply = HTTP_REPLY_INIT;
    struct download_sink to = {
        .from = d, .reply = &reply, .fd = fd, .at = from
    };
    struct http_call call = {
        .url = url, .from = from, .sink = download_write, .arg = &to
    };
    int ret = download_call(d, &call, &reply, e);

    http_reply_clear(&reply);
    if (ret == 0 && to.sys && to.sys != EPIPE) {
        errno = to.sys;
        ret = err_sys(e, "cannot write the data of %s", url);
    }
    return ret;
}
