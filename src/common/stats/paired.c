#include "config.h"
#include "common/stats/paired.h"

#include <math.h>

#include "common/stats/student.h"

static double mean_of(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return n ? sum / (double)n : (double)NAN;
}

struct paired paired_independent(const double *x, size_t n)
{
    struct paired p = { .n = n, .mean = mean_of(x, n), .error = (double)NAN };
    double squares = 0;

    if (n < 2)
        return p;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - p.mean) * (x[i] - p.mean);
    p.freedom = n - 1;
    p.error = sqrt(squares / (double)(n - 1) / (double)n);
    return p;
}

/* Blocks of at least four steps; those that fill no block, at the beginning,
 * count in the mean alone. */
struct paired paired_series(const double *x, size_t n)
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

double paired_half(const struct paired *p, double error)
{
    return p->freedom && isfinite(p->error)
               ? student_quantile(1 - error / 2, p->freedom) * p->error
               : (double)NAN;
}
