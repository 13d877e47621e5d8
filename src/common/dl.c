#include "config.h"
#include "common/dl.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/spawn.h"

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

/* Where Python installs NVIDIA's libraries, each in lib/ of a folder of its
 * own: in the environment that this program lies in, in the active one, for a
 * user, and for all. */
static const struct {
    const char *variable, *pattern;
} python[] = {
    { NULL, "lib/python3*/site-packages/nvidia" },
    { "VIRTUAL_ENV", "lib/python3*/site-packages/nvidia" },
    { "CONDA_PREFIX", "lib/python3*/site-packages/nvidia" },
    { "HOME", ".local/lib/python3*/site-packages/nvidia" },
    { NULL, "/usr/local/lib/python3*/dist-packages/nvidia" },
    { NULL, "/usr/local/lib/python3*/site-packages/nvidia" },
    { NULL, "/usr/lib/python3*/site-packages/nvidia" },
};

/* The folders lib of all packages. */
static void find_python(glob_t *out)
{
    AUTO_FREE char *own = spawn_beside("..", X_OK);

    *out = (glob_t){ 0 };
    for (size_t i = 0; i < sizeof python / sizeof *python; i++) {
        const bool whole = python[i].pattern[0] == '/';
        const char *root = whole                ? ""
                           : python[i].variable ? getenv(python[i].variable)
                                                : own;
        char pattern[4352];

        if (!root || (!whole && root[0] != '/'))
            continue;
        snprintf(pattern, sizeof pattern, "%s%s%s/*/lib", root,
                 *root ? "/" : "", python[i].pattern);
        glob(pattern, GLOB_APPEND, NULL, out);
    }
}

static void *open_in_python(const char *names)
{
    void *library = NULL;
    glob_t folders;

    find_python(&folders);
    for (size_t i = 0; i < folders.gl_pathc && !library; i++)
        library = open_any(folders.gl_pathv[i], names);
    globfree(&folders);
    return library;
}

static void open_files(const char *folder, const char *name)
{
    char pattern[512];
    glob_t files;

    snprintf(pattern, sizeof pattern, "%s/%s", folder, name);
    if (glob(pattern, 0, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc; i++)
            dlopen(files.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&files);
}

void dl_preload(const char *pattern)
{
    glob_t folders;

    find_python(&folders);
    for (size_t i = 0; i < folders.gl_pathc; i++)
        open_files(folders.gl_pathv[i], pattern);
    globfree(&folders);
    if (CUDA_LIBDIR[0] != '\0')
        open_files(CUDA_LIBDIR, pattern);
}

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
    void *library = open_in_python(names);

    if (!library && CUDA_LIBDIR[0] != '\0')
        library = open_any(CUDA_LIBDIR, names);
    if (!library)
        library = open_any("", names);
    if (!library)
        return err_set(e, ERR_MISSING, "cannot find %.*s on this machine",
                       first, names);
    for (; table->name; table++) {
        void *f = find_any(library, table->name);

        if (!f && !strchr(table->name, '?')) {
            dlclose(library);
            return err_set(e, ERR_MISSING,
                           "%.*s has no function %s; it may be too old", first,
                           names, table->name);
        }
        memcpy((char *)api + table->offset, &f, sizeof f);
    }
    return 0;
}

struct sought {
    const char *begins;
    char *found;
};

static int compare_name(struct dl_phdr_info *info, size_t size UNUSED,
                        void *arg)
{
    struct sought *s = arg;
    const char *path = info->dlpi_name;

    if (strncmp(path_name(path), s->begins, strlen(s->begins)) == 0)
        s->found = xstrdup(path);
    return s->found != NULL;
}

char *dl_where(const char *begins)
{
    struct sought s = { begins, NULL };

    dl_iterate_phdr(compare_name, &s);
    return s.found;
}
