#include "config.h"
#include "plot/group.h"

#include <math.h>
#include <string.h>

#include "common/stats/student.h"

const char *group_value(const struct run_info *run, const char *param)
{
    const char *value = run_info_param(run, param);

    if (!value)
        value = run_info_tag(run, param);
    if (!value && strcmp(param, "name") == 0)
        value = run->name;
    /* "lr" finds "optim.lr" if nothing has just this name */
    for (size_t i = 0; i < run->n_params && !value; i++) {
        const char *dot = strrchr(run->params[i].key, '.');

        if (dot && strcmp(dot + 1, param) == 0)
            value = run->params[i].value;
    }
    return value;
}

void group_spread(enum band band, const double *v, size_t n, double *mean,
                  double *lo, double *hi)
{
    double sum = 0, square = 0, least = INFINITY, most = -INFINITY, half;

    for (size_t i = 0; i < n; i++) {
        sum += v[i];
        least = fmin(least, v[i]);
        most = fmax(most, v[i]);
    }
    *mean = n ? sum / (double)n : (double)NAN;
    *lo = *hi = *mean;
    if (n < 2)
        return;
    for (size_t i = 0; i < n; i++)
        square += (v[i] - *mean) * (v[i] - *mean);
    half = sqrt(square / (double)(n - 1));
    if (band == BAND_SEM)
        half /= sqrt((double)n);
    else if (band == BAND_CI95)
        half *= student_quantile(0.975, n - 1) / sqrt((double)n);
    *lo = band == BAND_MINMAX ? least : *mean - half;
    *hi = band == BAND_MINMAX ? most : *mean + half;
}

const char *group_band(enum band band)
{
    static const char *const name[] = {
        [BAND_STD] = "\xc2\xb1 one standard deviation",
        [BAND_SEM] = "\xc2\xb1 the standard error",
        [BAND_CI95] = "the 95% interval of the mean",
        [BAND_MINMAX] = "the lowest and the highest value",
    };

    return name[band];
}
