/*
 * lock_find - find the lock that lists a shard, and check the tokenizer by it
 */
#include "config.h"
#include "data/shards/lock.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/path.h"
#include "data/shards/shard.h"
#include "data/token/tokenizer.h"

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

const struct lock_entry *lock_entry_of(const struct lock *l, const char *shard)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct lock_entry *entry = &l->entry[i];
        char *file;
        bool same;

        if (entry->role != LOCK_TOKENS ||
            strcmp(path_name(entry->path), path_name(shard)) != 0)
            continue;
        file = lock_path(l, entry);
        same = is_same_file(file, shard);
        free(file);
        if (same)
            return entry;
    }
    return NULL;
}

/* Take what a lock says of the shard.  A file that is not one of ours is
 * ignored: other programs have files with such names. */
static void take_lock(struct lock_found *f, const char *path, const char *shard)
{
    struct err none = ERR_INIT;
    struct lock l;

    if (lock_load(&l, path, &none) < 0)
        return;
    if (l.ids > 0 && lock_entry_of(&l, shard)) {
        f->path = xstrdup(path);
        f->ids = l.ids;
        f->eot_last = l.eot && strcmp(l.eot, "last") == 0;
        memcpy(f->vocabulary, l.vocabulary, sizeof f->vocabulary);
    }
    lock_clear(&l);
}

void lock_find(struct lock_found *f, const char *shard)
{
    char *folder = path_parent(shard);
    struct path_list names = PATH_LIST_INIT;
    struct err none = ERR_INIT;

    *f = (struct lock_found){ .path = NULL };
    path_list(&names, folder, &none);
    for (size_t i = 0; i < names.n && !f->path; i++) {
        char *path = path_join(folder, names.name[i]);

        if (str_ends(path, ".lock"))
            take_lock(f, path, shard);
        free(path);
    }
    path_list_clear(&names);
    free(folder);
}

void lock_found_clear(struct lock_found *f)
{
    free(f->path);
    f->path = NULL;
}

int lock_width(const char *shard, const struct tokenizer *t)
{
    struct lock_found f;
    int width;

    lock_find(&f, shard);
    width = f.path ? shard_width(f.ids)
            : t    ? shard_width(tokenizer_vocab(t))
                   : 0;
    lock_found_clear(&f);
    return width;
}

int lock_same_tokenizer(const char *shard, const struct tokenizer *t,
                        struct err *e)
{
    struct lock_found f;
    int ret = 0;

    lock_find(&f, shard);
    if (f.path && strcmp(f.vocabulary, tokenizer_hash(t)) != 0)
        ret = err_set(e, ERR_INPUT,
                      "%s was encoded with another tokenizer, as %s tells; if "
                      "this is intended, delete that file",
                      shard, f.path);
    lock_found_clear(&f);
    return ret;
}
