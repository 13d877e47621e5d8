#ifndef PLOT_DRAW_AXIS_H
#define PLOT_DRAW_AXIS_H

#include "common/mem.h"
#include "plot/draw/figure.h"

/*
 * axis - scales, ranges and ticks, chosen for the data
 *
 * axis_scale() decides between linear and logarithmic from the values.
 * axis_range() takes their extremes, widened a little and, when linear, to
 * zero if that is near.  axis_ticks() fills label, unit and ticks; `most` is
 * how many labels there is room for.  Ticks
 * that are there already stay.  Strings belong to the arena.
 */
void axis_init(struct axis *, const char *label, enum unit);
void axis_scale(struct axis *, const double *values, size_t n);
void axis_range(struct axis *, double lo, double hi, double margin);
void axis_ticks(struct axis *, struct arena *, int most);
/* Ticks that are names, at 0, 1, 2 ... */
void axis_names(struct axis *, struct arena *, const char *const *name,
                size_t n, int most);

/* 0 at the lower end of the axis, 1 at the upper; NaN where log has none. */
double axis_place(const struct axis *, double value);

/* Are these values, sorted, spaced more evenly by ratio than by difference? */
bool axis_geometric(const double *sorted, size_t n);

/* A value as it is written in a sentence: "3.2145", "6e-4", "1.50 GiB". */
char *axis_value(char out[32], enum unit, double value);

#endif
