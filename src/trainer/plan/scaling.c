#include "config.h"
#include "trainer/plan/scaling.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "store/read/runs.h"

/* What runs trained, and their losses. */
struct points {
    double (*size)[2]; /* parameters, tokens */
    double *loss;
    size_t n, room, loss_room;
};

/* ---- the runs --------------------------------------------------------- */

static bool read_point(double size[2], double *loss, const struct run_info *run)
{
    const char *text = run_info_param(run, "derived.parameters");
    const struct metric_sum *losses = run_info_metric(run, "val/loss");
    const struct metric_sum *tokens = run_info_metric(run, "train/tokens");

    if (run->status != RUN_FINISHED || !text || !num_real(text, &size[0]) ||
        !losses || !tokens)
        return false;
    size[1] = tokens->last;
    *loss = losses->last;
    return size[0] > 0 && size[1] > 0 && isfinite(*loss);
}

/* Read the runs with the validation data of the newest run that has a point. */
static void read_points(struct points *p, const struct runs *runs)
{
    const char *data = NULL;

    for (size_t i = runs->n; i-- > 0;) {
        const char *own = run_info_param(&runs->run[i], "derived.data.val");
        double size[2], loss;

        if (!read_point(size, &loss, &runs->run[i]))
            continue;
        if (p->n > 0 && (!own != !data || (own && strcmp(own, data) != 0)))
            continue;
        data = own;
        GROW(p->size, p->n, p->room);
        GROW(p->loss, p->n, p->loss_room);
        memcpy(p->size[p->n], size, sizeof size);
        p->loss[p->n++] = loss;
    }
}

static bool have_differences(const struct points *p)
{
    bool sizes = false, lengths = false;

    for (size_t i = 1; i < p->n; i++) {
        sizes |= p->size[i][0] != p->size[0][0];
        lengths |= p->size[i][1] != p->size[0][1];
    }
    return sizes && lengths;
}

/* ---- the law ---------------------------------------------------------- */

/* Fit to all points but one; to all if there is no such point. */
static bool fit_law(struct scaling_law *law, const struct points *p,
                    size_t left_out)
{
    *law = (struct scaling_law){ .variables = 2 };
    return scaling_law_fit(law, *p->size, p->loss, p->n, left_out);
}

double scaling_loss(const struct scaling *s, double parameters, double tokens)
{
    return scaling_law_at(&s->law, (double[]){ parameters, tokens });
}

/* The median error for a point that is left out. */
static double test_law(const struct points *p)
{
    double *error = xcalloc(p->n, sizeof *error), median = (double)NAN;
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        struct scaling_law law;

        if (fit_law(&law, p, i))
            error[n++] = fabs(scaling_law_at(&law, p->size[i]) - p->loss[i]);
    }
    num_sort(error, n);
    if (n > 0)
        median = error[n / 2];
    free(error);
    return median;
}

static void find_range(struct scaling *s, const struct points *p)
{
    s->least_n = INFINITY;
    for (size_t i = 0; i < p->n; i++) {
        s->least_n = fmin(s->least_n, p->size[i][0]);
        s->most_n = fmax(s->most_n, p->size[i][0]);
    }
}

void scaling_published(struct scaling *s)
{
    *s = (struct scaling){ .law = { .variables = 2,
                                    .floor = 1.8172,
                                    .factor = { 482.01, 2085.43 },
                                    .exponent = { 0.3478, 0.3658 } } };
}

int scaling_fit(struct scaling *s, const char *root, struct err *e)
{
    struct runs runs = { 0 };
    struct points p = { .n = 0 };
    int ret = runs_load(&runs, root, 0, e);

    *s = (struct scaling){ 0 };
    if (ret == 0)
        read_points(&p, &runs);
    if (ret == 0 && (p.n < SCALING_LEAST || !have_differences(&p) ||
                     !fit_law(&s->law, &p, p.n)))
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
    free(p.size);
    free(p.loss);
    runs_free(&runs);
    return ret;
}
