#include "config.h"
#include "store/analysis/paired_runs.h"

#include <math.h>
#include <stdlib.h>

#include "common/mem.h"

/* The differences at the steps that both have; returns how many. */
static size_t subtract(const struct series *a, const struct series *b,
                       double *out)
{
    size_t n = 0;

    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        if (a->step[i] < b->step[k]) {
            i++;
        } else if (a->step[i] > b->step[k]) {
            k++;
        } else {
            const double d = a->value[i++] - b->value[k++];

            if (isfinite(d))
                out[n++] = d;
        }
    }
    return n;
}

int paired_runs(struct paired *p, const struct run_info *a,
                const struct run_info *b, const char *key, struct err *e)
{
    struct series x = { 0 }, y = { 0 };
    int ret = series_load(&x, a, key, LOAD_MAY_LACK, e);

    *p = (struct paired){ .mean = (double)NAN, .error = (double)NAN };
    if (ret == 0)
        ret = series_load(&y, b, key, LOAD_MAY_LACK, e);
    if (ret == 0) {
        double *d = xcalloc(x.n + 1, sizeof *d);
        const size_t n = subtract(&x, &y, d), last = (n + 3) / 4;

        *p = paired_series(d + n - last, last);
        free(d);
    }
    series_free(&x);
    series_free(&y);
    return ret;
}
