#ifndef TRACK_RUNS_SPARK_H
#define TRACK_RUNS_SPARK_H

#include "common/buf.h"
#include "store/load.h"

/*
 * spark - a curve as one line of text
 *
 * The series is cut into at most WIDTH equal ranges of steps; each shows the
 * mean of its finite values, by a block of one eighth to eight eighths of the
 * height between the least and the greatest of the means.  A range without a
 * point is blank, one with nothing finite shows "x".  Without UTF-8 the blocks
 * are "_.-=*#".
 */
void spark(struct buf *, const struct series *, size_t width);

#endif
