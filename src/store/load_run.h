#ifndef STORE_LOAD_RUN_H
#define STORE_LOAD_RUN_H

#include "common/mem.h"
#include "store/index.h"
#include "store/load.h"

/*
 * load_run - read the files of one run
 *
 * The run has its folder, and gets what the files in there say.  Each file and
 * folder is noted in the watch before it is read.  What follows from where the
 * run is, and from the time, is left to load.c.
 */
void load_run(struct run_info *, struct arena *, struct watch *, int flags);

#endif
