#include "config.h"
#include "track/forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"

enum { POINTS = 64, TERMS = 3 };

/* What the law multiplies: 1, S1^-a, -S2. */
struct point {
    double s1, s2, loss;
};

struct law {
    double factor[TERMS]; /* L0, A, C */
    double exponent, squares;
};

double forecast_mean(const struct loss_curve *c, int64_t step)
{
    const int64_t n = step / 50 > 0 ? step / 50 : 1;
    double sum = 0;
    int64_t found = 0;

    for (int64_t i = step - n; i < step; i++)
        if (i >= 0 && isfinite(c->loss[i])) {
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
        int64_t found = 0;

        for (int64_t i = begin; i < end; i++)
            if (isfinite(c->loss[i])) {
                sum += c->loss[i];
                found++;
            }
        if (found > 0) {
            const int64_t middle = (begin + end - 1) / 2;

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

/* Solve the first n equations by elimination; false if they are singular. */
static bool solve(double m[TERMS][TERMS + 1], int n, double out[TERMS])
{
    for (int i = 0; i < n; i++) {
        for (int r = i + 1; r < n; r++)
            if (fabs(m[r][i]) > fabs(m[i][i]))
                for (int k = 0; k <= TERMS; k++) {
                    const double swap = m[i][k];

                    m[i][k] = m[r][k];
                    m[r][k] = swap;
                }
        if (fabs(m[i][i]) < 1e-12)
            return false;
        for (int r = i + 1; r < n; r++) {
            const double f = m[r][i] / m[i][i];

            for (int k = i; k <= TERMS; k++)
                m[r][k] -= f * m[i][k];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        out[i] = m[i][TERMS];
        for (int k = i + 1; k < n; k++)
            out[i] -= m[i][k] * out[k];
        out[i] /= m[i][i];
    }
    return true;
}

/* Least squares with the first `terms` terms. */
static bool fit_terms(struct law *law, const struct point *p, int n, int terms)
{
    double m[TERMS][TERMS + 1] = { { 0 } }, x[TERMS];

    for (int i = 0; i < n; i++) {
        terms_of(&p[i], law->exponent, x);
        for (int r = 0; r < terms; r++) {
            for (int k = 0; k < terms; k++)
                m[r][k] += x[r] * x[k];
            m[r][TERMS] += x[r] * p[i].loss;
        }
    }
    memset(law->factor, 0, sizeof law->factor);
    if (!solve(m, terms, law->factor))
        return false;
    law->squares = 0;
    for (int i = 0; i < n; i++) {
        double error = -p[i].loss;

        terms_of(&p[i], law->exponent, x);
        for (int k = 0; k < terms; k++)
            error += law->factor[k] * x[k];
        law->squares += error * error;
    }
    return true;
}

/* A and C are not negative: training does not make a model worse. */
static bool fit_law(struct law *best, const struct point *p, int n)
{
    bool found = false;

    for (double exponent = 0.05; exponent <= 2; exponent += 0.05) {
        struct law law = { .exponent = exponent };
        bool good = fit_terms(&law, p, n, TERMS) && law.factor[2] >= 0;

        good = good || fit_terms(&law, p, n, TERMS - 1);
        if (good && law.factor[1] >= 0 && law.factor[0] >= 0 &&
            (!found || law.squares < best->squares)) {
            *best = law;
            found = true;
        }
    }
    return found;
}

bool forecast_loss(const struct loss_curve *c, int64_t now, int64_t step,
                   double *loss)
{
    double *s1, *s2, x[TERMS];
    struct point p[POINTS];
    struct law law = { .exponent = 0 };
    int n;
    bool good = false;

    if (now < FORECAST_LEAST || now > c->steps || step > c->steps || step < 1)
        return false;
    s1 = xcalloc((size_t)c->steps, sizeof *s1);
    s2 = xcalloc((size_t)c->steps, sizeof *s2);
    add_rates(c, s1, s2);
    n = make_points(c, now, s1, s2, p);
    if (n >= POINTS / 2 && fit_law(&law, p, n)) {
        const struct point at = { s1[step - 1], s2[step - 1], 0 };

        terms_of(&at, law.exponent, x);
        *loss = 0;
        for (int k = 0; k < TERMS; k++)
            *loss += law.factor[k] * x[k];
        good = *loss > 0;
    }
    free(s1);
    free(s2);
    return good;
}

struct forecast_interval forecast_interval(double loss, double *ratio,
                                           int64_t n)
{
    struct forecast_interval f = { loss, (double)NAN, (double)NAN, 0 };
    int64_t cut = (n + 1) / 20; /* of each end: 90 % remain */

    if (n < 3)
        return f;
    cut = cut > 0 ? cut : 1;
    num_sort(ratio, (size_t)n);
    f.loss = loss * ratio[n / 2];
    f.low = loss * ratio[cut - 1];
    f.high = loss * ratio[n - cut];
    f.coverage = 1 - 2 * (double)cut / (double)(n + 1);
    return f;
}
