#pragma once

#include <stddef.h>

/*
 * paired - the mean of paired differences, and its standard error
 *
 *      struct paired p = paired_series(difference, n);
 *
 *      half = paired_half(&p, 0.05);
 *      ... the mean is p.mean, plus or minus half ...
 *
 * Runs of one sweep read the same windows in the same steps.  What makes one
 * batch harder than another adds to both losses, so the difference of the two
 * varies much less than either.  The differences of neighbouring steps are not
 * independent: the error of their mean follows from how much of one difference
 * is still in the next, or from the same for the means of PAIRED_BLOCKS blocks
 * of steps, whichever is larger.  It is not known if the steps are worth fewer
 * than PAIRED_WORTH independent ones.  Noise that is slower than all of the
 * steps cannot be seen in them; seeds are right in any case.
 */
enum { PAIRED_BLOCKS = 20, PAIRED_LEAST = 8, PAIRED_WORTH = 4 };

struct paired {
    size_t n;       /* differences */
    double mean;    /* NaN: there are none */
    double error;   /* standard error of the mean; NaN: too few */
    size_t freedom; /* degrees of freedom of that */
    /* Of the differences themselves, if they are independent; else NaN. */
    double deviation;
};

/* Of differences in the order of their steps; at least PAIRED_LEAST. */
struct paired paired_series(const double *difference, size_t n);
/* Of differences in an order in which they vary from place to place, such as
 * the tokens of a document, by the means of at most PAIRED_BLOCKS blocks; at
 * least PAIRED_LEAST.  Where all noise is slow, the interval is too narrow. */
struct paired paired_blocks(const double *difference, size_t n);
/* Of independent differences, such as one for each seed; at least two. */
struct paired paired_independent(const double *difference, size_t n);

/* Half of the interval that contains the true mean but for this probability;
 * NaN if it is not known. */
double paired_half(const struct paired *, double error);
/* The error of one of the differences between n things that leaves all of them
 * right, but for `error`, whichever is chosen as the best (Bonferroni). */
double paired_error(double error, size_t n);

/*
 * The two-sided p of McNemar's exact test: two things are tried in the same
 * cases, and in so many of them the first alone did well, or the second alone.
 * If both are equally good, one of these cases is as likely as the other.
 */
double paired_mcnemar(size_t first, size_t second);

/*
 * student - quantiles of Student's t-distribution
 *
 *      half = student_quantile(0.975, n - 1) * deviation / sqrt(n);
 *
 * is half of the 95 % interval of a mean.  The distribution function follows
 * Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
 */

/* p from 0.5 to below 1; freedom 1 or more. */
double student_quantile(double p, size_t freedom);
