#include "config.h"
#include "store/write/staging.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/path.h"
#include "store/format/store.h"

enum { IDLE_SECS = 3600 };

/* A new unique name: "new.11aeb3..." for a run that is built.  NULL if there is
 * no folder for it. */
static char *fresh_name(const char *root, const char *what)
{
    char id[33], *name, *path;

    store_new_id(id);
    name = xasprintf("%s.%s", what, id);
    path = store_names_file(root, name, ERR_IGNORED);
    free(name);
    return path;
}

static bool is_beside(const char *root, const char *folder)
{
    char *parent = path_parent(folder);
    struct stat a, b;
    const bool beside =
        stat(root, &a) == 0 && stat(parent, &b) == 0 && a.st_dev == b.st_dev;

    free(parent);
    return beside;
}

char *staging_begin(const char *root, const char *folder, struct err *e)
{
    char *staged = fresh_name(root, "new");

    if (staged && is_beside(root, folder) &&
        path_make(staged, ERR_IGNORED) == 0)
        return staged;
    free(staged);
    return path_make(folder, e) == 0 ? xstrdup(folder) : NULL;
}

int staging_commit(const char *staged, const char *folder, struct err *e)
{
    if (strcmp(staged, folder) == 0 || rename(staged, folder) == 0)
        return 0;
    err_sys(e, "cannot move %s to %s", staged, folder);
    /* NFS may lose the reply to the first attempt and fail the second */
    return !path_exists(staged) && path_exists(folder) ? 0 : -1;
}

int staging_flush(struct staging_batch *b, struct err *e)
{
    bool synced = false;
    int ret = 0;

    for (size_t i = 0; i < b->n && ret == 0; i++) {
        const bool in_place = strcmp(b->folder[i], b->place[i]) == 0;

        /* all folders in ROOT/.gtrack.trash are on one file system */
        if (in_place || !synced)
            ret = store_sync(b->folder[i], e);
        synced = synced || !in_place;
    }
    for (size_t i = 0; i < b->n; i++) {
        if (ret == 0)
            ret = staging_commit(b->folder[i], b->place[i], e);
        if (ret < 0)
            path_remove(b->folder[i], ERR_IGNORED);
        free(b->folder[i]);
        free(b->place[i]);
    }
    b->n = 0;
    return ret;
}

int staging_add(struct staging_batch *b, char *staged, char *folder,
                struct err *e)
{
    b->folder[b->n] = staged;
    b->place[b->n++] = folder;
    return b->n == sizeof b->place / sizeof b->place[0] ? staging_flush(b, e)
                                                        : 0;
}

int staging_remove(const char *root, const char *folder, struct err *e)
{
    char *away = fresh_name(root, "old");
    char *meta = path_join(folder, STORE_META);
    int ret = 0;

    if (away && rename(folder, away) == 0) {
        ret = path_remove(away, e);
    } else { /* without its meta.yaml it is no run at least */
        if (unlink(meta) < 0 && errno != ENOENT)
            ret = err_sys(e, "cannot remove %s", meta);
        if (ret == 0)
            ret = path_remove(folder, e);
    }
    free(meta);
    free(away);
    return ret;
}

/* Seconds since anything in there was made, written or renamed. */
static int64_t idle_secs(const char *folder)
{
    struct path_list names;
    struct stat st;
    int64_t least;

    if (lstat(folder, &st) < 0)
        return 0;
    least = clock_wall_ms() / 1000 - (int64_t)st.st_mtim.tv_sec;
    if (!S_ISDIR(st.st_mode) || path_list(&names, folder, ERR_IGNORED) < 0)
        return least;
    for (size_t i = 0; i < names.n; i++) {
        char *path = path_join(folder, names.name[i]);
        const int64_t idle = idle_secs(path);

        least = idle < least ? idle : least;
        free(path);
    }
    path_list_clear(&names);
    return least;
}

int staging_leftovers(const char *root, staging_fn *fn, void *arg,
                      struct err *e)
{
    char *folder = path_join(root, STORE_NAMES);
    struct path_list names;
    int ret = 0;

    if (path_is_link(folder) || !path_is_folder(folder) ||
        (ret = path_list(&names, folder, e)) < 0) {
        free(folder);
        return ret;
    }
    for (size_t i = 0; ret == 0 && i < names.n; i++) {
        char *path = path_join(folder, names.name[i]);

        if ((strncmp(names.name[i], "new.", 4) == 0 ||
             strncmp(names.name[i], "old.", 4) == 0 ||
             strncmp(names.name[i], "begin.", 6) == 0 ||
             str_ends(names.name[i], ".tmp")) &&
            idle_secs(path) > IDLE_SECS)
            ret = fn(arg, path, e);
        free(path);
    }
    path_list_clear(&names);
    free(folder);
    return ret;
}
