#include "config.h"
#include "data/corpus/source/download.h"

#include <stdio.h>
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
    AUTO(path_close) const int fd = path_open(call->url, PATH_FOLLOW_LINKS, e);
    AUTO_FREE char *buf = xmalloc(1 << 18);
    struct stat st;
    ssize_t got;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0)
        reply->size = st.st_size;
    while ((got = read(fd, buf, 1 << 18)) > 0 && !sig_caught())
        if (!call->sink(call->arg, buf, (size_t)got))
            break;
    if (got < 0)
        return err_sys(e, "cannot read %s", call->url);
    if (sig_caught())
        return err_set(e, ERR_INTERRUPTED, "%s: interrupted", call->url);
    return 0;
}

/* Only this host gets the token, and only encrypted. */
static bool may_have_token(const char *url)
{
    AUTO_FREE char *host = http_host(url);

    return host && strcmp(host, "huggingface.co") == 0 &&
           strncmp(url, "https://", 8) == 0;
}

/* The URL of a file that hf:// names, which the caller frees; or NULL. */
static char *hub_url(const char *name, struct err *e)
{
    const char *hub = getenv("HF_ENDPOINT");
    const char *set = name + strlen("hf://"), *path;
    int len = 0, end = 0;
    size_t host;

    (void)sscanf(set, "datasets/%*[^/@]/%*[^/@]%n@%*[^/]%n", &len, &end);
    path = set + (end > 0 ? end : len);
    if (len == 0 || path[0] != '/' || path[1] == '\0') {
        err_usage(e, "%s: expected hf://datasets/OWNER/NAME[@REVISION]/PATH",
                  name);
        return NULL;
    }
    hub = hub && *hub ? hub : "https://huggingface.co";
    for (host = strlen(hub); host > 0 && hub[host - 1] == '/';)
        host--;
    return xasprintf("%.*s/%.*s/resolve/%.*s%s", (int)host, hub, len, set,
                     end > 0 ? end - len - 1 : 4,
                     end > 0 ? set + len + 1 : "main", path);
}

int download_call(struct http *http, const struct http_call *call,
                  struct http_reply *reply, struct err *e)
{
    struct http_call real = *call;
    AUTO_FREE char *url = NULL;
    struct err why = { 0 };

    if (!download_is_url(call->url))
        return read_local(call, reply, e);
    if (strncmp(call->url, "hf://", 5) == 0) {
        real.url = url = hub_url(call->url, e);
        if (!url)
            return -1;
    }
    real.bearer = may_have_token(real.url) ? getenv("HF_TOKEN") : NULL;
    if (http_do(http, &real, reply, &why) == 0)
        return 0;
    *e = why;
    if (reply->no_host)
        err_set(e, ERR_REMOTE,
                "%s; without a network, fetch on another machine, such as a "
                "login node, or use --mirror FOLDER",
                why.text);
    return -1;
}
