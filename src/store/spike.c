#include "config.h"
#include "store/spike.h"

#include <math.h>

#include "common/num.h"

/* Sorts the values. */
static double median(double *x, size_t n)
{
    num_sort(x, n);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

double spike_score(const double *value, size_t i, double *middle)
{
    double x[SPIKE_WINDOW];
    size_t n = 0;

    for (size_t k = i; k-- > 0 && n < SPIKE_WINDOW;)
        if (isfinite(value[k]))
            x[n++] = value[k];
    *middle = (double)NAN;
    if (n < SPIKE_LEAST)
        return (double)NAN;
    *middle = median(x, n);
    for (size_t k = 0; k < n; k++)
        x[k] = fabs(x[k] - *middle);
    return (value[i] - *middle) / (1.4826 * median(x, n));
}
