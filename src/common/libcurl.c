#include "config.h"
#include "common/libcurl.h"

#include <pthread.h>
#include <stddef.h>

#include "common/dl.h"

static struct libcurl lib;
static struct err trouble = ERR_INIT;

static const struct dl_symbol symbols[] = {
    { "curl_global_init", offsetof(struct libcurl, global_init) },
    { "curl_easy_init", offsetof(struct libcurl, easy_init) },
    { "curl_easy_cleanup", offsetof(struct libcurl, easy_cleanup) },
    { "curl_easy_reset", offsetof(struct libcurl, easy_reset) },
    { "curl_easy_setopt", offsetof(struct libcurl, easy_setopt) },
    { "curl_easy_getinfo", offsetof(struct libcurl, easy_getinfo) },
    { "curl_easy_perform", offsetof(struct libcurl, easy_perform) },
    { "curl_easy_strerror", offsetof(struct libcurl, easy_strerror) },
    { "curl_free", offsetof(struct libcurl, free) },
    { "curl_slist_append", offsetof(struct libcurl, slist_append) },
    { "curl_slist_free_all", offsetof(struct libcurl, slist_free_all) },
    { "curl_url", offsetof(struct libcurl, url) },
    { "curl_url_cleanup", offsetof(struct libcurl, url_cleanup) },
    { "curl_url_get", offsetof(struct libcurl, url_get) },
    { "curl_url_set", offsetof(struct libcurl, url_set) },
    { NULL, 0 },
};

static void load(void)
{
    if (dl_load(&lib, symbols, "libcurl.so.4", &trouble) == 0)
        lib.global_init(CURL_GLOBAL_DEFAULT);
}

int libcurl_open(struct err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    if (trouble.kind == ERR_NONE)
        return 0;
    *e = trouble;
    return -1;
}

const struct libcurl *libcurl(void)
{
    return &lib;
}
