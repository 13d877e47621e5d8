#ifndef STORE_ANALYSIS_PLANNED_RATES_H
#define STORE_ANALYSIS_PLANNED_RATES_H

#include <stddef.h>

#include "common/err.h"

/*
 * planned_rates - the learning rates that a settings file gives
 *
 *      if (planned_rates(&r, "c.ini", e) < 0)
 *          return -1;
 *      for (i = 0; i < r.n; i++)
 *          ... r.rate[i] at r.step[i]
 *      planned_rates_clear(&r);
 *
 * `gtrain plan` computes them, so that no other program has to know schedules.
 * Settings that it refuses are ERR_USAGE, a missing file is ERR_MISSING.
 * Clear them after a failure, too.
 */
struct planned_rates {
    size_t n;
    double *step, *rate;
};

int planned_rates(struct planned_rates *, const char *conf, struct err *);
void planned_rates_clear(struct planned_rates *);

#endif
