#ifndef DATA_CORPUS_GATHER_H
#define DATA_CORPUS_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * gather - text that machines of the Debian family have anyway
 *
 * Manuals, documentation, licences, what Perl's modules say about themselves,
 * headers and Python's library: gather() reads them, takes their markup off,
 * leaves out every paragraph that was there before, and hands out what is
 * left, a file a document, until there are `limit` bytes.  Each kind has a
 * share of the limit; what some do not fill, others may.  Within a kind the
 * order is that of the hashes of the names: the same on every machine with the
 * same files.
 */
struct gathered {
    const char *kind, *path;            /* the path from the root on */
    const char *text;
    size_t len;
};

typedef void gather_fn(void *arg, const struct gathered *);

enum { GATHER_KINDS = 7 };

struct gather_stats {
    const char *kind;
    int64_t files, documents, bytes;    /* found; used; of those */
    int64_t repeated;                   /* bytes left out as known */
};

int gather(const char *root, int64_t limit, gather_fn *, void *arg,
           struct gather_stats[GATHER_KINDS], struct err *);

#endif
