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
 * the store give the interval.  The learning rates still to come are read by
 * planned_rates.h.
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
