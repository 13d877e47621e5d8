/*
 * paired - intervals contain the truth as often as they say
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "common/rng.h"
#include "common/stats/paired.h"
#include "common/stats/student.h"
#include "t/lib/tap.h"

enum { CASES = 1000 };

/* A normal number, by Box and Muller. */
static double normal(uint64_t stream, uint64_t i)
{
    const double u = 1 - (double)rng_uniform(7, stream, 2 * i);
    const double v = (double)rng_uniform(7, stream, 2 * i + 1);

    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* Differences with this mean; each keeps a part of the one before. */
static void draw(double *x, size_t n, double mean, double keep, uint64_t stream)
{
    double last = normal(stream, 0);

    for (size_t i = 0; i < n; i++) {
        last = keep * last + sqrt(1 - keep * keep) * normal(stream, i + 1);
        x[i] = mean + last;
    }
}

typedef struct paired interval_fn(const double *, size_t);

/* Percent of the 95 % intervals that contain the true mean. */
static double coverage(interval_fn *interval, size_t n, double keep)
{
    double *x = calloc(n, sizeof *x);
    int hits = 0;

    for (uint64_t k = 0; k < CASES; k++) {
        struct paired p;

        draw(x, n, 0.3, keep, k + 1);
        p = interval(x, n);
        hits += fabs(p.mean - 0.3) <= paired_half(&p, 0.05);
    }
    free(x);
    return 100.0 * hits / CASES;
}

static void intervals_cover(void)
{
    static const struct {
        interval_fn *interval;
        size_t n;
        double keep, least, most;
        const char *name;
    } rows[] = {
        { paired_independent, 5, 0, 93, 97,
          "intervals of five seeds contain the truth in 95 % of cases" },
        { paired_series, 8, 0, 92.5, 97.5,
          "intervals of eight steps contain the truth in 95 % of cases" },
        { paired_series, 500, 0, 93, 97,
          "intervals of independent steps contain the truth in 95 % of cases" },
        { paired_series, 500, 0.6, 92, 97,
          "intervals of dependent steps contain the truth in 95 % of cases" },
        { paired_series, 2007, 0.9, 91, 97,
          "intervals of very dependent steps nearly do so" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const double got = coverage(rows[i].interval, rows[i].n, rows[i].keep);

        if (!ok(got >= rows[i].least && got <= rows[i].most, "%s",
                rows[i].name))
            diag("it is %.1f %%", got);
    }
}

static void quantiles(void)
{
    static const struct {
        double p;
        size_t freedom;
        double t;
    } rows[] = { { 0.975, 1, 12.7062 },    { 0.975, 2, 4.302653 },
                 { 0.975, 3, 3.182446 },   { 0.975, 30, 2.042272 },
                 { 0.95, 4, 2.131847 },    { 0.995, 10, 3.169273 },
                 { 0.9995, 19, 3.883406 }, { 0.975, 100000, 1.959964 } };
    bool equal = true;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        equal &= fabs(student_quantile(rows[i].p, rows[i].freedom) / rows[i].t -
                      1) < 2e-4;
    ok(equal, "quantiles of Student's t-distribution are those of tables");
}

static void too_few(void)
{
    static const double x[7] = { 1, 2, 3, 4, 5, 6, 7 };
    const struct paired none = paired_series(x, 0), few = paired_series(x, 7);
    const struct paired one = paired_independent(x, 1);

    ok(isnan(none.mean) && isnan(paired_half(&none, 0.05)),
       "no differences have no mean");
    ok(few.mean == 4 && isnan(paired_half(&few, 0.05)),
       "seven steps have a mean and no interval");
    ok(one.mean == 1 && isnan(paired_half(&one, 0.05)),
       "one seed has a mean and no interval");
}

int main(void)
{
    quantiles();
    intervals_cover();
    too_few();
    return done_testing();
}
