#ifndef STORE_FSCK_META_H
#define STORE_FSCK_META_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "store/fsck/fsck.h"
#include "store/read/runs.h"

/*
 * fsck_meta - check the meta.yaml of a run, and complete or rebuild it
 *
 * This is done also while the run is written: its writer replaces the file as a
 * whole when the run ends.  `seen` is when the run was written, as far as its
 * other files tell.
 */
struct fsck_span {
    int64_t first_ms, last_ms;
};

int fsck_meta(const struct run_info *, const struct fsck_span *seen,
              bool repair, fsck_fn *, void *arg, struct err *);

#endif
