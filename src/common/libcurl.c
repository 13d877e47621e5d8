#include "config.h"
#include "common/libcurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static struct libcurl lib;
static char trouble[256];

static const struct {
    const char *name;
    size_t at;
} functions[] = {
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
};

static void load(void)
{
    void *so = dlopen("libcurl.so.4", RTLD_NOW);
    struct libcurl found;

    for (size_t i = 0; so && i < sizeof functions / sizeof functions[0]; i++) {
        void *symbol = dlsym(so, functions[i].name);

        if (!symbol) {
            so = NULL;
            break;
        }
        memcpy((char *)&found + functions[i].at, &symbol, sizeof symbol);
    }
    if (!so) {
        const char *why = dlerror();

        strncpy(trouble, why ? why : "unknown", sizeof trouble - 1);
        return;
    }
    lib = found;
    lib.global_init(CURL_GLOBAL_DEFAULT);
}

int libcurl_open(struct err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    if (lib.easy_init)
        return 0;
    return err_set(e, ERR_MISSING, "libcurl 4 is not installed (%s)", trouble);
}

const struct libcurl *libcurl(void)
{
    return &lib;
}
