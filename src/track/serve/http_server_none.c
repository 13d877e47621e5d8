/*
 * http_server_none - a build without libmicrohttpd serves nothing
 */
#include "config.h"
#include "track/serve/http_server.h"

struct http_server *http_server_open(int fd, const struct guard *guard,
                                     http_answer_fn *answer, void *arg,
                                     struct err *e)
{
    (void)fd;
    (void)guard;
    (void)answer;
    (void)arg;
    err_set(e, ERR_USAGE,
            "this gtrack was built without libmicrohttpd, which serve needs "
            "(Debian: libmicrohttpd-dev)");
    return NULL;
}

int http_server_fd(const struct http_server *h)
{
    (void)h;
    return -1;
}

double http_server_wait(const struct http_server *h, double most)
{
    (void)h;
    return most;
}

void http_server_run(struct http_server *h)
{
    (void)h;
}

void http_server_send(struct http_server *h, int store, const char *text)
{
    (void)h;
    (void)store;
    (void)text;
}

size_t http_server_streams(const struct http_server *h)
{
    (void)h;
    return 0;
}

void http_server_close(struct http_server *h)
{
    (void)h;
}
