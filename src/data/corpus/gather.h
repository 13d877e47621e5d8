#ifndef DATA_CORPUS_GATHER_H
#define DATA_CORPUS_GATHER_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * gather - collect text that a Debian system has installed
 *
 * gather() reads documentation, licences, C headers and the libraries of Perl
 * and Python, leaves out every paragraph that occurred before, and calls
 * gather_fn with the rest, one file at a time, until there are `limit` bytes.
 * Each kind has a share of the limit; what some kinds cannot fill is left to
 * the others.  The files of a kind are ordered by the hashes of their names, so
 * the same files give the same text on every machine.  Manuals are not read:
 * a program to remove their markup would be needed, and a system without
 * manuals has enough other text.
 */
struct gathered {
    const char *kind, *path; /* the path below the root */
    const char *text;
    size_t len;
};

typedef void gather_fn(void *arg, const struct gathered *);

enum { GATHER_KINDS = 5 };

struct gather_stats {
    const char *kind;
    int64_t files, documents; /* found; used */
    int64_t bytes, repeated;  /* used; left out because they are repeated */
};

int gather(const char *root, int64_t limit, gather_fn *, void *arg,
           struct gather_stats[GATHER_KINDS], struct err *);

#endif
