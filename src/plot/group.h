#ifndef PLOT_GROUP_H
#define PLOT_GROUP_H

#include <stddef.h>

#include "plot/request.h"
#include "store/read/runs.h"

/*
 * group - which runs belong together, and how far their values spread
 */

/* The mean of some values and the ends of the band, which for a single value
 * are equal to it. */
void group_spread(enum band, const double *v, size_t n, double *mean,
                  double *lo, double *hi);

/* The meaning of a band or of bars, for a sentence. */
const char *group_band(enum band);

/* The value of a parameter or a tag, or of "name", the run's own name; "seed"
 * stands for a seed in any section if nothing has just this name. */
const char *group_value(const struct run_info *, const char *param);

#endif
