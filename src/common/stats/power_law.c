#include "config.h"
#include "common/stats/power_law.h"

#include <math.h>

bool power_law_fit(struct power_law *f, const double *x, const double *y,
                   size_t n)
{
    double mx = 0, my = 0, xx = 0, xy = 0, yy = 0;

    for (size_t i = 0; i < n; i++) {
        if (!(x[i] > 0) || !(y[i] > 0) || !isfinite(x[i]) || !isfinite(y[i]))
            return false;
        mx += log(x[i]);
        my += log(y[i]);
    }
    if (n < 3)
        return false;
    mx /= (double)n;
    my /= (double)n;
    for (size_t i = 0; i < n; i++) {
        const double dx = log(x[i]) - mx, dy = log(y[i]) - my;

        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    if (xx < 1e-12 * (1 + mx * mx))
        return false;
    f->b = -xy / xx;
    f->a = exp(my + f->b * mx);
    f->r2 = yy > 0 ? xy * xy / (xx * yy) : 1;
    return true;
}
