#include "config.h"
#include "common/stats/scaling_law.h"

#include <math.h>
#include <string.h>

#include "common/mem.h"

/* A row of factors, and the value of their sum. */
struct equation {
    double factor[LEAST_SQUARES_TERMS], value;
};

static void subtract(struct equation *from, const struct equation *e, double f)
{
    for (int k = 0; k < LEAST_SQUARES_TERMS; k++)
        from->factor[k] -= f * e->factor[k];
    from->value -= f * e->value;
}

/* Bring the row with the largest factor of unknown i to place i. */
static void choose_pivot(struct equation *e, int i, int n)
{
    for (int r = i + 1; r < n; r++)
        if (fabs(e[r].factor[i]) > fabs(e[i].factor[i])) {
            const struct equation swap = e[i];

            e[i] = e[r];
            e[r] = swap;
        }
}

static bool solve(struct equation *e, int n, double *out)
{
    for (int i = 0; i < n; i++) {
        choose_pivot(e, i, n);
        if (fabs(e[i].factor[i]) < 1e-12)
            return false;
        for (int r = i + 1; r < n; r++)
            subtract(&e[r], &e[i], e[r].factor[i] / e[i].factor[i]);
    }
    for (int i = n - 1; i >= 0; i--) {
        out[i] = e[i].value;
        for (int k = i + 1; k < n; k++)
            out[i] -= e[i].factor[k] * out[k];
        out[i] /= e[i].factor[i];
    }
    return true;
}

bool least_squares_fit(struct least_squares *l, int terms)
{
    struct equation e[LEAST_SQUARES_TERMS] = { { { 0 }, 0 } };

    for (size_t i = 0; i < l->n; i++) {
        const double *x = l->x + i * l->stride;

        for (int r = 0; r < terms; r++) {
            for (int k = 0; k < terms; k++)
                e[r].factor[k] += x[r] * x[k];
            e[r].value += x[r] * l->y[i];
        }
    }
    memset(l->factor, 0, sizeof l->factor);
    if (!solve(e, terms, l->factor))
        return false;
    l->squares = 0;
    for (size_t i = 0; i < l->n; i++) {
        double error = -l->y[i];

        for (int k = 0; k < terms; k++)
            error += l->factor[k] * l->x[i * l->stride + (size_t)k];
        l->squares += error * error;
    }
    return true;
}

enum { GRID = 20, TERMS = SCALING_LAW_VARIABLES + 1 };

/* The losses, and the variables divided by their geometric means: terms of
 * similar size are what least squares need. */
struct problem {
    int variables;
    double mean[SCALING_LAW_VARIABLES];
    double *x, *loss, *term; /* term: room for the terms */
    size_t n;
};

double scaling_law_at(const struct scaling_law *law, const double *x)
{
    double loss = law->floor;

    for (int v = 0; v < law->variables; v++)
        loss += law->factor[v] * pow(x[v], -law->exponent[v]);
    return loss;
}

/* The best law with these exponents, for the divided variables; returns the sum
 * of squares, infinite if there is none. */
static double fit_factors(struct scaling_law *law, const struct problem *p)
{
    struct least_squares l = {
        .x = p->term, .stride = TERMS, .y = p->loss, .n = p->n
    };
    int terms = p->variables + 1;

    for (size_t i = 0; i < p->n; i++) {
        for (int v = 0; v < p->variables; v++)
            p->term[i * TERMS + (size_t)v] = pow(
                p->x[i * (size_t)p->variables + (size_t)v], -law->exponent[v]);
        p->term[i * TERMS + (size_t)p->variables] = 1;
    }
    if (!least_squares_fit(&l, terms))
        return INFINITY;
    if (l.factor[terms - 1] < 0 && !least_squares_fit(&l, --terms))
        return INFINITY;
    for (int v = 0; v < p->variables; v++) {
        if (l.factor[v] < 0)
            return INFINITY;
        law->factor[v] = l.factor[v];
    }
    law->floor = terms > p->variables ? l.factor[p->variables] : 0;
    return l.squares;
}

static double try_grid(struct scaling_law *best, const struct problem *p)
{
    const int points = p->variables > 1 ? GRID * GRID : GRID;
    double least = INFINITY;

    for (int i = 0; i < points; i++) {
        struct scaling_law law = { .variables = p->variables };
        double squares;

        law.exponent[0] = 0.05 * (i % GRID + 1);
        law.exponent[1] = 0.05 * (i / GRID + 1);
        squares = fit_factors(&law, p);
        if (squares < least) {
            least = squares;
            *best = law;
        }
    }
    return least;
}

/* Go on in the direction that is better, in smaller and smaller steps. */
static double refine(struct scaling_law *best, const struct problem *p,
                     double least)
{
    for (double step = 0.025; step > 1e-5; step /= 2) {
        for (int tries = 0; tries < 2 * p->variables; tries++) {
            struct scaling_law law = *best;
            double squares;

            law.exponent[tries / 2] += tries % 2 ? -step : step;
            if (law.exponent[tries / 2] < step)
                continue;
            squares = fit_factors(&law, p);
            if (squares < least * (1 - 1e-9)) {
                least = squares;
                *best = law;
                tries = -1;
            }
        }
    }
    return least;
}

static bool read_problem(struct problem *p, const double *x, const double *loss,
                         size_t n, size_t left_out)
{
    const size_t variables = (size_t)p->variables;

    for (size_t i = 0; i < n; i++) {
        if (i == left_out)
            continue;
        for (size_t v = 0; v < variables; v++) {
            if (!(x[i * variables + v] > 0) || !isfinite(x[i * variables + v]))
                return false;
            p->x[p->n * variables + v] = x[i * variables + v];
            p->mean[v] += log(x[i * variables + v]);
        }
        if (!isfinite(loss[i]))
            return false;
        p->loss[p->n++] = loss[i];
    }
    for (size_t v = 0; v < variables; v++) {
        p->mean[v] = exp(p->mean[v] / (double)p->n);
        for (size_t i = 0; i < p->n; i++)
            p->x[i * variables + v] /= p->mean[v];
    }
    return p->n >= variables + 2;
}

static double variance(const double *y, size_t n)
{
    double mean = 0, squares = 0;

    for (size_t i = 0; i < n; i++)
        mean += y[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (y[i] - mean) * (y[i] - mean);
    return squares;
}

bool scaling_law_fit(struct scaling_law *law, const double *x,
                     const double *loss, size_t n, size_t left_out)
{
    struct problem p = { .variables = law->variables,
                         .x = xcalloc(n * TERMS + 1, sizeof *p.x),
                         .loss = xcalloc(n + 1, sizeof *p.loss),
                         .term = xcalloc(n * TERMS + 1, sizeof *p.term) };
    double least = INFINITY;

    if (read_problem(&p, x, loss, n, left_out))
        least = try_grid(law, &p);
    if (isfinite(least)) {
        least = refine(law, &p, least);
        for (int v = 0; v < p.variables; v++)
            law->factor[v] *= pow(p.mean[v], law->exponent[v]);
        law->r2 = 1 - least / variance(p.loss, p.n);
    }
    FREE(p.x, p.loss, p.term);
    return isfinite(least);
}
