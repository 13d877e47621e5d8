#ifndef TRACK_COPY_H
#define TRACK_COPY_H

#include "store/load.h"

/*
 * copy - a run, from one store into another
 *
 * It keeps its id, and its meta.yaml is written last, so a reader sees it
 * whole; the paths inside are those of the new place.  A run that is there
 * already is passed over: copying twice copies once.
 */
int copy_run(const struct run_info *, const char *to_root, bool *copied,
             struct err *);

#endif
