#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * gather - collect English prose that is installed on this machine
 *
 * gather() reads manuals, documentation, licences, and the comments of Perl,
 * Python and C.  It keeps paragraphs of at least twelve words that begin and
 * end as sentences do and consist of letters and common words; those of which
 * half of the sequences of five words occurred before are left out, so a text
 * that is installed many times with other names and numbers is read once.
 * gather_fn gets what is left, one file at a time and one paragraph a line,
 * until there are `limit` bytes.  Files are ordered by the hashes of their
 * names, so the same files give the same text on every machine.
 */
struct gathered {
    const char *path; /* below the root */
    const char *text;
    size_t len;
};

typedef void gather_fn(void *arg, const struct gathered *);

enum { GATHER_KINDS = 6 };

struct gather_stats {
    const char *kind;
    int64_t files, documents; /* found; used */
    int64_t bytes, repeated;  /* used; left out because they are repeated */
};

int gather(const char *root, int64_t limit, gather_fn *, void *arg,
           struct gather_stats[GATHER_KINDS], struct err *);
