#ifndef TRACK_RUNS_COPY_H
#define TRACK_RUNS_COPY_H

#include "store/load.h"

/*
 * copy - runs, from one store into another
 *
 * They keep their ids and appear whole; the paths inside are those of the new
 * place.  A run that is there already is passed over: copying twice copies
 * once.  One that cannot be read is warned of and keeps no other back, but is
 * a failure in the end.
 */
struct copies {
    size_t runs, points; /* that were copied */
    size_t there;        /* runs that were there */
};

int copy_runs(const struct runs *, const char *to_root, struct copies *,
              struct err *);

#endif
