#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/path.h"

/*
 * rewind - the points that a resumed run retracted
 *
 *      RUN/.gtrack/rewinds
 *
 * An attempt that resumes at an earlier step retracts what came after that
 * step, by a block in this file, which gtrack-store(5) describes.  A block
 * leaves out what an earlier one retracts.
 *
 * A list has the places where files were cut, and back to which step that or a
 * later rewind went: by key, and for one key in the order in which it happened.
 */
struct rewind_list {
    struct rewind_cut {
        const char *key;
        size_t place; /* in that order */
        int64_t offset, step;
    } * cut;
    size_t n;
};

/* The cuts of one metric, or of all if the key is NULL; none if there is no
 * such file, and -1 if it cannot be read. */
int rewinds_load(struct rewind_list *, struct arena *, const char *run,
                 const char *key, enum path_links, struct err *);
/* Those of one metric, n of them. */
const struct rewind_cut *rewind_cuts(const struct rewind_list *,
                                     const char *key, size_t *n);
/* Retract all points so far of steps after this one; ms is the time now. */
int rewind_add(const char *run, int attempt, int64_t step, int64_t ms,
               struct err *);
