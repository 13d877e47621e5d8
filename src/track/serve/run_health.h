#pragma once

#include "common/buf.h"
#include "store/read/runs.h"

/*
 * run_health - a few sentences on whether a run is well
 *
 *      run_health(&text, &command, run, now_ms);
 *
 * They say whether its losses are finite, how many spikes there are, how its
 * MFU or its speed compares with its own past, and how old its last point is.
 * The command, if any, shows the documents behind the highest spike.
 */
void run_health(struct buf *text, struct buf *command, const struct run_info *,
                int64_t now_ms);
