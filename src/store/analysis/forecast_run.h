#pragma once

#include "store/read/runs.h"

/*
 * forecast_run - forecast the rest of a curve, and say how good that is
 *
 *      struct forecast_request r = { .key = "val/loss", .points = 50 };
 *
 *      if (forecast_run(&f, &r, &all, &run, e) < 0)
 *          return -1;
 *      for (i = 0; i < f.n; i++)
 *          ... f.point[i].value.low to .high at f.point[i].step
 *      forecast_run_clear(&f);
 *
 * gtrack(1), forecast, describes the law, and how its errors for other runs of
 * the store give the interval.  The learning rates still to come are
 * planned_rates, below.
 */
struct forecast_request {
    const char *key;
    int64_t at; /* forecast from this step; 0: the last one */
    int points; /* which divide the remaining steps evenly */
};

struct forecast_interval {
    double loss, low, high;
    double coverage; /* the probability that the interval contains the loss; 0:
                      * there are fewer than three other curves */
};

struct forecast_point {
    int64_t step;
    struct forecast_interval value;
    int64_t tested_on; /* other runs */
};

struct run_forecast {
    int64_t now, steps; /* from, and of the whole training */
    double last;        /* the mean of the latest values; NaN: none */
    int n;
    struct forecast_point *point;
};

/* Clear it after a failure, too. */
int forecast_run(struct run_forecast *, const struct forecast_request *,
                 const struct runs *all, const struct run_info *, struct err *);
void forecast_run_clear(struct run_forecast *);

/*
 * planned_rates - the learning rates that a run is going to have
 *
 *      planned_rates_write(&text, rate, &schedule, peak, steps);
 *      ... text.s becomes the artifact PLANNED_RATES of a run
 *
 *      if (planned_rates_load(&r, run, e) < 0)
 *          return -1;
 *      planned_rates_fill(&r, lr, from, steps);
 *      planned_rates_clear(&r);
 *
 * The file has lines of a step, which counts from 0, and its rate; between two
 * of them, the rate is on the line through them, with an error of at most a
 * millionth of the peak.  So no reader has to know schedules, and the
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
                         double peak, int64_t steps);
/* Read lines that begin with a step and a rate; others are left out. */
void planned_rates_read(struct planned_rates *, char *text);
int planned_rates_load(struct planned_rates *, const struct run_info *,
                       struct err *);
/* Set the rates of these steps; there has to be one. */
void planned_rates_fill(const struct planned_rates *, double *rate,
                        int64_t from, int64_t steps);
void planned_rates_clear(struct planned_rates *);
