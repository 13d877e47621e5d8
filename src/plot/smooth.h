#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * smooth - moving averages of a curve
 *
 * gplot(1), --smooth, describes the methods.  A Gaussian is cut at 4 sigma.
 * Values that are not finite are not counted, and are not changed.
 */
enum smooth_kind {
    SMOOTH_AUTO, /* as smooth_choice.h chooses */
    SMOOTH_NONE,
    SMOOTH_EMA,
    SMOOTH_MA,
    SMOOTH_GAUSS
};

struct smooth {
    enum smooth_kind kind;
    double amount;
};

/* Read "ema:0.98", "auto" or "none"; false, with *out unchanged, for anything
 * else. */
bool smooth_parse(const char *text, struct smooth *out);
/* The two arrays must differ. */
void smooth_apply(const struct smooth *, const double *in, double *out,
                  size_t n);
/* An exponential moving average of points, or, if `points` is not NULL, of an
 * outline: a block counts with all of its points, as if each had its mean. */
void smooth_ema(double beta, const double *in, const double *block,
                const uint32_t *points, double *out, size_t n);
/* The sigma of a point after `before` others: at most a third of them. */
double smooth_early(double sigma, double before);
/* About how many points a value averages. */
double smooth_points(const struct smooth *);
/* "Gaussian, sigma = 20 points", or "20 to 40" up to another amount. */
char *smooth_name(char out[80], const struct smooth *, double most);
