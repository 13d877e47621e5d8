#include "config.h"
#include "trainer/plan/scaling.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/stats/least_squares.h"
#include "common/mem.h"
#include "common/num.h"
#include "store/read/runs.h"

enum { TERMS = 3 };

struct point {
    double n, d, loss; /* parameters, tokens */
};

struct points {
    struct point *item;
    size_t n, room;
};

/* ---- the runs --------------------------------------------------------- */

static bool read_point(struct point *p, const struct run_info *run)
{
    const char *text = run_info_param(run, "derived.parameters");
    const struct metric_sum *loss = run_info_metric(run, "val/loss");
    const struct metric_sum *tokens = run_info_metric(run, "train/tokens");

    if (run->status != RUN_FINISHED || !text || !num_real(text, &p->n) ||
        !loss || !tokens)
        return false;
    p->d = tokens->last;
    p->loss = loss->last;
    return p->n > 0 && p->d > 0 && isfinite(p->loss);
}

/* Of the same validation data as the newest run that has a point. */
static void read_points(struct points *p, const struct runs *runs)
{
    const char *data = NULL;

    for (size_t i = runs->n; i-- > 0;) {
        const char *own = run_info_param(&runs->run[i], "derived.data.val");
        struct point one;

        if (!read_point(&one, &runs->run[i]))
            continue;
        if (p->n > 0 && (!own != !data || (own && strcmp(own, data) != 0)))
            continue;
        data = own;
        GROW(p->item, p->n, p->room);
        p->item[p->n++] = one;
    }
}

static bool have_differences(const struct points *p)
{
    bool sizes = false, lengths = false;

    for (size_t i = 1; i < p->n; i++) {
        sizes |= p->item[i].n != p->item[0].n;
        lengths |= p->item[i].d != p->item[0].d;
    }
    return sizes && lengths;
}

/* ---- the law ---------------------------------------------------------- */

static bool fit_factors(struct scaling *s, double *squares,
                        const struct points *p, size_t left_out)
{
    double *x = xcalloc(p->n * TERMS, sizeof *x);
    double *y = xcalloc(p->n, sizeof *y);
    struct least_squares l = { .x = x, .stride = TERMS, .y = y };
    bool good;

    for (size_t i = 0; i < p->n; i++) {
        if (i == left_out)
            continue;
        x[l.n * TERMS] = 1;
        x[l.n * TERMS + 1] = pow(p->item[i].n, -s->exponent_n);
        x[l.n * TERMS + 2] = pow(p->item[i].d, -s->exponent_d);
        y[l.n++] = p->item[i].loss;
    }
    good = least_squares_fit(&l, TERMS) && l.factor[0] >= 0 &&
           l.factor[1] >= 0 && l.factor[2] >= 0;
    s->e = l.factor[0];
    s->a = l.factor[1];
    s->b = l.factor[2];
    *squares = l.squares;
    free(x);
    free(y);
    return good;
}

/* Fit to all points but one; to all if there is no such point. */
static bool fit_law(struct scaling *best, const struct points *p,
                    size_t left_out)
{
    double least = INFINITY, squares;

    for (int i = 1; i <= 20; i++)
        for (int k = 1; k <= 20; k++) {
            struct scaling s = { .exponent_n = 0.05 * i,
                                 .exponent_d = 0.05 * k };

            if (fit_factors(&s, &squares, p, left_out) && squares < least) {
                least = squares;
                *best = s;
            }
        }
    return isfinite(least);
}

double scaling_loss(const struct scaling *s, double parameters, double tokens)
{
    return s->e + s->a * pow(parameters, -s->exponent_n) +
           s->b * pow(tokens, -s->exponent_d);
}

/* The median error for a point that is left out. */
static double test_law(const struct points *p)
{
    double *error = xcalloc(p->n, sizeof *error), median = (double)NAN;
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        const struct point *one = &p->item[i];
        struct scaling s;

        if (fit_law(&s, p, i))
            error[n++] = fabs(scaling_loss(&s, one->n, one->d) - one->loss);
    }
    num_sort(error, n);
    if (n > 0)
        median = error[n / 2];
    free(error);
    return median;
}

static void find_range(struct scaling *s, const struct points *p)
{
    s->least_n = s->most_n = p->item[0].n;
    for (size_t i = 1; i < p->n; i++) {
        s->least_n = fmin(s->least_n, p->item[i].n);
        s->most_n = fmax(s->most_n, p->item[i].n);
    }
}

void scaling_published(struct scaling *s)
{
    *s = (struct scaling){ .e = 1.8172,
                           .a = 482.01,
                           .exponent_n = 0.3478,
                           .b = 2085.43,
                           .exponent_d = 0.3658 };
}

int scaling_fit(struct scaling *s, const char *root, struct err *e)
{
    struct runs runs = RUNS_INIT;
    struct points p = { NULL, 0, 0 };
    int ret = runs_load(&runs, root, 0, e);

    *s = (struct scaling){ 0 };
    if (ret == 0)
        read_points(&p, &runs);
    if (ret == 0 &&
        (p.n < SCALING_LEAST || !have_differences(&p) || !fit_law(s, &p, p.n)))
        ret = err_set(e, ERR_MISSING,
                      "no scaling law fits the finished runs of %s: it needs "
                      "at least %d of several sizes and lengths, on the same "
                      "validation data",
                      root, SCALING_LEAST);
    if (ret == 0) {
        s->runs = (int64_t)p.n;
        find_range(s, &p);
        s->off = test_law(&p);
    }
    free(p.item);
    runs_free(&runs);
    return ret;
}
