#include "config.h"
#include "store/analysis/forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/stats/least_squares.h"
#include "common/mem.h"
#include "common/num.h"

enum { POINTS = 64, TERMS = 3 };

/* The factors of L0, A and C in the law: 1, S1^-a, -S2. */
struct point {
    double s1, s2, loss;
};

struct law {
    double factor[TERMS]; /* L0, A, C */
    double exponent;
};

double forecast_mean(const struct loss_curve *c, int64_t step)
{
    const int64_t few = step / 10 < 25 ? step / 10 : 25;
    const int64_t n = step / 50 > few ? step / 50 : few > 0 ? few : 1;
    double sum = 0;
    int64_t found = 0;

    for (int64_t i = step - 1; i >= 0 && (i >= step - n || found == 0); i--)
        if (isfinite(c->loss[i])) {
            sum += c->loss[i];
            found++;
        }
    return found ? sum / (double)found : (double)NAN;
}

/* S1 and S2 after each step, with the highest rate as the unit. */
static void add_rates(const struct loss_curve *c, double *s1, double *s2)
{
    const double keep = 0.99;
    double top = 0, sum = 0, drop = 0, drops = 0;

    for (int64_t i = 0; i < c->steps; i++)
        top = fmax(top, c->lr[i]);
    for (int64_t i = 0; i < c->steps; i++) {
        const double rate = top > 0 ? c->lr[i] / top : 1;
        const double before = i > 0 && top > 0 ? c->lr[i - 1] / top : rate;

        sum += rate;
        drop = keep * drop + fmax(0, before - rate);
        drops += drop;
        s1[i] = sum;
        s2[i] = drops;
    }
}

/* The means of the losses from a fifth of the steps up to `now`. */
static int make_points(const struct loss_curve *c, int64_t now,
                       const double *s1, const double *s2, struct point *p)
{
    const int64_t from = now / 5;
    int n = 0;

    for (int k = 0; k < POINTS; k++) {
        const int64_t begin = from + (now - from) * k / POINTS;
        const int64_t end = from + (now - from) * (k + 1) / POINTS;
        double sum = 0;
        int64_t found = 0, steps = 0;

        for (int64_t i = begin; i < end; i++)
            if (isfinite(c->loss[i])) {
                sum += c->loss[i];
                steps += i;
                found++;
            }
        if (found > 0) {
            const int64_t middle = steps / found;

            p[n++] =
                (struct point){ s1[middle], s2[middle], sum / (double)found };
        }
    }
    return n;
}

static void terms_of(const struct point *p, double exponent, double x[TERMS])
{
    x[0] = 1;
    x[1] = pow(p->s1, -exponent);
    x[2] = -p->s2;
}

/* L0, A and C are not negative: training does not make a model worse.  As long
 * as the rate has hardly fallen, noise decides about C, so it has a bound. */
static bool fit_law(struct law *best, const struct point *p, int n, double most)
{
    double x[POINTS * TERMS], y[POINTS];
    struct least_squares l = {
        .x = x, .stride = TERMS, .y = y, .n = (size_t)n
    };
    double least = INFINITY;

    for (double exponent = 0.05; exponent <= 2; exponent += 0.05) {
        bool good;

        for (int i = 0; i < n; i++) {
            terms_of(&p[i], exponent, x + i * TERMS);
            y[i] = p[i].loss;
        }
        good = least_squares_fit(&l, TERMS) && l.factor[2] >= 0;
        if (good && l.factor[2] > most) {
            for (int i = 0; i < n; i++)
                y[i] += most * p[i].s2;
            good = least_squares_fit(&l, TERMS - 1);
            l.factor[2] = most;
        }
        good = good || least_squares_fit(&l, TERMS - 1);
        if (good && l.factor[0] < 0) { /* without L0 */
            l.x = x + 1;
            good = least_squares_fit(&l, 1);
            l.x = x;
            l.factor[1] = l.factor[0];
            l.factor[0] = 0;
        }
        if (!good || l.factor[1] < 0 || l.squares >= least)
            continue;
        least = l.squares;
        best->exponent = exponent;
        memcpy(best->factor, l.factor, sizeof best->factor);
    }
    return isfinite(least);
}

/* The loss that the law predicts; NaN if it is not positive. */
static double apply_law(const struct law *law, double s1, double s2)
{
    const struct point at = { s1, s2, 0 };
    double x[TERMS], loss = 0;

    terms_of(&at, law->exponent, x);
    for (int k = 0; k < TERMS; k++)
        loss += law->factor[k] * x[k];
    return loss > 0 ? loss : (double)NAN;
}

/* The C with which the rest of the schedule takes a seventh off the loss. */
static double most_drop(const struct loss_curve *c, int64_t now,
                        const double *s2)
{
    const double rest = s2[c->steps - 1] - s2[now - 1];

    return rest > 0 ? forecast_mean(c, now) / 7 / rest : (double)INFINITY;
}

static bool falls(const struct point *p, int n)
{
    double half[2] = { 0, 0 };

    for (int i = 0; i < n; i++)
        half[i >= (n + 1) / 2] += p[i].loss;
    return half[0] / ((n + 1) / 2) > half[1] / (n / 2);
}

void forecast_losses(const struct loss_curve *c, int64_t now,
                     const int64_t *step, int n, double *loss)
{
    double *s1, *s2;
    struct point p[POINTS];
    struct law law = { .exponent = 0 };
    int seen;

    for (int i = 0; i < n; i++)
        loss[i] = (double)NAN;
    if (now < FORECAST_LEAST || now > c->steps)
        return;
    s1 = xcalloc((size_t)c->steps, sizeof *s1);
    s2 = xcalloc((size_t)c->steps, sizeof *s2);
    add_rates(c, s1, s2);
    seen = make_points(c, now, s1, s2, p);
    if (seen >= FORECAST_VALUES && falls(p, seen) &&
        fit_law(&law, p, seen, most_drop(c, now, s2)))
        for (int i = 0; i < n; i++)
            if (step[i] >= 1 && step[i] <= c->steps)
                loss[i] =
                    fmin(forecast_mean(c, now),
                         apply_law(&law, s1[step[i] - 1], s2[step[i] - 1]));
    free(s1);
    free(s2);
}

struct forecast_interval forecast_interval(double loss, double *ratio,
                                           int64_t n, double most)
{
    struct forecast_interval f = { fmin(loss, most), (double)NAN, (double)NAN,
                                   0 };
    int64_t cut = (n + 1) / 20; /* of each end: 90 % remain */

    if (n < 3)
        return f;
    cut = cut > 0 ? cut : 1;
    num_sort(ratio, (size_t)n);
    f.loss = fmin(loss * ratio[n / 2], most);
    f.low = fmin(loss * ratio[cut - 1], most);
    f.high = fmin(loss * ratio[n - cut], most);
    f.coverage = 1 - 2 * (double)cut / (double)(n + 1);
    return f;
}
