#pragma once

#include <stdbool.h>

#include "track/serve/answer.h"
#include "track/serve/guard.h"

/*
 * http_server - HTTP on a socket, through libmicrohttpd
 *
 *      struct http_server *h = http_server_open(fd, &guard, answer, arg, e);
 *
 *      ... poll(2) until http_server_fd(h) is readable ...
 *      http_server_run(h);
 *      http_server_send(h, store, "event: runs\ndata: {}\n\n");
 *      http_server_close(h);
 *
 * All happens in the calling thread.  A request that the guard passes goes to
 * the function, which fills in the answer; the headers that keep a browser from
 * running what is in a store are added here.  An answer that is a stream stays
 * open and gets what http_server_send() is given.
 */
struct http_request {
    bool post;
    const char *path, *query; /* as the URL has them, with escapes */
    const char *body;         /* of a POST, "" for none */
};

typedef void http_answer_fn(void *arg, const struct http_request *,
                            struct answer *);

struct http_server;

/* Take over a socket that listens. */
struct http_server *http_server_open(int fd, const struct guard *,
                                     http_answer_fn *, void *arg, struct err *);
int http_server_fd(const struct http_server *);
/* Seconds until http_server_run() has something to do, at most `most`. */
double http_server_wait(const struct http_server *, double most);
void http_server_run(struct http_server *);
/* To all streams of a store; or to all, with a store of -1. */
void http_server_send(struct http_server *, int store, const char *text);
/* The number of open streams. */
size_t http_server_streams(const struct http_server *);
void http_server_close(struct http_server *);
