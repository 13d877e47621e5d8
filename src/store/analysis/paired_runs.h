#pragma once

#include "common/err.h"
#include "common/stats/paired.h"
#include "store/read/runs.h"

/*
 * paired_runs - do two runs differ in a metric?
 *
 *      if (paired_runs(&p, a, b, "train/loss", e) < 0)
 *          return -1;
 *
 * p becomes the difference a - b of the values that both have at the same
 * steps, in the last quarter of these.
 */
int paired_runs(struct paired *, const struct run_info *a,
                const struct run_info *b, const char *key, struct err *);

/* The same for two groups of runs: the differences of those with equal seeds
 * (parameter train.seed or seed), or the steps of the only pair. */
int paired_groups(struct paired *, const struct run_info *const *a, size_t n,
                  const struct run_info *const *b, size_t n_b, const char *key,
                  struct err *);
