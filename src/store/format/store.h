#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/path.h"

/*
 * store - the tree that holds the runs: its root, experiments and names
 *
 * gtrack-store(5) shows the tree.  MLflow ignores every folder called *.trash.
 * No locks are used, except for moves (edit.h).  An experiment's id is computed
 * from its name, so that any number of processes on any machines that create
 * the same experiment at once create the same folder.  A run's default name is
 * claimed by creating a file of that name exclusively.
 */
#define STORE_TRASH ".trash"
#define STORE_NAMES ".gtrack.trash"
#define STORE_OWN   ".gtrack" /* our folder inside a run */
#define STORE_META  "meta.yaml"
/* The other files of a run that the rest of the suite may name. */
#define STORE_METRICS   "metrics"
#define STORE_TAGS      "tags"
#define STORE_ARTIFACTS "artifacts"

struct experiment {
    const char *id, *name, *folder, *location; /* location: of artifacts */
    int64_t created_ms, updated_ms;
    bool deleted;
    const char *damage; /* NULL when all is well; name may be the id then */
    bool unread;        /* its meta.yaml could not be read */
};

struct experiments {
    struct arena mem;
    struct experiment *item;
    size_t n, room;
};

/* All experiments, deleted ones last.  A missing store is ERR_MISSING, and so
 * is a folder with files and without an experiment or .trash. */
int experiments_load(struct experiments *, const char *root, enum path_links,
                     struct err *);
void experiments_free(struct experiments *);

/* Create the root, its trash and experiment 0, unless they exist. */
int store_make(const char *root, struct err *);

/* The id of the experiment of this name, which is created if need be; the
 * caller frees it.  A deleted experiment is ERR_USAGE. */
int store_experiment(const char *root, const char *name, char **id,
                     struct err *);

/* Claim the next free of run1, run2, ...; the caller frees it. */
int store_claim(const char *root, char **name, struct err *);
/* Note that the user chose this name, so that store_claim() skips it. */
void store_claimed(const char *root, const char *name);

/* The number of the colour that the next run has in figures, 1 to
 * STORE_COLOURS in turn; 0 if it cannot be determined. */
#define STORE_COLOUR_TAG "gtrack.colour"
enum { STORE_COLOURS = 8 };
int store_next_colour(const char *root);

/* May this be the name of a run's folder, which goes into messages? */
bool store_is_run(const char *name);
/* Is it the id of a run: 32 hexadecimal digits in lower case? */
bool store_is_id(const char *id);
/* Is this the folder of a run, judging by its content other than meta.yaml? */
bool store_looks_like_run(const char *folder);

/* "file:///home/me/mlruns/0", with escapes where a URI needs them. */
char *store_uri(const char *path);
char *store_absolute(const char *path);

/* 16 random bytes as 32 hexadecimal digits, a UUID of version 4. */
void store_new_id(char out[33]);

/* Replace a file in one step: the data goes to a file whose name begins with
 * `temp`, on the same file system and where no reader looks, which is then
 * renamed; with `sync` the data is on disk before that, and the name after.  If
 * `exists` is not NULL, a file that exists stays, and *exists is set. */
int store_write(const char *path, const char *temp, const void *data, size_t n,
                bool sync, bool *exists, struct err *);

/* store_write() of a path below a folder, a run or the root of a store; `temp`
 * is a name within the folder, NULL beside the path.  Links in between are not
 * followed, even those that others make meanwhile. */
int store_write_below(const char *folder, const char *path, const char *temp,
                      const void *data, size_t n, bool sync, struct err *);
/* Remove a file below a folder, if it exists, and rename a file or a folder,
 * creating the folders that it comes to, in the same way. */
int store_remove_below(const char *folder, const char *path, bool sync,
                       struct err *);
int store_rename_below(const char *folder, const char *from, const char *to_top,
                       const char *to, struct err *);

/* The path of a file below ROOT/.gtrack.trash, the folders made; the caller
 * frees it.  NULL if that fails or if one of the folders is a link. */
char *store_names_file(const char *root, const char *name, struct err *);

/* Is there anything in this folder? */
bool store_has_files(const char *folder);

/* Remove the temporary files of killed processes from our folder inside a run:
 * those of the writers of the run, of whom the caller is the only one, and
 * those of others whose lock is free, or where there are no locks a minute
 * after they were written.  The clock is that of the file system: `now` was
 * just written. */
void store_clear_temps(const char *run, const char *now);

/* Create our folder inside a run, unless it exists. */
int store_make_own(const char *run, struct err *);

/* Write a parameter or a tag, RUN/KIND/FILE, creating the folders that it
 * needs; what is not UTF-8 is replaced, secrets are masked, and NULL removes
 * it.  With `sync`, the change is on disk after that. */
int store_value(const char *run, const char *kind, const char *file,
                const char *value, bool sync, struct err *);

/* Let readers see a change of a run that has ended, or is about to: without it
 * they look at few of its files (read/index.h).  It is called before a change
 * and after it. */
void store_touch(const char *run);

/* Write an artifact of a run, creating the folders that it needs. */
int store_artifact_write(const char *run, const char *name, const void *data,
                         size_t n, bool sync, struct err *);
/* The path for an artifact of a run, its folder made, for a program that writes
 * it without us; the caller frees it.  NULL if that fails, or if links in the
 * path lead out of the run. */
char *store_artifact(const char *run, const char *name, struct err *);

/* Rename what is at a path, if anything, by adding ".damaged". */
int store_rename_damaged(const char *path, struct err *);

/*
 * md5 - the digest that MLflow names datasets and inputs by (RFC 1321)
 *
 * It only names things; it protects nothing.
 */
void md5(const void *data, size_t n, unsigned char out[16]);
void md5_hex(const void *data, size_t n, char out[33]);
