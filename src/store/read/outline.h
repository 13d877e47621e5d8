#pragma once

#include "store/read/runs.h"

/*
 * outline - the shape of a long history, in little time and memory
 *
 *      struct outline_want want = { .from = INT64_MIN, .to = INT64_MAX,
 *                                   .blocks = 600 };
 *
 *      if (series_outline(&s, run, "train/loss", &want, e) < 0)
 *          return -1;
 *
 * The file of a metric is divided into blocks of 8 KiB, which are about 200
 * points.  Of each block, the first, the lowest, the highest and the last point
 * are kept, and the first one that is not finite; so is the mean of all.  If
 * the steps that are wanted have too few blocks, their part of the file is read
 * again for smaller ones, which may be single points.
 *
 * The blocks are kept in the cache (index.h), and those of lines that were
 * appended are added.  They are read from the metric again if it was
 * replaced, or if a rewind retracted more of its points.
 *
 * A short history, or one whose steps are not in order, is loaded with all of
 * its points, as by series_load().
 */
enum { OUTLINE_FROM = 16384 }; /* shorter histories have all points */

struct outline_want {
    int64_t from, to; /* the steps of interest */
    size_t blocks;    /* of them, at least */
    bool sparse;      /* the last point of each block instead of all five */
};

int series_outline(struct series *, const struct run_info *, const char *key,
                   const struct outline_want *, struct err *);
