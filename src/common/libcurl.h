#ifndef COMMON_LIBCURL_H
#define COMMON_LIBCURL_H

#include "common/err.h"

/*
 * libcurl - loaded when the first request is made
 *
 * libcurl and the forty libraries that it needs take 4.5 ms to load, and gtrack
 * starts in 1.4 ms (measured on a Xeon with AVX-512).  Most commands make no
 * request, so the library is opened when the first one does.  After
 * libcurl_open(), libcurl()->easy_init() is curl_easy_init(), and so on.  Only
 * http.c includes this.
 */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_url_get
#undef curl_url_set

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

#endif
