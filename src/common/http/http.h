#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * http - requests that survive a bad network
 *
 *      struct http *http = http_open(NULL, e);
 *      struct http_reply r = HTTP_REPLY_INIT;
 *      const struct http_call c = { .method = "POST", .url = url,
 *                                   .header = headers, .bearer = token,
 *                                   .body = text, .len = strlen(text) };
 *
 *      if (http_do(http, &c, &r, e) < 0)
 *          ...                     r.status says more, 0 if there was no reply
 *      use(r.body.s);
 *      http_reply_clear(&r);
 *      http_close(http);
 *
 * A handle keeps its connections, so many calls should share one; one thread at
 * a time may use it.  Proxies come from the environment, as curl(1) reads it.
 *
 * A try that fails on the network, stalls, or is answered 408, 425, 429, 500,
 * 502, 503 or 504 is made again after a growing, jittered wait, or as long as
 * Retry-After asks; each is logged.  `once` is for calls that must not be
 * repeated when the server may have acted on them: those are tried again only
 * if the connection failed or the answer was 429 or 503.  Redirects are
 * followed; with `stay` a redirect is a failure, so that what is meant for one
 * server is not sent to another.  user, password and bearer are sent only to
 * the host of url.  Headers that you add, except Authorization, follow a
 * redirect, so put no secrets in them.
 *
 * The body of a reply goes to r.body or, if there is a sink, to the sink piece
 * by piece.  If a try with a sink breaks off, the next one requests only the
 * rest, and if the server does not support ranges, what was delivered before is
 * skipped, so a sink sees each byte once.  It returns false to stop the
 * transfer: http_do() then succeeds with r.stopped set.  With `count`, a server
 * that sends another range, or the whole file, is a failure.
 *
 * 0 is a final status of 2xx.  Anything else is ERR_REMOTE, with the status
 * and the beginning of the body in the text; if a signal (sig.h) or `cancel`
 * stops a transfer or a wait, it is ERR_INTERRUPTED.
 */
struct http;

struct http_conf {     /* zeroed: the defaults */
    const char *agent; /* gtrain/VERSION */
    int tries;         /* 6 */
    int name_tries;    /* if the host has no address: as many */
    double connect;    /* seconds that connecting may take: 20 */
    double stall;      /* seconds without a byte that end a try: 60 */
    double secs;       /* for a whole try: no limit */
    double wait;       /* seconds before the second try: 1, then doubled */
    double wait_most;  /* but never more: 60; a longer Retry-After fails */
    const char *ca;    /* file or folder of the certificates of trusted
                         * authorities: the system's */
    const char *cert;  /* file with our certificate and key: none */
    bool insecure;     /* trust any server */
    const atomic_bool *cancel; /* stop as a signal does, if true; or NULL */
};

typedef bool http_sink_fn(void *arg, const void *data, size_t n);

struct http_call {
    const char *method; /* NULL: GET, or POST when there is a body */
    const char *url;
    const char *const *header; /* "Name: value" each, then NULL; or NULL */
    const char *user, *password, *bearer;
    const void *body; /* what is sent: len bytes in memory, or, */
    int fd;           /* if fd > 0, of this file */
    size_t len;
    bool once, stay;
    double secs;     /* for a try, in place of the handle's; less
                                 * than 0: no limit */
    int64_t from;    /* skip this many bytes of the file */
    int64_t count;   /* then get this many, to the sink; 0: the rest */
    const char *tag; /* only if its tag is still this one, */
    int64_t whole;   /* and its size this one; 0: any */
    http_sink_fn *sink;
    void *arg;
    size_t max; /* bytes of r.body; 0: 64 MiB */
};

struct http_reply {
    long status; /* the last one; 0 without a reply */
    struct buf body;
    char *tag;                    /* ETag, or else Last-Modified, or NULL */
    int64_t size;                 /* of the whole file, or -1 */
    double rate_left, rate_reset; /* RateLimit-Remaining and -Reset, in
                                         * seconds; -1 without them */
    bool stopped;                 /* by the sink */
    bool changed;                 /* failed: the tag is another one now */
    bool no_host;                 /* failed: the host has no address */
    int tries;
};

#define HTTP_REPLY_INIT                                                        \
    ((struct http_reply){ 0, BUF_INIT, NULL, -1, -1, -1, false, false, false,  \
                          0 })

struct http *http_open(const struct http_conf *, struct err *);
void http_close(struct http *); /* may be NULL */
int http_do(struct http *, const struct http_call *, struct http_reply *,
            struct err *);
void http_reply_clear(struct http_reply *);

/* The host of a URL, lower case, without port or user; the caller frees it;
 * NULL when it is no URL. */
char *http_host(const char *url);
