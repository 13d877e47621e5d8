#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
