#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/mem.h"
#include "store/read/runs.h"

/*
 * differ - the parameters in which runs differ
 *
 *      struct differ d = { 0 };
 *
 *      differ_params(&d, runs.run, runs.n);
 *      for (size_t i = 0; i < d.n; i++)
 *          printf("%s\n", d.item[i].key);
 *      differ_clear(&d);
 *
 * Every table, figure, legend and caption asks here.  A parameter differs if
 * runs have different values of it, or if some lack it, but at most half of
 * them: what few runs have says which program they are of.  What follows from
 * other settings (derived.*), describes the run itself (run.*, sweep.*) or says
 * where its files are and how often they are written (checkpoint.*, *.folder)
 * is no difference.  The run of a whole sweep has parameters of its own; it
 * does not count beside others.
 *
 * The keys of a sweep come first, in its order, then what was set on a command
 * line, then the rest, by name.
 */
struct differ_key {
    const char *key, *value; /* value: in the first run that has the key */
    size_t runs;             /* how many have the key */
    int rank;                /* what comes first has a low one */
    bool differs;            /* are there two values? */
};

struct differ {
    struct differ_key *item;
    size_t n, room;
    size_t first; /* how many keys the first run has */
    size_t next;  /* where the next key of this run probably is */
    size_t swept; /* how many of the keys belong to a sweep */
};

/* Every parameter, or every metric, sorted by name. */
void differ_count(struct differ *, const struct run_info *, size_t n,
                  bool metrics);
void differ_params(struct differ *, const struct run_info *, size_t n);
/* The entry of a key, or NULL. */
const struct differ_key *differ_find(const struct differ *, const char *key);
/* Sort by how many runs have a key; or keep those that the most runs have. */
void differ_by_use(struct differ *);
void differ_keep(struct differ *, size_t most);
void differ_clear(struct differ *);

/* For each run, the shortest text that tells it from the others by at most
 * `most` parameters, as in "lr 0.01, width 64"; returns how many texts are
 * different. */
size_t differ_labels(const struct differ *, const struct run_info *, size_t n,
                     size_t most, struct arena *, const char **label);

/* Why a metric "val/..." or a training loss of the runs cannot be compared, or
 * NULL: they have different tokenizers, or were evaluated in different ways. */
const char *differ_caution(const struct run_info *, size_t n,
                           const char *metric);

/* The tag of a cell that lists the keys of its sweep, with spaces between. */
#define DIFFER_KEYS_TAG "sweep.keys"

/* Leave out the runs of whole sweeps, unless a word names them or there are no
 * others. */
void differ_drop_sweeps(struct runs *, char **words, int n);
