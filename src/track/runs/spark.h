#ifndef TRACK_RUNS_SPARK_H
#define TRACK_RUNS_SPARK_H

#include "common/buf.h"
#include "store/read/runs.h"

/*
 * spark - a curve as one line of text
 *
 * The series is divided into at most WIDTH equal ranges of steps.  Each shows
 * the mean of its finite values as a block of one to eight eighths of the
 * height between the lowest and the highest mean.  A range without a point is
 * blank; one without a finite value shows "x".  Without UTF-8 the blocks are
 * "_.-=*#".
 */
void spark(struct buf *, const struct series *, size_t width);

#endif
