#pragma once

#include "common/format/source_list.h"
#include "common/sha256.h"
#include "data/shards/loader.h"

/*
 * mixture - the sequences of a run, from one or more sources
 *
 *      if (mixture_open(&m, &sources, &conf, e) < 0)
 *          return -1;
 *      if (mixture_get(m, first, n, x, y, e) < 0)
 *          return -1;
 *
 * Each source is a loader (loader.h), whose windows are read in their order.
 * Which source sequence i of the run is from is a function of the shares and i
 * (shares.h), so that there is no state here, either.  The order of a source
 * with a name depends on the seed and its name alone, and not on the others; a
 * single source without a name is read as by its loader.
 *
 * A thread touches the pages that the next call will probably need, so that a
 * step does not wait for a disk.
 */
struct mixture;

/* What is not in the list of sources. */
struct mixture_conf {
    struct loader_conf loader; /* without files */
    bool shares;               /* the sources have shares; else mixture_get()
                                * reads the first one */
    bool stops;                /* the first source that ends ends all */
    int64_t (*sequences)(const void *arg, const struct conf_span *);
    const void *arg; /* sequences before a step, for from= and until= */
};

int mixture_open(struct mixture **, const struct source_list *,
                 const struct mixture_conf *, struct err *);
void mixture_close(struct mixture *); /* NULL is fine */

size_t mixture_sources(const struct mixture *);
struct loader *mixture_loader(const struct mixture *, size_t source);
const char *mixture_name(const struct mixture *, size_t source); /* or "" */

/* Fail if a shard was written to since it was opened. */
int mixture_check(const struct mixture *, struct err *);
/* A fingerprint of all sources and their names; that of the loader if there is
 * one source without a name. */
const char *mixture_hash(const struct mixture *);

int mixture_get(struct mixture *, int64_t first, int64_t n, int32_t *x,
                int32_t *y, struct err *);
size_t mixture_source(struct mixture *, int64_t i);
/* How many of the first n sequences are from a source. */
int64_t mixture_count(struct mixture *, size_t source, int64_t n);
/* The same to within one, at once. */
double mixture_due(const struct mixture *, size_t source, int64_t n);
/* The number of sequences that there are; INT64_MAX without an end. */
int64_t mixture_length(const struct mixture *);
