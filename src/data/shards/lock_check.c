/*
 * lock_check - compare the data of a training with its data.lock
 */
#include "config.h"
#include "data/shards/lock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/log.h"
#include "common/path.h"
#include "data/shards/loader.h"

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

static const struct lock_entry *entry_of(const struct lock *l, const char *path)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct lock_entry *entry = &l->entry[i];
        char *file;
        bool same;

        if (entry->role != LOCK_TOKENS ||
            strcmp(path_name(entry->path), path_name(path)) != 0)
            continue;
        file = lock_path(l, entry);
        same = same_file(file, path);
        free(file);
        if (same)
            return entry;
    }
    return NULL;
}

static int set_different(const char *lock, const char *path, const char *what,
                         struct err *e)
{
    return err_set(
        e, ERR_INPUT,
        "%s: the %s differs from %s; if this is intended, run 'gdata "
        "lock' again",
        path, what, lock);
}

/* Compare the size of a file, and optionally its content. */
static int check_file(const char *lock, const struct lock_entry *was,
                      const char *path, bool content, struct err *e)
{
    char sha256[SHA256_TEXT];
    int64_t size;
    struct stat st;

    if (stat(path, &st) < 0)
        return err_sys(e, "cannot open %s", path);
    if (st.st_size != was->size)
        return set_different(lock, path, "size", e);
    if (!content)
        return 0;
    if (sha256_file(path, sha256, &size, e) < 0)
        return -1;
    return strcmp(sha256, was->sha256) == 0
               ? 0
               : set_different(lock, path, "content", e);
}

static int check_tokens(const struct lock *l, const char *lock,
                        const struct loader *data, struct err *e)
{
    const int64_t n = loader_shards(data);
    const struct lock_entry *least = NULL;
    const char *least_path = NULL;

    for (int64_t i = 0; i < n; i++) {
        const char *path = loader_path(data, i);
        const struct lock_entry *was = entry_of(l, path);

        if (!was) {
            log_warn("%s does not list %s", lock, path);
            continue;
        }
        if (check_file(lock, was, path, false, e) < 0)
            return -1;
        if (!least || was->size < least->size) {
            least = was;
            least_path = path;
        }
    }
    return least ? check_file(lock, least, least_path, true, e) : 0;
}

/* The tokenizer is the file in the lock, or a folder with a file of its name.
 */
static int check_tokenizer(const struct lock *l, const char *lock,
                           const char *tokenizer, struct err *e)
{
    int ret = 0;

    for (size_t i = 0; i < l->n && ret == 0; i++) {
        const struct lock_entry *was = &l->entry[i];
        const char *name = path_name(was->path);
        char *path = path_is_folder(tokenizer) ? path_join(tokenizer, name)
                                               : xstrdup(tokenizer);

        if (was->role == LOCK_TOKENIZER && strcmp(path_name(path), name) == 0 &&
            path_exists(path))
            ret = check_file(lock, was, path, true, e);
        free(path);
    }
    return ret;
}

int lock_check(const struct loader *data, const char *tokenizer, struct err *e)
{
    char *folder = path_parent(loader_path(data, 0));
    char *path = path_join(folder, "data.lock");
    struct lock l;
    int ret = 0;

    if (path_exists(path)) {
        ret = lock_load(&l, path, e);
        if (ret == 0) {
            ret = check_tokens(&l, path, data, e);
            if (ret == 0 && *tokenizer)
                ret = check_tokenizer(&l, path, tokenizer, e);
            lock_clear(&l);
        }
    }
    free(folder);
    free(path);
    return ret;
}
