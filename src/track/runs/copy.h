#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "store/read/runs.h"

/*
 * copy - copy runs from one store into another
 *
 * Runs keep their ids and appear as a whole; paths in their files are those of
 * the new store.  A run that exists there is not copied again.  A run that
 * cannot be read is reported and the others are copied, but the call fails.
 */
struct copies {
    size_t runs, points; /* that were copied */
    size_t existing;     /* runs that existed */
};

int copy_runs(const struct runs *, const char *to_root, struct copies *,
              struct err *);

/* Copy all files below a folder, except one at its top (or NULL) and links that
 * leave the folder `inside` (NULL: none), which are reported.  The copies are
 * new files; no link below `top`, with which `to` begins, is followed. */
int copy_tree(const char *from, const char *to, const char *top,
              const char *except, const char *inside, struct err *);
/* Does this file of a run note what was pushed?  It is for its store only. */
bool copy_is_cursor(const char *file);
/* Copy the rest of a stream, which has this name, to another; the caller checks
 * what was written. */
int copy_stream(FILE *in, const char *name, FILE *out, struct err *);
