#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 * Which source sequence i of the run is from is a function of the shares and i,
 * so that there is no state here, either.  The order of a source with a name
 * depends on the seed and its name alone, and not on the others; a single
 * source without a name is read as by its loader.
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

/*
 * shares - which source sequence i of a run is from
 *
 *      struct shares_part part[] = { { 0, 6, 0, INT64_MAX },
 *                                    { 1, 4, 0, INT64_MAX } };
 *      struct shares *s = shares_new(&(struct shares_conf){
 *          .sources = 2, .part = part, .parts = 2 });
 *
 *      shares_at(s, i).source, shares_at(s, i).nth
 *      shares_free(s);
 *
 * A part gives a source a weight from one sequence to another; its share is
 * the weight divided by those of all sources there.  What is due of a source
 * before sequence i is the sum of its shares until then; the number of those
 * from it among the first i differs from that by at most one, for each source
 * and each i.  An answer is a function of the configuration and i, so nothing
 * needs to be saved.
 *
 * A source that has a limit ends when its limit is due; then the others share
 * its part, or all ends there.
 *
 * The sequences are assigned in blocks.  An answer in a block of which none has
 * been asked for takes some 40 nanoseconds for each sequence before it, once.
 */
struct shares_part {
    size_t source;
    int64_t weight;      /* at most 2^40 */
    int64_t from, until; /* sequences; INT64_MAX: for ever */
};

struct shares_conf {
    size_t sources;
    const struct shares_part *part;
    size_t parts;
    const int64_t *most; /* sequences of each source, 0: no limit; or NULL */
    bool stops;          /* the first limit ends all */
};

struct shares_place {
    size_t source;
    int64_t nth; /* among the sequences of this source, from 0 */
};

struct shares *shares_new(const struct shares_conf *);
void shares_free(struct shares *); /* NULL is fine */

/* The number of sequences; INT64_MAX if there is no end. */
int64_t shares_length(const struct shares *);
/* The place of sequence i, which is below the length. */
struct shares_place shares_at(struct shares *, int64_t i);
/* How many of the first i sequences are from a source. */
int64_t shares_count(struct shares *, size_t source, int64_t i);
/* What is due of it then, which takes no time. */
double shares_due(const struct shares *, size_t source, int64_t i);
