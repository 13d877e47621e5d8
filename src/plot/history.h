#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "plot/request.h"
#include "store/read/runs.h"

/*
 * history - one metric of a run, along the axis that was asked for
 *
 *      if (history_load(&h, run, "train/loss", req, e) < 0) ...
 *      for (i = 0; i < h.n; i++)
 *          h.x[i], h.y[i], h.step[i]
 *      history_free(&h);
 *
 * By default a run is one curve however often it was resumed: the points that a
 * resume retracted are left out.  history_attempts() gives all points of each
 * attempt.
 *
 * If the request says for how many columns of pixels, a long history is an
 * outline (store/read/outline.h), exact within the range of x that was asked
 * for.
 */
struct history {
    size_t n;
    double *x, *y;
    int64_t *step, *ms;
    double *mean; /* of an outline, as in struct series; or NULL */
    uint32_t *weight;
    double *smooth; /* see history_smooth() */
    bool coarse;    /* not all points of the wanted range are there */
    bool drawn;     /* x, y and smooth belong to a figure */
    size_t room;
    int attempt; /* 1, 2 ... or 0 for all together */
};

int history_load(struct history *, const struct run_info *, const char *key,
                 const struct request *, struct err *);
/* One for each attempt that wrote points; the caller frees the array, too. */
int history_attempts(struct history **, size_t *n, const struct run_info *,
                     const char *key, const struct request *, struct err *);
/* Runs as one curve: each replaces the points from its first step on. */
int history_stitch(struct history *, const struct run_info *, size_t n,
                   const char *const *names, const struct request *,
                   struct err *);
void history_free(struct history *);

/* The smoothed values: n numbers, computed the first time. */
const double *history_smooth(struct history *, const struct smooth *);

/* Drop the points of the first steps. */
void history_skip(struct history *, int64_t steps);

/* The x of a step by linear interpolation; NaN outside. */
double history_x(const struct history *, int64_t step);

/* The steps after which later attempts begin. */
size_t history_resumes(const struct run_info *, const char *key, int64_t *step,
                       size_t room);

/* The first of some names, ended by NULL, that is a metric of the run; or NULL.
 * A name may be a pattern, or an expression (expression.h). */
const char *history_find(const struct run_info *, const char *const *names);

/* A curve of the points, which the figure takes over; they may be read, also
 * for another curve, until history_free(). */
struct curve *history_curve(struct figure *, struct panel *, const char *label,
                            struct history *);

/* The label and the unit of the x axis. */
void history_axis(const struct request *, struct axis *);
