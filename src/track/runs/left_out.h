#pragma once

#include "store/read/runs.h"

/*
 * left_out - runs that a choice among an experiment leaves out
 *
 *      left_out_tell(&runs);
 *
 * The best of the runs that are left is not the best of those that were made.
 * For each experiment that the runs are in, a message says how many of its runs
 * were deleted, and how many failed; none if there are none.
 */
void left_out_tell(const struct runs *);
