#pragma once

#include "common/dl.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_url_get
#undef curl_url_set

/*
 * http_impl - libcurl, as http.c and its fuzz target call it
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
