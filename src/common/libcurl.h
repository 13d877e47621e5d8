#ifndef COMMON_LIBCURL_H
#define COMMON_LIBCURL_H

#include "common/err.h"

/*
 * libcurl - loaded when the first request is made
 *
 * libcurl and the forty libraries behind it take three times as long to load
 * as `gtrack ls` takes to run, and most commands make no request.  So it is
 * opened by need; after libcurl_open() its functions are called by their usual
 * names.  Only http.c includes this.
 */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_url_get
#undef curl_url_set

struct libcurl {
    CURLcode (*global_init)(long);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *);
    void (*easy_reset)(CURL *);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
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

/* Load it, once, from whatever thread; -1 if it is not installed. */
int libcurl_open(struct err *);
const struct libcurl *libcurl(void);

#define curl_easy_init      libcurl()->easy_init
#define curl_easy_cleanup   libcurl()->easy_cleanup
#define curl_easy_reset     libcurl()->easy_reset
#define curl_easy_setopt    libcurl()->easy_setopt
#define curl_easy_getinfo   libcurl()->easy_getinfo
#define curl_easy_perform   libcurl()->easy_perform
#define curl_easy_strerror  libcurl()->easy_strerror
#define curl_free           libcurl()->free
#define curl_slist_append   libcurl()->slist_append
#define curl_slist_free_all libcurl()->slist_free_all
#define curl_url            libcurl()->url
#define curl_url_cleanup    libcurl()->url_cleanup
#define curl_url_get        libcurl()->url_get
#define curl_url_set        libcurl()->url_set

#endif
