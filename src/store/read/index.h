#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/hash.h"
#include "common/mem.h"
#include "store/format/info.h"

/*
 * index - a cache of what was read of each run
 *
 *      index_open(&index, root, false);
 *      if (!index_get(&index, "0/11aeb3...", &run, &arena)) {
 *          ...read the run, calling watch_add() before each file and folder
 *          index_put(&index, "0/11aeb3...", &run, &watch);
 *      }
 *      index_close(&index);
 *
 * gtrack-store(5), CACHE, says where the cache is, and how it is noticed that a
 * run has changed.  Of a run that one of our programs wrote and that has ended,
 * only a few files are looked at, unless all are to be.  So whoever of us
 * changes anything else of such a run calls store_touch().
 *
 * index_get() and index_put() may be called from several threads.
 */
struct watch {
    struct buf paths; /* in the run, each after WATCH_RUNNING or _ALWAYS, and
                       * with its NUL */
    struct hash128 hash, ended; /* of all, and of what is watched always */
    int64_t bytes;              /* of the files: what reading them costs */
    bool fresh;                 /* something changed just now */
};

#define WATCH_INIT ((struct watch){ BUF_INIT, { 0 }, { 0 }, 0, false })

/* Until the run has ended, or after that, too. */
enum watch_when { WATCH_RUNNING = 1, WATCH_ALWAYS };

/* A file or folder that is about to be read, or found missing. */
void watch_add(struct watch *, const char *run, const char *path,
               enum watch_when);
void watch_clear(struct watch *);

enum { UNPACK_TEXTS = 256 };

/* The memory of the runs that a thread unpacks.  Most have the same keys, so a
 * text is copied only if it is not what the run before had in its place. */
struct unpack_keep {
    struct arena mem;
    size_t n; /* texts of this run so far */
    const char *text[UNPACK_TEXTS];
};

struct index {
    int root_fd;
    bool all;   /* look at all files, even of runs that have ended */
    char *path; /* NULL: there is no cache */
    char *data; /* the file, which is mapped */
    size_t size;
    struct index_slot *slot; /* in order of the keys */
    size_t n_slots;
    pthread_mutex_t lock; /* of what was added since: */
    struct index_news *news;
    size_t n_news, room;
    int64_t bytes;
    bool edited; /* what the file has would be believed again */
};

/* The file of the cache about a file or folder, whose name ends like this; NULL
 * if nothing is cached; the caller frees it. */
char *index_path(const char *of, const char *ending);
/* The folder of the cache, which is created, or NULL; the caller frees it. */
char *index_folder(const char *root);

/* Write a file of the cache, as far as that is possible.  It and its folder are
 * for this user alone: what they are from may be in a folder that others cannot
 * enter. */
void index_write(const char *path, const struct buf *);

void index_open(struct index *, const char *root, bool all);
/* Fill in a run from the cache; false if its files have to be read.  Then
 * run->edited says whether that was only noticed because all were looked at. */
bool index_get(struct index *, const char *key, struct run_info *,
               struct unpack_keep *);
/* Without a watch, it is not known what the run is now. */
void index_put(struct index *, const char *key, const struct run_info *,
               const struct watch *);
/* Rewrite the cache if that is worthwhile.  `keys` has the keys of all runs. */
void index_save(struct index *, char *const *keys, size_t n);
void index_close(struct index *);

/* Read the files of one run (load_run.c).  Only `folder` and `links` are set
 * before; the rest is read from the files in the folder, except what depends on
 * the experiment or on the time, which runs.c adds.  Each file and folder is
 * added to the watch before it is read. */
void load_run(struct run_info *, struct arena *, struct watch *, int flags);

/*
 * pack - a run as bytes, for the index
 *
 * Numbers are stored as in memory, for this machine only.  NULL and an empty
 * string are distinguished.  Unpacking never reads beyond the end: then `good`
 * becomes false, and everything that follows is 0 or NULL.
 */
struct unpack {
    const char *at, *end;
    bool good;
    struct unpack_keep *keep;
};

/* Pack what load_run() has read. */
void pack_run(struct buf *, const struct run_info *);
bool unpack_run(struct unpack *, struct run_info *);
