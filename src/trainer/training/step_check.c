#include "config.h"
#include "trainer/training/step_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/mem.h"

void step_check_init(struct step_check *g, const struct train_settings *conf)
{
    const size_t room = (size_t)conf->spike_window;

    *g = (struct step_check){ .conf = conf };
    g->loss = xcalloc(room, sizeof *g->loss);
    g->norm = xcalloc(room, sizeof *g->norm);
}

void step_check_clear(struct step_check *g)
{
    free(g->loss);
    free(g->norm);
    *g = (struct step_check){ 0 };
}

void step_check_reset(struct step_check *g)
{
    g->n = g->next = 0;
    g->skipped = 0;
}

static void add_good_step(struct step_check *g, double loss, double norm)
{
    g->loss[g->next] = loss;
    g->norm[g->next] = norm;
    g->next = (g->next + 1) % (int)g->conf->spike_window;
    if (g->n < g->conf->spike_window)
        g->n++;
}

/* By how many standard deviations x is above the mean; 0 until the window is
 * full. */
static double deviations_above(const struct step_check *g, const double *ring,
                               double x)
{
    double mean = 0, var = 0;

    if (g->n < g->conf->spike_window)
        return 0;
    for (int i = 0; i < g->n; i++)
        mean += ring[i] / g->n;
    for (int i = 0; i < g->n; i++)
        var += (ring[i] - mean) * (ring[i] - mean) / g->n;
    return var > 0 ? (x - mean) / sqrt(var) : 0;
}

static bool is_spike(const struct step_check *g, const double *ring, double x,
                     double limit, const char *name, char what[80])
{
    const double z = deviations_above(g, ring, x);

    if (z <= limit)
        return false;
    snprintf(what, 80, "the %s %.4g is %.1f deviations above its mean", name, x,
             z);
    return true;
}

static enum step_verdict apply_policy(struct step_check *g, enum policy policy)
{
    switch (policy) {
    case POLICY_STOP:
        return STEP_STOP;
    case POLICY_SKIP:
        return ++g->skipped > g->conf->max_skips ? STEP_STOP : STEP_SKIP;
    case POLICY_ROLLBACK:
        return STEP_ROLLBACK;
    case POLICY_IGNORE:
        break;
    }
    return STEP_GOOD;
}

enum step_verdict step_check_judge(struct step_check *g, double loss,
                                   double norm, bool scaled, char what[80])
{
    const struct train_settings *c = g->conf;

    what[0] = '\0';
    if (scaled && isfinite(loss) && !isfinite(norm)) {
        snprintf(what, 80, "the gradient overflowed under the loss scale");
        return STEP_SKIP;
    }
    if (!isfinite(loss) || !isfinite(norm)) {
        const double x = isfinite(loss) ? norm : loss;

        snprintf(what, 80, "the %s is %s",
                 isfinite(loss) ? "gradient norm" : "loss",
                 isnan(x) ? "nan" : "infinite");
        return apply_policy(g, c->on_nonfinite);
    }
    if (c->on_spike != POLICY_IGNORE &&
        (is_spike(g, g->loss, loss, c->spike_loss, "loss", what) ||
         is_spike(g, g->norm, norm, c->spike_norm, "gradient norm", what)))
        return apply_policy(g, c->on_spike);
    g->skipped = 0;
    add_good_step(g, loss, norm);
    return STEP_GOOD;
}
