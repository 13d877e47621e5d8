#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"

/*
 * store - the tree that runs live in: its root, its experiments, its names
 *
 *      ROOT/.trash/            deleted experiments
 *      ROOT/.gtrack.trash/     names that runs and experiments were given,
 *                              and runs that are built or removed (MLflow
 *                              passes over every folder called *.trash)
 *      ROOT/0/                 experiment "Default"
 *      ROOT/<18 digits>/       another experiment
 *      ROOT/<experiment>/<32 hexadecimal digits>/      a run
 *
 * No lock is taken anywhere.  An experiment's id is computed from its name, so
 * that any number of processes that make the same one at once, on whatever
 * machines, make the same folder.  A run's default name is claimed by creating
 * a file of that name, exclusively.
 */
#define STORE_TRASH ".trash"
#define STORE_NAMES ".gtrack.trash"
#define STORE_OWN   ".gtrack" /* our folder inside a run */
#define STORE_META  "meta.yaml"

struct experiment {
    const char *id, *name, *folder, *location; /* location: of artifacts */
    int64_t created_ms, updated_ms;
    bool deleted;
    const char *damage; /* NULL when all is well; name may be the id then */
};

struct experiments {
    struct arena mem;
    struct experiment *item;
    size_t n, room;
};

#define EXPERIMENTS_INIT { ARENA_INIT, NULL, 0, 0 }

/* All experiments, those in the trash last.  No store is ERR_MISSING. */
int experiments_load(struct experiments *, const char *root, struct err *);
void experiments_free(struct experiments *);

/* Make the root, its trash and experiment 0, as far as they are not there. */
int store_make(const char *root, struct err *);

/* The id of the experiment of this name, made if it is not there; the caller
 * frees it.  A deleted one is ERR_USAGE. */
int store_experiment(const char *root, const char *name, char **id,
                     struct err *);

/* Claim the next free of run1, run2, ...; the caller frees it. */
int store_claim(const char *root, char **name, struct err *);
/* Note that a name was given by hand, so that store_claim() passes over it. */
void store_claimed(const char *root, const char *name);

/* Note the name of an experiment, for the day its meta.yaml is lost. */
void store_keep_name(const char *root, const char *id, const char *name);

/* Is this the name of a run's folder, or of something else's? */
bool store_is_run(const char *name);
/* Is it the id of a run: 32 hexadecimal digits in lower case? */
bool store_is_id(const char *id);
/* Is this the folder of a run, by what is in it, with a meta.yaml or not? */
bool store_looks_like_run(const char *folder);

/* "file:///home/me/mlruns/0"; bytes that a URI may not hold are escaped. */
char *store_uri(const char *path);
char *store_absolute(const char *path);

/* 16 random bytes as 32 hexadecimal digits, a UUID of version 4. */
void store_new_id(char out[33]);

/* Write a file whole: first to one beside `temp`, on the same file system and
 * where no reader looks, then by rename.  With `sync` it is on disk before it
 * has its name. */
int store_write(const char *path, const char *temp, const void *data, size_t n,
                bool sync, struct err *);
/* The same for a file that may not exist yet: where it does, it stays as it is
 * and *exists is set. */
int store_create(const char *path, const char *temp, const void *data, size_t n,
                 bool *exists, struct err *);

/* Make room for what belongs at a path: what is there gets ".damaged" at the
 * end of its name.  Where nothing is, nothing is done. */
int store_put_aside(const char *path, struct err *);

#endif
