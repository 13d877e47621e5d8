#include "config.h"
#include "data/corpus/source/download.h"

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

int download_call(struct http *http, struct http_call *call,
                  struct http_reply *reply, struct err *e)
{
    struct err why = { 0 };

    if (!download_is_url(call->url))
        return read_local(call, reply, e);
    call->bearer = may_have_token(call->url) ? getenv("HF_TOKEN") : NULL;
    if (http_do(http, call, reply, &why) == 0)
        return 0;
    *e = why;
    if (reply->no_host)
        err_set(e, ERR_REMOTE,
                "%s; without a network, fetch on another machine, such as a "
                "login node, or use --mirror FOLDER",
                why.text);
    return -1;
}
