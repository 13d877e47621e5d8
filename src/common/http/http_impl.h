#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/dl.h"
#include "common/http/http.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_url_get
#undef curl_url_set

/*
 * http_impl - what http.c, which repeats requests, and http_try.c, which makes
 * each of them, share
 *
 * libcurl and the forty libraries that it needs take 4.5 ms to load, and gtrack
 * starts in 1.4 ms (measured on a Xeon with AVX-512).  Most commands make no
 * request, so the library is opened when the first one does.  After
 * libcurl_open(), libcurl()->easy_init() is curl_easy_init(), and so on.
 */
typedef CURLcode libcurl_set_fn(CURL *, CURLoption, ...);

/* clang-format off */
#define CURL_CALLS(X) \
    X(global_init, curl_global_init) \
    X(easy_init, curl_easy_init) \
    X(easy_cleanup, curl_easy_cleanup) \
    X(easy_reset, curl_easy_reset) \
    X(easy_setopt, curl_easy_setopt) \
    X(easy_getinfo, curl_easy_getinfo) \
    X(easy_perform, curl_easy_perform) \
    X(easy_strerror, curl_easy_strerror) \
    X(free, curl_free) \
    X(slist_append, curl_slist_append) \
    X(slist_free_all, curl_slist_free_all) \
    X(url, curl_url) \
    X(url_cleanup, curl_url_cleanup) \
    X(url_get, curl_url_get) \
    X(url_set, curl_url_set)

struct libcurl { CURL_CALLS(DL_POINTER) };
/* clang-format on */

/* Load it, once, from any thread; -1 if it is not installed. */
int libcurl_open(struct err *);
const struct libcurl *libcurl(void);

struct http {
    CURL *curl;
    struct http_conf conf;
    char *agent, *ca, *cert;
    bool ca_is_folder;
    uint64_t waits; /* so far, for the jitter */
};

/* Must a transfer or a wait end? */
bool http_cancelled(const struct http *);

/* One call, over all its tries. */
struct http_transfer {
    const struct http_call *call;
    struct http_reply *reply;
    CURL *curl;
    const char *shown; /* the URL, without secrets */
    int64_t done;      /* bytes delivered */

    /* of this try */
    int64_t skip;     /* bytes of the body to drop */
    int64_t first;    /* byte that Content-Range names, or -1 */
    bool judged;      /* the status was looked at */
    bool body_counts; /* it is what was asked for */
    bool range_wrong, changed, too_long;
    char *etag, *date; /* of this reply */
    int64_t sent;      /* of the file */
    char error[CURL_ERROR_SIZE];
};

/* Make the request once.  The reply goes to t->reply, its status included. */
CURLcode http_try(struct http *, struct http_transfer *);
