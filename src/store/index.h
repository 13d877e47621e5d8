#ifndef STORE_INDEX_H
#define STORE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/mem.h"
#include "store/load.h"

/*
 * index - what was read of each run, kept for the next time
 *
 *      index_open(&index, root);
 *      if (!index_get(&index, "0/11aeb3...", &run, &arena)) {
 *          ...read the run, calling watch_add() before each file and folder
 *          index_put(&index, "0/11aeb3...", &run, &watch);
 *      }
 *      index_close(&index);
 *
 * It is a cache: a file outside the store that may be deleted at any time, and
 * that is used only after checking that nothing in a run has changed.  Every
 * file and folder that was read is looked at again, and must have the inode,
 * size, modification and change time it had then.  A file changed so lately
 * that a second change might leave the same time is not trusted: its run is
 * read again.  A damaged cache is no cache.
 *
 * It is $GTRACK_CACHE/<hash of the root>.index; GTRACK_CACHE is by default
 * $XDG_CACHE_HOME/gtrack, or ~/.cache/gtrack.  Empty, there is no cache.
 *
 * index_get() and index_put() may be called from several threads.
 */
struct watch {
    struct buf paths;           /* in the run, each with its NUL */
    uint64_t hash[2];
    int64_t bytes;              /* of the files: what reading them costs */
    bool fresh;                 /* something was changed just now */
};

#define WATCH_INIT { BUF_INIT, { 0, 0 }, 0, false }

/* A file or folder that is about to be read, or found missing. */
void watch_add(struct watch *, const char *run, const char *path);
void watch_clear(struct watch *);

struct index {
    int root_fd;
    char *path;                 /* NULL: there is no cache */
    char *data;                 /* the file; strings of runs point into it */
    size_t size;
    struct index_slot *slot;    /* by the hash of the key */
    size_t n_slots;
    struct index_news *news;    /* what was put, guarded by a lock */
};

void index_open(struct index *, const char *root);
/* Fill what a run's files say; false when it has to be read. */
bool index_get(struct index *, const char *key, struct run_info *,
               struct arena *);
void index_put(struct index *, const char *key, const struct run_info *,
               const struct watch *);
/* Write the cache anew if that is worth it.  keys are all runs there are. */
void index_save(struct index *, char *const *keys, size_t n);
/* The file's memory goes to the arena's owner: runs point into it. */
void index_close(struct index *, struct arena *);

#endif
