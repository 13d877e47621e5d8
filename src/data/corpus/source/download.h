#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/http/http.h"

/*
 * download - write a file of a server, or of a local mirror, to a descriptor
 *
 *      struct download d = { .http = http_open(&conf, e), .token = token };
 *
 *      if (download_pipe(&d, url, 0, fd, e) < 0)
 *          the rest is missing
 *
 * The file is written from the byte `from` on.  It is no error if the reader of
 * a pipe has closed it.
 */

/* Called as bytes arrive; total is -1 if it is unknown. */
typedef void download_progress_fn(void *arg, int64_t now, int64_t total);

/* Names are looked up less often than servers are tried, so that a download
 * without a network fails early. */
enum { DOWNLOAD_NAME_TRIES = 2 };

struct download {
    struct http *http;              /* with DOWNLOAD_NAME_TRIES */
    const char *token;              /* sent only to huggingface.co; or NULL */
    download_progress_fn *progress; /* or NULL */
    void *arg;
};

/* The options of commands that read URLs; `o` is a struct http_conf. */
/* clang-format off */
#define DOWNLOAD_OPTS(o) \
    { 0, "tries", "count", OPT_INT, &(o).tries, \
      "give up a URL after COUNT tries without any data (default: 6)" }, \
    { 0, "wait", "time", OPT_SECS, &(o).wait, \
      "wait TIME after the first try, then twice as long (default: 1s)" }, \
    { 0, "stall", "time", OPT_SECS, &(o).stall, \
      "end a try when no data arrives for TIME (default: 60s)" }
/* clang-format on */

bool download_is_url(const char *path);
bool download_any(char *const *path, int n);
int download_pipe(const struct download *, const char *url, int64_t from,
                  int fd, struct err *);

/*
 * For callers with a sink of their own, which may look at the reply before it
 * passes the bytes to download_write().  download_call() sends the token if the
 * host may have it.
 */
struct download_sink {
    const struct download *from;
    const struct http_reply *reply;
    int fd;
    int64_t at; /* the bytes so far, with those of earlier calls */
    int sys;    /* why writing failed, or 0 */
};

bool download_write(void *sink, const void *data, size_t n);
int download_call(const struct download *, struct http_call *,
                  struct http_reply *, struct err *);
