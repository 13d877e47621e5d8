#include "config.h"
#include "store/analysis/paired.h"

#include <math.h>
#include <stdlib.h>

#include "common/mem.h"
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
    struct series x = SERIES_INIT, y = SERIES_INIT;
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
