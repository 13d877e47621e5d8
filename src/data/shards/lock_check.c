/*
 * lock_check - compare shards and tokenizers with the locks in their folder
 */
#include "config.h"
#include "data/shards/lock.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/log.h"
#include "common/path.h"
#include "data/shards/loader.h"
#include "data/shards/shard.h"
#include "data/token/tokenizer.h"

/* ---- one shard --------------------------------------------------------- */

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

/* The lock of this name lists all shards of its folder. */
static const char whole_lock[] = "data.lock";

struct locks {
    struct lock *lock;
    size_t n, room;
};

/* The locks in the folder of a shard.  A file that is not a data.lock is left
 * out, because other programs have files with this suffix, too; but if it has
 * that name, it is an error, which callers may ignore. */
static int load_locks(struct locks *l, const char *shard, struct err *e)
{
    char *folder = path_parent(shard);
    struct path_list names = { 0 };
    struct err why = { 0 };
    struct lock lock;
    int ret = 0;

    *l = (struct locks){ 0 };
    path_list(&names, folder, &why);
    for (size_t i = 0; i < names.n; i++) {
        const char *path = path_listed(&names, i);

        if (str_ends(path, ".lock") && lock_load(&lock, path, &why) == 0) {
            APPEND(l->lock, l->n, l->room) = lock;
        } else if (strcmp(names.name[i], whole_lock) == 0) {
            *e = why;
            ret = -1;
        }
    }
    path_list_clear(&names);
    free(folder);
    return ret;
}

static void clear_locks(struct locks *l)
{
    for (size_t i = 0; i < l->n; i++)
        lock_clear(&l->lock[i]);
    free(l->lock);
}

bool lock_find(struct lock *found, const char *shard)
{
    struct locks locks;

    *found = (struct lock){ 0 };
    load_locks(&locks, shard, ERR_IGNORED);
    for (size_t i = 0; i < locks.n && !found->path; i++)
        if (locks.lock[i].ids > 0 && lock_entry_of(&locks.lock[i], shard)) {
            *found = locks.lock[i];
            locks.lock[i] = (struct lock){ 0 };
        }
    clear_locks(&locks);
    return found->path;
}

int lock_width(const char *shard, const struct tokenizer *t)
{
    struct lock l;
    const int width = lock_find(&l, shard) ? shard_width(l.ids)
                      : t                  ? shard_width(tokenizer_vocab(t))
                                           : 0;

    lock_clear(&l);
    return width;
}

int lock_same_tokenizer(const char *shard, const struct tokenizer *t,
                        struct err *e)
{
    struct lock l;
    int ret = 0;

    if (lock_find(&l, shard) && strcmp(l.vocabulary, tokenizer_hash(t)) != 0)
        ret = err_set(e, ERR_INPUT,
                      "%s was encoded with another tokenizer, according to %s; "
                      "if this is intended, move that file away",
                      shard, l.path);
    lock_clear(&l);
    return ret;
}

/* ---- the data of a run ------------------------------------------------- */

static int set_different(const struct lock *l, const char *path,
                         const char *what, struct err *e)
{
    return err_set(
        e, ERR_INPUT,
        "%s: the %s differs from %s; if this is intended, move that file away",
        path, what, l->path);
}

/* Compare the size of a file, and optionally its content. */
static int check_file(const struct lock *l, const struct lock_entry *was,
                      const char *path, bool content, struct err *e)
{
    char sha256[SHA256_TEXT];
    int64_t size;
    struct stat st;

    if (stat(path, &st) < 0)
        return err_sys(e, "cannot open %s", path);
    if (st.st_size != was->size)
        return set_different(l, path, "size", e);
    if (!content)
        return 0;
    if (sha256_file(path, sha256, &size, e) < 0)
        return -1;
    return strcmp(sha256, was->sha256) == 0
               ? 0
               : set_different(l, path, "content", e);
}

/* Returns the number of shards that the lock lists, or -1. */
static int64_t check_tokens(const struct lock *l, const struct loader *data,
                            const char *source, struct err *e)
{
    const bool lists_all = strcmp(path_name(l->path), whole_lock) == 0;
    const int64_t n = loader_shards(data);
    const struct lock_entry *least = NULL;
    const char *least_path = NULL;
    int64_t listed = 0;

    for (int64_t i = 0; i < n; i++) {
        const char *path = loader_path(data, i);
        const struct lock_entry *was = lock_entry_of(l, path);

        if (!was && lists_all)
            log_warn("%s does not list %s", l->path, path);
        if (!was)
            continue;
        if (*source && *was->source && strcmp(source, was->source) != 0)
            return err_set(e, ERR_INPUT,
                           "%s is of the source %s, not %s, according to %s; "
                           "if this is intended, move that file away",
                           path, was->source, source, l->path);
        if (check_file(l, was, path, false, e) < 0)
            return -1;
        listed++;
        if (!least || was->size < least->size) {
            least = was;
            least_path = path;
        }
    }
    if (least && check_file(l, least, least_path, true, e) < 0)
        return -1;
    return listed;
}

/* Compare the tokenizer, which is the file in the lock or a folder that has a
 * file of this name. */
static int check_tokenizer(const struct lock *l, const char *tokenizer,
                           struct err *e)
{
    int ret = 0;

    for (size_t i = 0; i < l->n && ret == 0; i++) {
        const struct lock_entry *was = &l->entry[i];
        const char *name = path_name(was->path);
        char *path = path_is_folder(tokenizer) ? path_join(tokenizer, name)
                                               : xstrdup(tokenizer);

        if (was->role == LOCK_TOKENIZER && strcmp(path_name(path), name) == 0 &&
            path_exists(path))
            ret = check_file(l, was, path, true, e);
        free(path);
    }
    return ret;
}

static int check_lock(const struct lock *l, const struct loader *data,
                      const char *source, const struct tokenizer *t,
                      const char *tokenizer, struct err *e)
{
    const int64_t listed = check_tokens(l, data, source, e);

    if (listed < 0)
        return -1;
    if (!t || listed == 0)
        return 0;
    if (l->ids == 0)
        return check_tokenizer(l, tokenizer, e);
    if (strcmp(l->vocabulary, tokenizer_hash(t)) == 0)
        return 0;
    return err_set(e, ERR_INPUT,
                   "%s: the tokens were encoded with another tokenizer, "
                   "according to %s; if this is intended, move that file away",
                   tokenizer, l->path);
}

int lock_check(const struct loader *data, const char *source,
               const struct tokenizer *t, const char *tokenizer, struct err *e)
{
    struct locks locks;
    int ret = load_locks(&locks, loader_path(data, 0), e);

    for (size_t i = 0; i < locks.n && ret == 0; i++)
        ret = check_lock(&locks.lock[i], data, source, t, tokenizer, e);
    clear_locks(&locks);
    return ret;
}

/* The path of a shard that is listed and does not exist, or NULL. */
static char *find_missing(const struct lock *l)
{
    for (size_t i = 0; i < l->n; i++) {
        char *path = lock_path(l, &l->entry[i]);

        if (l->entry[i].role == LOCK_TOKENS && !path_exists(path))
            return path;
        free(path);
    }
    return NULL;
}

char *lock_missing(const struct loader *data)
{
    struct locks locks;
    char *path = NULL;

    load_locks(&locks, loader_path(data, 0), ERR_IGNORED);
    for (size_t i = 0; i < locks.n && !path; i++)
        path = find_missing(&locks.lock[i]);
    clear_locks(&locks);
    return path;
}

bool lock_recorded(const struct loader *data, char out[SHA256_TEXT])
{
    const int64_t n = loader_shards(data);
    struct locks locks;
    struct sha256 h;
    bool all = n > 0;

    load_locks(&locks, loader_path(data, 0), ERR_IGNORED);
    sha256_init(&h);
    for (int64_t i = 0; i < n && all; i++) {
        const struct lock_entry *was = NULL;

        for (size_t k = 0; k < locks.n && !was; k++)
            was = lock_entry_of(&locks.lock[k], loader_path(data, i));
        all = was != NULL;
        if (all)
            sha256_add(&h, was->sha256, strlen(was->sha256));
    }
    sha256_text(&h, out);
    clear_locks(&locks);
    return all;
}
