#include "config.h"
#include "common/dl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifndef CUDA_LIBDIR
#define CUDA_LIBDIR ""
#endif

/* Open the name of this length in a folder; NULL if that fails. */
static void *open_in(const char *folder, const char *from, size_t len)
{
    char path[512];
    const int n = snprintf(path, sizeof path, "%s%s%.*s", folder,
                           folder[0] ? "/" : "", (int)len, from);

    if (n < 0 || (size_t)n >= sizeof path)
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *open_any(const char *folder, const char *names)
{
    void *library = NULL;

    while (*names && !library) {
        const size_t len = strcspn(names, " ");

        library = open_in(folder, names, len);
        names += len;
        names += strspn(names, " ");
    }
    return library;
}

/* The first of the names that the library has. */
static void *find_any(void *library, const char *names)
{
    void *f = NULL;

    while (*names && !f) {
        const size_t len = strcspn(names, " ");
        char name[128];

        snprintf(name, sizeof name, "%.*s", (int)len, names);
        f = dlsym(library, name);
        names += len;
        names += strspn(names, " ");
    }
    return f;
}

int dl_load(void *api, const struct dl_symbol *table, const char *names,
            struct err *e)
{
    const int first = (int)strcspn(names, " ");
    void *library = open_any("", names);

    if (!library && CUDA_LIBDIR[0] != '\0')
        library = open_any(CUDA_LIBDIR, names);
    if (!library)
        return err_set(e, ERR_MISSING, "cannot find %.*s on this machine",
                       first, names);
    for (; table->name; table++) {
        void *f = find_any(library, table->name);

        if (!f) {
            dlclose(library);
            return err_set(e, ERR_MISSING,
                           "%.*s has no function %s; it may be too old", first,
                           names, table->name);
        }
        memcpy((char *)api + table->offset, &f, sizeof f);
    }
    return 0;
}
