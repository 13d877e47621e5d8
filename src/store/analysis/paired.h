#ifndef STORE_ANALYSIS_PAIRED_H
#define STORE_ANALYSIS_PAIRED_H

#include "common/err.h"
#include "store/read/runs.h"

/*
 * paired - do two runs differ in a metric?
 *
 *      if (paired_runs(&p, a, b, "train/loss", e) < 0)
 *          return -1;
 *      half = paired_half(&p, 0.05);
 *      ... the difference a - b is p.mean, plus or minus half ...
 *
 * Runs of one sweep read the same windows in the same steps.  What makes one
 * batch harder than another adds to both losses, so the difference of the two
 * varies much less than either.  The differences of neighbouring steps are not
 * independent: their mean has the variance of batch means, as in Schmeiser,
 * "Batch size effects in the analysis of simulation output", Operations
 * Research 30(3), 1982, with PAIRED_BLOCKS blocks.
 */
enum { PAIRED_BLOCKS = 20, PAIRED_LEAST = 8 };

struct paired {
    size_t n;       /* differences */
    double mean;    /* NaN: there are none */
    double error;   /* standard error of the mean; NaN: too few */
    size_t freedom; /* degrees of freedom of that */
};

/* Of differences in the order of their steps; at least PAIRED_LEAST. */
struct paired paired_series(const double *difference, size_t n);
/* Of independent differences, such as one for each seed; at least two. */
struct paired paired_independent(const double *difference, size_t n);

/* Half of the interval that contains the true mean but for this probability;
 * NaN if it is not known. */
double paired_half(const struct paired *, double error);

/* The values of a metric that two runs have at the same steps, in the last
 * quarter of these: a minus b. */
int paired_runs(struct paired *, const struct run_info *a,
                const struct run_info *b, const char *key, struct err *);

#endif
