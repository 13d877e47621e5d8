#include "config.h"
#include "trainer/training/step_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_good_step(struct engine_recent *r, int window, double loss,
                          double norm)
{
    if (r->n == window) {
        r->n--;
        memmove(r->loss, r->loss + 1, (size_t)r->n * sizeof *r->loss);
        memmove(r->norm, r->norm + 1, (size_t)r->n * sizeof *r->norm);
    }
    r->loss[r->n] = loss;
    r->norm[r->n++] = norm;
}

/* By how many standard deviations x is above the mean. */
static double deviations_above(const double *recent, int n, double x)
{
    double mean = 0, var = 0;

    for (int i = 0; i < n; i++)
        mean += recent[i] / n;
    for (int i = 0; i < n; i++)
        var += (recent[i] - mean) * (recent[i] - mean) / n;
    return var > 0 ? (x - mean) / sqrt(var) : 0;
}

static bool is_spike(const double *recent, int n, double x, double limit,
                     const char *name, char what[80])
{
    const double z = deviations_above(recent, n, x);

    if (z <= limit)
        return false;
    snprintf(what, 80, "the %s %.4g is %.1f deviations above its mean", name, x,
             z);
    return true;
}

static enum step_verdict apply_policy(struct engine_recent *r,
                                      enum policy policy, int64_t max_skips)
{
    switch (policy) {
    case POLICY_STOP:
        return STEP_STOP;
    case POLICY_SKIP:
        return ++r->skips > max_skips ? STEP_STOP : STEP_SKIP;
    case POLICY_ROLLBACK:
        return STEP_ROLLBACK;
    case POLICY_IGNORE:
        break;
    }
    return STEP_GOOD;
}

enum step_verdict step_check_judge(struct engine_recent *r,
                                   const struct train_settings *c, double loss,
                                   double norm, bool scaled, char what[80])
{
    const int window = (int)c->spike_window;

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
        return apply_policy(r, c->on_nonfinite, c->max_skips);
    }
    if (c->on_spike != POLICY_IGNORE && r->n == window &&
        (is_spike(r->loss, window, loss, c->spike_loss, "loss", what) ||
         is_spike(r->norm, window, norm, c->spike_norm, "gradient norm", what)))
        return apply_policy(r, c->on_spike, c->max_skips);
    r->skips = 0;
    add_good_step(r, window, loss, norm);
    return STEP_GOOD;
}
