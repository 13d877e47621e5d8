#pragma once

#include <stdbool.h>
#include <stdint.h>

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

struct libcurl {
    CURLcode (*global_init)(long);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *);
    void (*easy_reset)(CURL *);
    libcurl_set_fn *easy_setopt;
    CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
    CURLcode (*easy_perform)(CURL *);
    const char *(*easy_strerror)(CURLcode);
    void (*free)(void *);
    struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
    void (*slist_free_all)(struct curl_slist *);
    CURLU *(*url)(void);
    void (*url_cleanup)(CURLU *);
    CURLUcode (*url_get)(const CURLU *, CURLUPart, char **, unsigned int);
    CURLUcode (*url_set)(CURLU *, CURLUPart, const char *, unsigned int);
};

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
