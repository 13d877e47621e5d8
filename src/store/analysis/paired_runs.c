#include "config.h"
#include "store/analysis/paired_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static const char *seed_of(const struct run_info *run)
{
    const char *seed = run_info_param(run, "train.seed");

    return seed ? seed : run_info_param(run, "seed");
}

static const struct run_info *find_seed(const struct run_info *const *run,
                                        size_t n, const char *seed)
{
    for (size_t i = 0; seed && i < n; i++)
        if (seed_of(run[i]) && strcmp(seed_of(run[i]), seed) == 0)
            return run[i];
    return NULL;
}

int paired_groups(struct paired *p, const struct run_info *const *a, size_t n,
                  const struct run_info *const *b, size_t n_b, const char *key,
                  struct err *e)
{
    double *diff = xcalloc(n, sizeof *diff);
    size_t found = 0;
    int ret = 0;

    *p = (struct paired){ .mean = (double)NAN, .error = (double)NAN };
    for (size_t i = 0; ret == 0 && i < n; i++) {
        const struct run_info *other =
            n == 1 && n_b == 1 ? b[0] : find_seed(b, n_b, seed_of(a[i]));

        if (!other)
            continue;
        ret = paired_runs(p, a[i], other, key, e);
        if (isfinite(p->mean))
            diff[found++] = p->mean;
    }
    if (found != 1)
        *p = paired_independent(diff, found);
    free(diff);
    return ret;
}
