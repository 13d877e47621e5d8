#include "config.h"
#include "common/stats/paired.h"

#include <math.h>

/* The probability of values from -t to t. */
static double inner_probability(double t, size_t freedom)
{
    const double angle = atan(t / sqrt((double)freedom));
    const double c2 = cos(angle) * cos(angle);
    const size_t odd = freedom % 2;
    double term = odd ? cos(angle) : 1, sum = 0;

    for (size_t k = 1; 2 * k <= freedom; k++) {
        const double top = (double)(2 * k - !odd), bottom = top + 1;

        sum += term;
        term *= c2 * top / bottom;
    }
    return odd ? M_2_PI * (angle + (freedom > 1 ? sin(angle) * sum : 0))
               : sin(angle) * sum;
}

double student_quantile(double p, size_t freedom)
{
    const size_t most = 10000; /* normal, to five digits, beyond that */
    const size_t f = freedom < most ? freedom : most;
    double low = 0, high = 1;

    while (inner_probability(high, f) < 2 * p - 1 && high < 1e12)
        high *= 2;
    for (int i = 0; i < 80; i++) {
        const double middle = (low + high) / 2;

        if (inner_probability(middle, f) < 2 * p - 1)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static double mean_of(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return n ? sum / (double)n : (double)NAN;
}

struct paired paired_independent(const double *x, size_t n)
{
    struct paired p = { n, mean_of(x, n), (double)NAN, 0, (double)NAN };
    double squares = 0;

    if (n < 2)
        return p;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - p.mean) * (x[i] - p.mean);
    p.freedom = n - 1;
    p.error = sqrt(squares / (double)(n - 1) / (double)n);
    p.deviation = sqrt(squares / (double)(n - 1));
    return p;
}

/* Blocks of at least four values; those that fill no block, at the beginning,
 * count in the mean alone. */
struct paired paired_blocks(const double *x, size_t n)
{
    const size_t blocks = n / 4 < PAIRED_BLOCKS ? n / 4 : PAIRED_BLOCKS;
    const size_t length = blocks ? n / blocks : 0;
    double mean[PAIRED_BLOCKS] = { 0 };
    struct paired p;

    for (size_t i = 0; i < blocks; i++)
        mean[i] = mean_of(x + n - (blocks - i) * length, length);
    p = paired_independent(mean, n < PAIRED_LEAST ? 0 : blocks);
    if (blocks)
        p.error *= sqrt((double)(blocks * length) / (double)n);
    p.mean = mean_of(x, n);
    p.n = n;
    return p;
}

/* Of values of which neighbours may be alike.  If each keeps a part r of the
 * one before, n of them are worth n (1 - r) / (1 + r) independent ones.  The
 * sample finds too small an r (Kendall, "Note on bias in the estimation of
 * autocorrelation", Biometrika 41, 1954), and not exactly, so `margin` standard
 * errors are added to what corrects this. */
static struct paired of_neighbours(const double *x, size_t n, double margin)
{
    const double mean = mean_of(x, n), count = (double)n;
    struct paired p = { .n = n, .mean = mean, .error = (double)NAN };
    double squares = 0, products = 0, r, worth;

    for (size_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    for (size_t i = 1; i < n; i++)
        products += (x[i] - mean) * (x[i - 1] - mean);
    r = squares > 0 ? (products / squares * count + 1) / (count - 4) : 0;
    r = fmax(0, r + margin * sqrt(fmax(0, 1 - r * r) / count));
    worth = count * (1 - r) / (1 + r);
    if (!(worth >= PAIRED_WORTH))
        return p;
    p.freedom = (size_t)worth - 1;
    p.error = sqrt(squares / (count - 1) / worth);
    return p;
}

struct paired paired_series(const double *x, size_t n)
{
    const size_t length = n / PAIRED_BLOCKS;
    double mean[PAIRED_BLOCKS];
    struct paired p = { .n = n, .mean = mean_of(x, n), .error = (double)NAN };
    struct paired blocks;

    if (n < PAIRED_LEAST)
        return p;
    p = of_neighbours(x, n, 1);
    if (length < 2)
        return p;
    for (size_t i = 0; i < PAIRED_BLOCKS; i++)
        mean[i] = mean_of(x + n - (PAIRED_BLOCKS - i) * length, length);
    blocks = of_neighbours(mean, PAIRED_BLOCKS, 0.5);
    if (!(blocks.error <= p.error))
        p.error = blocks.error;
    if (blocks.freedom < p.freedom)
        p.freedom = blocks.freedom;
    return p;
}

double paired_error(double error, size_t n)
{
    return n > 2 ? error / ((double)n * (double)(n - 1) / 2) : error;
}

double paired_half(const struct paired *p, double error)
{
    return p->freedom && isfinite(p->error)
               ? student_quantile(1 - error / 2, p->freedom) * p->error
               : (double)NAN;
}

double paired_mcnemar(size_t first, size_t second)
{
    const double n = (double)first + (double)second;
    const double least = (double)(first < second ? first : second);
    double sum = 0; /* of the binomial probabilities of 0 to `least` */

    for (double k = 0; k <= least; k++)
        sum +=
            exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2));
    return fmin(1, 2 * sum);
}
