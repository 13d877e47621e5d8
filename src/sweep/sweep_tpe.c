/*
 * sweep_tpe - choose values where results are good
 *
 * The tree-structured Parzen estimator of Bergstra et al., "Algorithms for
 * hyper-parameter optimization" (2011), with the usual choices (Watanabe,
 * "Tree-structured Parzen estimator", 2023): the best tenth of the groups, at
 * most 25, give the density of good values, the others that of the rest; of 24
 * combinations drawn from the first, the one with the highest ratio of both is
 * taken.  A density is a mean of products, one for each group and one for the
 * whole ranges, which have a factor for each axis.
 */
#include "config.h"
#include "common/mem.h"
#include "sweep/sweep.h"

#include <math.h>
#include <string.h>

#include "common/num.h"
#include "common/rng.h"

enum { CANDIDATES = 24, MOST_GOOD = 25 };

/* Around a place in the range of an axis, from 0 to 1, a normal density that
 * ends with the range or, of choices, one that prefers this one.  Without a
 * place, which is below 0, it is that of the whole range. */
struct factor {
    const struct sweep_axis *axis;
    double at, spread;
};

struct density {
    struct factor *factor; /* of each product and axis */
    size_t n, n_axes;
};

struct draws {
    uint64_t seed, stream, i;
};

static double uniform(struct draws *d)
{
    return (double)rng_uniform(d->seed, d->stream, d->i++);
}

static double place_of(const struct sweep_axis *a, const char *value)
{
    double x = a->low - 1;

    for (size_t k = 0; a->kind == RANGE_CHOICE && k < a->n_args; k++)
        if (strcmp(a->arg[k], value) == 0)
            x = (double)k;
    if ((a->kind != RANGE_CHOICE && !num_real(value, &x)) ||
        !(x >= a->low && x <= a->high))
        return -1;
    return a->kind >= RANGE_INTEGER
               ? (x - a->low + 0.5) / (a->high - a->low + 1)
           : a->kind == RANGE_LOG ? log(x / a->low) / log(a->high / a->low)
                                  : (x - a->low) / (a->high - a->low);
}

/* The larger distance to a neighbour, but not much less than the range divided
 * among the values. */
static double spread_of(const struct density *d, size_t i)
{
    const double x = d->factor[i].at;
    double left = -1, right = 2;

    for (size_t k = i % d->n_axes; k < d->n * d->n_axes; k += d->n_axes) {
        const double y = d->factor[k].at;

        if (y >= 0 && (y < x || (y <= x && k < i)))
            left = fmax(left, y);
        else if (y >= 0 && k != i)
            right = fmin(right, y);
    }
    if (left < 0 && right > 1)
        return fmax(x, 1 - x);
    return fmax(1 / fmin(100, (double)d->n + 1),
                fmax(left < 0 ? 0 : x - left, right > 1 ? 0 : right - x));
}

/* Of the values of n cells. */
static struct density make_density(const struct sweep *s, const size_t *cell,
                                   size_t n)
{
    struct density d = { NULL, n + 1, s->n_axes };

    d.factor = xcalloc(d.n * d.n_axes, sizeof *d.factor);
    for (size_t i = 0; i < d.n * d.n_axes; i++) {
        const size_t k = i % d.n_axes, c = i / d.n_axes;
        const struct sweep_axis *a = &s->axis[k];

        d.factor[i] = (struct factor){ .axis = a, .at = -1 };
        if (c < n && a->random)
            d.factor[i].at = place_of(a, s->cell[cell[c]].value[k]);
    }
    for (size_t i = 0; i < d.n * d.n_axes; i++)
        d.factor[i].spread = spread_of(&d, i);
    return d;
}

/* The part of a factor of choices that prefers none. */
static double common_part(const struct factor *f, size_t n)
{
    return (double)f->axis->n_args / (double)(f->axis->n_args + n);
}

static double factor_at(const struct factor *f, size_t n, double t)
{
    const double m = (double)f->axis->n_args, z = 1 / (f->spread * M_SQRT2);

    if (f->at < 0)
        return 1;
    if (f->axis->kind == RANGE_CHOICE)
        return common_part(f, n) *
               (fabs(t - f->at) * m < 0.5 ? 1 + (double)n : 1);
    return M_2_SQRTPI * z * exp(-pow((t - f->at) * z, 2)) /
           (erf(f->at * z) + erf((1 - f->at) * z));
}

static double density_at(const struct density *d, const double *t)
{
    double sum = 0, product = 1;

    for (size_t i = 0; i < d->n * d->n_axes; i++) {
        product *= factor_at(&d->factor[i], d->n, t[i % d->n_axes]);
        if ((i + 1) % d->n_axes)
            continue;
        sum += product;
        product = 1;
    }
    return sum;
}

static double draw_factor(const struct factor *f, size_t n, struct draws *r)
{
    double t;

    if (f->at < 0)
        return uniform(r);
    if (f->axis->kind == RANGE_CHOICE)
        return uniform(r) < common_part(f, n) ? uniform(r) : f->at;
    do {
        const double far = sqrt(-2 * log(1 - uniform(r)));

        t = f->at + f->spread * far * cos(2 * M_PI * uniform(r));
    } while (!(t >= 0 && t < 1));
    return t;
}

void sweep_tpe_draw(struct sweep *s, const size_t *cell, size_t n,
                    uint64_t number, const char **value)
{
    const size_t tenth = (n + 9) / 10;
    const size_t n_good = tenth < MOST_GOOD ? tenth : MOST_GOOD;
    struct density good = make_density(s, cell, n_good);
    struct density rest = make_density(s, cell + n_good, n - n_good);
    struct draws r = { (uint64_t)s->seed, rng_stream(RNG_SWEEP, 0, number), 0 };
    double *t = xcalloc(s->n_axes, sizeof *t), most = -1;

    for (int i = 0; i < CANDIDATES; i++) {
        const size_t from = (size_t)(uniform(&r) * (double)good.n) * s->n_axes;
        double ratio;

        for (size_t k = 0; k < s->n_axes; k++)
            t[k] = draw_factor(&good.factor[from + k], good.n, &r);
        ratio = density_at(&good, t) / density_at(&rest, t);
        for (size_t k = 0; k < s->n_axes && ratio > most; k++)
            value[k] =
                s->axis[k].random ? sweep_value_at(s, &s->axis[k], t[k]) : "";
        most = fmax(ratio, most);
    }
    FREE(good.factor, rest.factor, t);
}
