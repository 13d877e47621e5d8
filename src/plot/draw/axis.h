#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/mem.h"

/*
 * axis - scales, ranges and ticks, chosen for the data
 *
 * axis_scale() chooses between a linear and a logarithmic scale.  axis_range()
 * sets the ends that are open to the extremes of the values, widened by a
 * margin; a linear axis begins at zero if that is near.  axis_ticks() sets the
 * ticks, if there are none yet, and the label with its unit; `most` is the
 * number of tick labels that fit.  Strings belong to the arena.
 */

/* The unit of an axis, by which its ticks are written. */
enum unit {
    UNIT_NONE,     /* 3.25, 6e-4 */
    UNIT_COUNT,    /* 500, 20k, 3B */
    UNIT_BYTES,    /* in KiB, MiB or GiB */
    UNIT_SECONDS,  /* in s, min, h or days */
    UNIT_PERCENT,  /* 0..100, as in the store */
    UNIT_FRACTION, /* 0..1, shown in percent */
    UNIT_NAMED,    /* the ticks are names, not numbers */
};

enum scale { SCALE_AUTO, SCALE_LINEAR, SCALE_LOG };

struct tick {
    double at;
    const char *label; /* "" for a minor tick */
};

struct axis {
    const char *label; /* "memory" */
    const char *shown; /* "memory (GiB)", set by axis_ticks() */
    enum unit unit;
    enum scale scale;
    bool from_zero; /* a linear axis begins at zero */
    bool settles;   /* the values of the first steps may be left out */
    bool whole;     /* no value may be left out */
    bool fixed;     /* the upper end stays: it was asked for */
    double lo, hi;  /* NaN: to be chosen */
    double margin;  /* part of the range kept free at both ends */
    double factor;  /* numbers are divided by it before they are shown */
    struct tick *tick;
    size_t n_ticks, tick_room;
    int most; /* ticks that fit; 0: they were given */
};

void axis_init(struct axis *, const char *label, enum unit);
void axis_scale(struct axis *, const double *values, size_t n);
void axis_range(struct axis *, double lo, double hi, double margin);
void axis_ticks(struct axis *, struct arena *, int most);
/* Set the upper end to hi + part * (hi - lo). */
void axis_extend(struct axis *, double part, double lo, double hi);
/* Choose the ticks again, after a change of the range. */
void axis_renew(struct axis *, struct arena *);
/* An axis like this one, with the ticks that each of its parts would have. */
void axis_finer(struct axis *fine, const struct axis *, struct arena *,
                int parts);
/* Names for ticks, at 0, 1, 2 ... */
void axis_names(struct axis *, struct arena *, const char *const *name,
                size_t n, int most);

/* Leave at most `most` names, evenly spaced. */
void axis_thin_names(struct axis *, int most);

/* 0 at the lower end of the axis, 1 at the upper end; NaN for what a
 * logarithmic axis cannot show. */
static inline double axis_place(const struct axis *a, double value)
{
    if (a->scale != SCALE_LOG)
        return (value - a->lo) / (a->hi - a->lo);
    return value <= 0 ? (double)NAN : log(value / a->lo) / log(a->hi / a->lo);
}
double axis_value_at(const struct axis *, double place);

/* Characters of the widest tick label. */
size_t axis_widest(const struct axis *);

/* Are these values, in any order, spaced more evenly by ratio than by
 * difference?  Equal ones count once. */
bool axis_geometric(const double *, size_t n);

/* A value as text: "3.2145", "6e-4", "1.50 GiB". */
char *axis_value(char out[32], enum unit, double value);
