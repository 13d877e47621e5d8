#include "config.h"
#include "common/stats/least_squares.h"

#include <math.h>
#include <string.h>

enum { TERMS = LEAST_SQUARES_TERMS };

/* A row of factors, and the value of their sum. */
struct equation {
    double factor[TERMS], value;
};

static void subtract(struct equation *from, const struct equation *e, double f)
{
    for (int k = 0; k < TERMS; k++)
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
    struct equation e[TERMS] = { { { 0 }, 0 } };

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
