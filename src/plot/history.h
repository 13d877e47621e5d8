#ifndef PLOT_HISTORY_H
#define PLOT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "plot/request.h"
#include "store/load.h"

/*
 * history - one metric of a run, along the axis that was asked for
 *
 *      if (history_load(&h, run, "train/loss", req, e) < 0) ...
 *      for (i = 0; i < h.n; i++)
 *          h.x[i], h.y[i], h.step[i]
 *      history_free(&h);
 *
 * The default view of a run is one curve, whatever was saved and resumed: what
 * a resume took back is not there.  history_attempts() gives the parts that
 * the attempts wrote, each whole.
 */
struct history {
    size_t n;
    double *x, *y;
    int64_t *step, *ms;
    int attempt; /* 1, 2 ... or 0 for all together */
};

int history_load(struct history *, const struct run_info *, const char *key,
                 const struct request *, struct err *);
/* One for each attempt that wrote points; the caller frees the array too. */
int history_attempts(struct history **, size_t *n, const struct run_info *,
                     const char *key, const struct request *, struct err *);
/* Runs as one curve: each takes over at its first step. */
int history_stitch(struct history *, const struct run_info *, size_t n,
                   const char *const *names, const struct request *,
                   struct err *);
void history_free(struct history *);

/* Drop the points of the first steps. */
void history_skip(struct history *, int64_t steps);

/* The x of a step by linear interpolation; NaN outside. */
double history_x(const struct history *, int64_t step);

/* Steps at which later attempts begin. */
size_t history_resumes(const struct run_info *, const char *key, int64_t *step,
                       size_t room);

/* The first of some names, NULL-ended, that the run has; or NULL.  A name may
 * be a glob pattern.  With after, the one that follows it. */
const char *history_find(const struct run_info *, const char *const *names);

/* Axis for x: label and unit. */
void history_axis(const struct request *, struct axis *);

/* FLOPs that a token costs in training; NaN when the run does not tell. */
double history_flops_per_token(const struct run_info *);

/* The number behind a parameter or tag; false when it is none. */
bool history_number(const struct run_info *, const char *key, double *out);

#endif
