#pragma once

#include "kernels/dev.h"

/*
 * region - one allocation on a device, whose size is known first
 *
 *      r.bytes = ...;
 *      if (region_alloc(&r, dev, DEV_GRADS, e) < 0)
 *          return -1;
 *      ...
 *      region_free(&r, dev);
 *
 * A region without data is only a size, which is enough for gtrain plan.  An
 * error names the use of the memory and a setting that makes it smaller.
 */
struct region {
    void *data;
    size_t bytes;
};

/* Allocate the bytes, cleared; nothing if there are none. */
int region_alloc(struct region *, struct dev *, enum dev_use, struct err *);
void region_free(struct region *, struct dev *);
