/*
 * source_url - read a URL through a pipe
 */
#include "config.h"
#include "data/corpus/source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/mem.h"
#include "data/corpus/source/download.h"

struct source_url {
    struct download from;
    char *url;
    int fd;        /* where the thread writes */
    int64_t first; /* the first byte that it downloads */
    atomic_bool cancel;
    pthread_t thread;
    bool joined;
    struct err err; /* to be read after the thread is joined */
};

static void *download(void *arg)
{
    struct source_url *u = arg;
    bool closed;

    download_pipe(&u->from, u->url, u->first, u->fd, &closed, &u->err);
    close(u->fd);
    return NULL;
}

static int start(struct source_url *u, struct err *e)
{
    int fd[2], sys;

    if (pipe2(fd, O_CLOEXEC) < 0)
        return err_sys(e, "cannot create a pipe");
    fcntl(fd[1], F_SETPIPE_SZ, 1 << 20);
    u->fd = fd[1];
    sys = pthread_create(&u->thread, NULL, download, u);
    if (sys == 0)
        return fd[0];
    close(fd[0]);
    close(fd[1]);
    errno = sys;
    return err_sys(e, "cannot start a thread that downloads");
}

int source_url_open(struct source_url **out, const char *url,
                    const struct http_conf *conf, struct err *e)
{
    struct source_url *u = xcalloc(1, sizeof *u);
    struct http_conf http = conf ? *conf : (struct http_conf){ 0 };
    int fd;

    http.cancel = &u->cancel;
    http.name_tries = DOWNLOAD_NAME_TRIES;
    u->url = xstrdup(url);
    u->from.token = getenv("HF_TOKEN");
    u->from.http = http_open(&http, e);
    fd = u->from.http ? start(u, e) : -1;
    if (fd < 0) {
        u->joined = true;
        source_url_close(u);
        return -1;
    }
    *out = u;
    return fd;
}

static void join(struct source_url *u)
{
    if (!u->joined)
        pthread_join(u->thread, NULL);
    u->joined = true;
}

int source_url_again(struct source_url *u, int64_t from, struct err *e)
{
    int fd;

    atomic_store(&u->cancel, true);
    join(u);
    atomic_store(&u->cancel, false);
    u->err = (struct err){ 0 };
    u->first = from;
    fd = start(u, e);
    u->joined = fd < 0;
    return fd;
}

int source_url_end(struct source_url *u, struct err *e)
{
    join(u);
    if (u->err.kind == ERR_NONE)
        return 0;
    *e = u->err;
    return -1;
}

void source_url_close(struct source_url *u)
{
    if (!u)
        return;
    atomic_store(&u->cancel, true);
    join(u);
    http_close(u->from.http);
    FREE(u->url, u);
}
