#include "config.h"
#include "common/stats/correlation.h"

#include <math.h>
#include <stdlib.h>

#include "common/mem.h"

struct place {
    double value;
    size_t at;
};

static int by_value(const void *a, const void *b)
{
    const double x = ((const struct place *)a)->value;
    const double y = ((const struct place *)b)->value;

    return (x > y) - (x < y);
}

/* Replace values by their ranks. */
static void to_ranks(double *v, size_t n)
{
    struct place *p = xcalloc(n + 1, sizeof *p);

    for (size_t i = 0; i < n; i++)
        p[i] = (struct place){ v[i], i };
    qsort(p, n, sizeof *p, by_value);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && by_value(&p[i], &p[end]) == 0;)
            end++;
        for (size_t k = i; k < end; k++)
            v[p[k].at] = (double)(i + end - 1) / 2;
    }
    free(p);
}

static double product_moment(const double *x, const double *y, size_t n)
{
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;

    for (size_t i = 0; i < n; i++) {
        mx += x[i] / (double)n;
        my += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
        xy += (x[i] - mx) * (y[i] - my);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : (double)NAN;
}

double correlation_ranks(const double *x, const double *y, size_t n,
                         size_t *used)
{
    double *a = xcalloc(n + 1, sizeof *a), *b = xcalloc(n + 1, sizeof *b);
    size_t k = 0;
    double rho;

    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i]))
            continue;
        a[k] = x[i];
        b[k++] = y[i];
    }
    to_ranks(a, k);
    to_ranks(b, k);
    rho = product_moment(a, b, k);
    *used = k;
    free(a);
    free(b);
    return rho;
}
