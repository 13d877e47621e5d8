#pragma once

#include "common/mem.h"
#include "store/format/info.h"
#include "store/read/index.h"

/*
 * load_run - read the files of one run
 *
 * Only `folder` and `links` are set before; the rest is read from the files in
 * the folder, except what depends on the experiment or on the time, which
 * runs.c adds.  Each file and folder is added to the watch before it is read.
 */
void load_run(struct run_info *, struct arena *, struct watch *, int flags);
