#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "store/read/runs.h"

/*
 * planned_rates - the learning rates that a run is going to have
 *
 *      planned_rates_write(&text, rate, &schedule, steps);
 *      ... text.s becomes the artifact PLANNED_RATES of a run
 *
 *      if (planned_rates_load(&r, run, e) < 0)
 *          return -1;
 *      planned_rates_fill(&r, lr, from, steps);
 *      planned_rates_clear(&r);
 *
 * The file has lines of a step, which counts from 0, and its rate; between two
 * of them, the rate is on the line through them, with an error of at most a
 * millionth of the highest rate.  So no reader has to know schedules, and the
 * file stays small.  A run without the file has no rates, which is no error;
 * those of a resumed run are the rates of its newest attempt.
 */
#define PLANNED_RATES "schedule.tsv"

struct planned_rates {
    size_t n;
    double *step, *rate;
};

typedef double planned_rate_fn(const void *arg, double step);
void planned_rates_write(struct buf *out, planned_rate_fn *, const void *arg,
                         int64_t steps);
/* Read lines that begin with a step and a rate; others are left out. */
void planned_rates_read(struct planned_rates *, char *text);
int planned_rates_load(struct planned_rates *, const struct run_info *,
                       struct err *);
/* Set the rates of these steps; there has to be one. */
void planned_rates_fill(const struct planned_rates *, double *rate,
                        int64_t from, int64_t steps);
void planned_rates_clear(struct planned_rates *);
