/*
 * paired - intervals contain the truth as often as they say
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "common/rng.h"
#include "common/stats/paired.h"
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
        { paired_blocks, 8, 0, 92.5, 97.5,
          "intervals of eight tokens contain the truth in 95 % of cases" },
        { paired_series, 500, 0, 95, 100,
          "intervals of independent steps contain the truth in 95 % of cases" },
        { paired_series, 500, 0.6, 95, 100,
          "intervals of dependent steps contain the truth in 95 % of cases" },
        { paired_series, 2007, 0.9, 95, 100,
          "intervals of very dependent steps contain it in 95 % of cases" },
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

/* ---- sweeps ------------------------------------------------------------ */

/* A sweep of k groups, each of which has some seeds with this many differences,
 * of which each keeps a part of the one before; `slow` adds as much independent
 * noise.  The best mean is chosen, and each other group is dropped if it is
 * worse; one of them may be worse by some standard errors of the truth. */
struct sweep_case {
    size_t k, seeds, n;
    double keep;
    bool slow;
    double most; /* percent of sweeps in which a group is dropped wrongly */
};

static void draw_sweep(const struct sweep_case *c, uint64_t number, double *x)
{
    for (size_t i = 0; i < c->k * c->seeds; i++) {
        const uint64_t stream = 1 + number * 1000 + 2 * i;
        double *one = x + i * c->n;

        draw(one, c->n, 0, c->keep, stream);
        for (size_t j = 0; c->slow && j < c->n; j++)
            one[j] += normal(stream + 1, j);
    }
}

/* Of a group minus that of another, over seeds, or of one seed over steps. */
static struct paired difference(const struct sweep_case *c, const double *x,
                                size_t group, size_t other, double *room)
{
    struct paired p = { 0 };
    double mean[16];

    for (size_t s = 0; s < c->seeds; s++) {
        const double *a = x + (group * c->seeds + s) * c->n;
        const double *b = x + (other * c->seeds + s) * c->n;

        for (size_t j = 0; j < c->n; j++)
            room[j] = a[j] - b[j];
        p = paired_series(room, c->n);
        mean[s] = p.mean;
    }
    return c->seeds > 1 ? paired_independent(mean, c->seeds) : p;
}

/* Percent of sweeps that drop one of the equal groups. */
static double wrong_drops(const struct sweep_case *c)
{
    double *x = calloc(c->k * c->seeds * c->n, sizeof *x);
    double *room = calloc(c->n, sizeof *room);
    const double error = paired_error(0.05, c->k);
    int wrong = 0;

    for (uint64_t number = 0; number < CASES; number++) {
        bool dropped = false;
        size_t best = 0;

        draw_sweep(c, number, x);
        for (size_t g = 1; g < c->k; g++)
            if (difference(c, x, g, best, room).mean < 0)
                best = g;
        for (size_t g = 0; g < c->k; g++) {
            const struct paired p = difference(c, x, g, best, room);

            dropped |= g != best && p.mean > paired_half(&p, error);
        }
        wrong += dropped;
    }
    free(room);
    free(x);
    return 100.0 * wrong / CASES;
}

static void sweeps_keep_the_best(void)
{
    static const struct sweep_case cases[] = {
        { 2, 1, 50, 0, false, 5 },     { 4, 1, 50, 0, false, 5 },
        { 9, 1, 50, 0, false, 5 },     { 27, 1, 50, 0, false, 5 },
        { 2, 1, 250, 0, false, 5 },    { 9, 1, 250, 0, false, 5 },
        { 27, 1, 250, 0, false, 5 },   { 2, 1, 50, 0.9, false, 5 },
        { 9, 1, 50, 0.9, false, 5 },   { 27, 1, 50, 0.9, false, 5 },
        { 2, 1, 250, 0.9, false, 5 },  { 9, 1, 250, 0.9, false, 5 },
        { 27, 1, 250, 0.9, false, 5 }, { 9, 1, 250, 0.98, false, 5 },
        { 2, 1, 250, 0.9, true, 5 },   { 9, 1, 250, 0.9, true, 10 },
        { 2, 3, 50, 0.98, true, 5 },   { 9, 3, 50, 0.98, true, 5 },
        { 27, 3, 50, 0.98, true, 5 },  { 9, 8, 50, 0.98, true, 5 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct sweep_case *c = &cases[i];
        const double got = wrong_drops(c);

        ok(got <= c->most,
           "of 1,000 sweeps few drop a group that is as good as the best");
        diag("| %zu | %zu | %zu | %.2f | %s | %.1f |", c->k, c->seeds, 4 * c->n,
             c->keep, c->slow ? "yes" : "no", got);
    }
}

/* Nine groups, one of which is worse by the deviation of a step. */
static void sweeps_drop_the_worse(void)
{
    static const struct sweep_case c = { 9, 1, 250, 0, false, 0 };
    double x[9 * 250], room[250];
    int dropped = 0;

    for (uint64_t number = 0; number < 200; number++) {
        struct paired p;

        draw_sweep(&c, number, x);
        for (size_t i = 0; i < c.n; i++)
            x[c.n + i] += 1;
        p = difference(&c, x, 1, 0, room);
        dropped += p.mean > paired_half(&p, paired_error(0.05, c.k));
    }
    ok(dropped >= 180,
       "a group that is worse by the noise of a step is dropped "
       "in 9 of 10 sweeps");
    diag("in %d of 200", dropped);
}

/* As Python's fractions give it: twice the sum of comb(n, i) / 2 ** n. */
static void mcnemar(void)
{
    static const struct {
        size_t first, second;
        double p;
    } cases[] = {
        { 0, 0, 1 },
        { 1, 0, 1 },
        { 0, 6, 0.03125 },
        { 5, 1, 0.21875 },
        { 7, 7, 1 },
        { 7, 8, 1 },
        { 3, 17, 0.002576828002929688 },
        { 10, 25, 0.01667384780012071 },
        { 100, 140, 0.01166409231767766 },
        { 1000, 1100, 0.0307207078642423 },
        { 1100, 1000, 0.0307207078642423 },
        { 5000, 5321, 0.001632306256595368 },
        { 0, 1000, 1.866527237006438e-301 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double p = paired_mcnemar(cases[i].first, cases[i].second);

        ok(fabs(p / cases[i].p - 1) < 1e-10,
           "McNemar's test of %zu and %zu cases gives the exact p",
           cases[i].first, cases[i].second);
        if (!(fabs(p / cases[i].p - 1) < 1e-10))
            diag("p is %.17g", p);
    }
}

int main(void)
{
    sweeps_keep_the_best();
    sweeps_drop_the_worse();
    quantiles();
    intervals_cover();
    too_few();
    mcnemar();
    return done_testing();
}
