#include "config.h"
#include "store/analysis/forecast_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "store/analysis/planned_rates.h"

enum { STEPS_MAX = 10000000, OTHERS_MAX = 200 };

/* ---- curves ----------------------------------------------------------- */

static void clear_curve(struct loss_curve *c)
{
    free(c->loss);
    free(c->lr);
    *c = (struct loss_curve){ 0 };
}

static int64_t last_step(const struct run_info *run)
{
    const struct metric_sum *m = run_info_metric(run, "train/lr");

    return m ? m->last_step : 0;
}

/* How many steps training takes, or took; 0 if the run does not say. */
static int64_t steps_of(const struct run_info *run,
                        const struct planned_rates *r)
{
    const char *text = run_info_param(run, "derived.steps");
    int64_t n = 0;

    if (run->status == RUN_FINISHED)
        n = last_step(run);
    else if (r->n)
        n = (int64_t)r->step[r->n - 1] + 1;
    else if (text && !num_int(text, &n))
        return 0;
    return n > 0 && n <= STEPS_MAX ? n : 0;
}

/* A series by its steps, each value standing until the next if `fill`. */
static int load_values(double *out, int64_t steps, const struct run_info *run,
                       const char *key, bool fill, struct err *e)
{
    struct series s = { 0 };

    if (series_load(&s, run, key, 0, e) < 0)
        return -1;
    for (int64_t i = 0; i < steps; i++)
        out[i] = (double)NAN;
    for (size_t i = 0; i < s.n; i++)
        if (s.step[i] >= 1 && s.step[i] <= steps)
            out[s.step[i] - 1] = s.value[i];
    for (int64_t i = 1; fill && i < steps; i++)
        if (isnan(out[i]))
            out[i] = out[i - 1];
    for (int64_t i = steps - 1; fill && i > 0; i--)
        if (isnan(out[i - 1]))
            out[i - 1] = out[i];
    series_free(&s);
    return 0;
}

/* A run that still has steps to make needs the rates that are planned. */
static int fill_curve(struct loss_curve *c, const struct run_info *run,
                      const char *key, const struct planned_rates *r,
                      bool planned, struct err *e)
{
    const int64_t now = last_step(run) > 0 ? last_step(run) : 0;
    const char *limit = run_info_param(run, "train.max_time");

    if (planned && run->status != RUN_FINISHED && limit &&
        strtod(limit, NULL) > 0)
        return err_set(e, ERR_INPUT,
                       "%s has train.max_time, so its end and its learning "
                       "rates depend on the clock",
                       run->name);
    c->steps = steps_of(run, r);
    if (c->steps == 0)
        return err_set(e, ERR_MISSING,
                       "%s does not say how many steps it takes; gtrain "
                       "records that",
                       run->name);
    c->loss = xcalloc((size_t)c->steps, sizeof *c->loss);
    c->lr = xcalloc((size_t)c->steps, sizeof *c->lr);
    if (load_values(c->loss, c->steps, run, key, false, e) < 0 ||
        load_values(c->lr, c->steps, run, "train/lr", true, e) < 0)
        return -1;
    if (!planned || now >= c->steps)
        return 0;
    if (r->n)
        planned_rates_fill(r, c->lr, now, c->steps);
    else
        err_set(e, ERR_MISSING,
                "%s has no learning rates for its next steps; put them there "
                "with 'gtrain plan --only schedule --points 0 --tsv "
                "%s/config.ini >%s/" PLANNED_RATES "'",
                run->name, run->artifacts, run->artifacts);
    return r->n ? 0 : -1;
}

static int load_curve(struct loss_curve *c, const struct run_info *run,
                      const char *key, bool planned, struct err *e)
{
    struct planned_rates r;
    int ret = planned_rates_load(&r, run, e);

    if (ret == 0)
        ret = fill_curve(c, run, key, &r, planned, e);
    planned_rates_clear(&r);
    return ret;
}

/* ---- points ----------------------------------------------------------- */

static int64_t step_of_point(int64_t now, int64_t steps, int point, int points)
{
    return now + (int64_t)((double)(steps - now) * (point + 1) / points);
}

/* The values of all points; NaN if there is no forecast.  The caller frees. */
static double *forecast_points(const struct loss_curve *c, int64_t now,
                               int points)
{
    double *value = xcalloc((size_t)points, sizeof *value);
    int64_t *step = xcalloc((size_t)points, sizeof *step);

    for (int k = 0; k < points; k++)
        step[k] = step_of_point(now, c->steps, k, points);
    forecast_losses(c, now, step, points, value);
    free(step);
    return value;
}

/* ---- other runs ------------------------------------------------------- */

/* The value of a run that has come further: between two values, on the line
 * through them; NaN if there are none. */
static double true_value(const struct loss_curve *c, int64_t step)
{
    int64_t before = step - 1, after = step - 1;

    while (before >= 0 && !isfinite(c->loss[before]))
        before--;
    while (after < c->steps && !isfinite(c->loss[after]))
        after++;
    if (before == after || before < 0 || after == c->steps)
        return forecast_mean(c, step);
    return c->loss[before] + (c->loss[after] - c->loss[before]) *
                                 (double)(step - 1 - before) /
                                 (double)(after - before);
}

/* For each point, true value by forecast, of finished runs as far along as this
 * one. */
struct others {
    int points;
    double *ratio; /* OTHERS_MAX of each point */
    int64_t *n;
};

static void add_ratios(struct others *o, const struct loss_curve *c,
                       int64_t now)
{
    double *value = forecast_points(c, now, o->points);

    for (int k = 0; k < o->points; k++) {
        const int64_t step = step_of_point(now, c->steps, k, o->points);
        const double actual = true_value(c, step);

        if (actual > 0 && value[k] > 0 && o->n[k] < OTHERS_MAX)
            o->ratio[k * OTHERS_MAX + o->n[k]++] = actual / value[k];
    }
    free(value);
}

static void add_other(struct others *o, const struct run_info *run,
                      const char *key, double part)
{
    struct loss_curve c = { 0 };

    if (load_curve(&c, run, key, false, ERR_IGNORED) == 0 &&
        last_step(run) >= c.steps)
        add_ratios(o, &c, (int64_t)((double)c.steps * part));
    clear_curve(&c);
}

/* The newest finished runs of the store that have the metric. */
static void try_others(struct others *o, const struct runs *all,
                       const struct run_info *self, const char *key,
                       double part)
{
    const int last = o->points - 1;

    o->ratio = xcalloc((size_t)o->points * OTHERS_MAX, sizeof *o->ratio);
    o->n = xcalloc((size_t)o->points, sizeof *o->n);
    for (size_t i = all->n; i-- > 0 && o->n[last] < OTHERS_MAX;) {
        const struct run_info *run = &all->run[i];

        if (run->status == RUN_FINISHED && strcmp(run->id, self->id) != 0 &&
            run_info_metric(run, key))
            add_other(o, run, key, part);
    }
}

/* ---- the forecast ----------------------------------------------------- */

/* What training reaches is no worse than the present value, or guessing. */
static double worst_end(const struct run_forecast *f,
                        const struct run_info *run, const char *key)
{
    const char *text = run_info_param(run, "model.vocab");
    double vocab;

    return text && str_ends(key, "/loss") && num_real(text, &vocab) && vocab > 1
               ? fmin(f->last, log(vocab))
               : f->last;
}

static void add_points(struct run_forecast *f, const struct loss_curve *c,
                       struct others *o, double most)
{
    double *value = forecast_points(c, f->now, o->points);

    f->point = xcalloc((size_t)o->points, sizeof *f->point);
    for (int k = 0; k < o->points && isfinite(value[k]); k++)
        f->point[f->n++] = (struct forecast_point){
            step_of_point(f->now, f->steps, k, o->points),
            forecast_interval(value[k], o->ratio + k * OTHERS_MAX, o->n[k],
                              most),
            o->n[k],
        };
    free(value);
}

static int forecast_curve(struct run_forecast *f,
                          const struct forecast_request *r,
                          const struct loss_curve *c, const struct runs *all,
                          const struct run_info *run, struct err *e)
{
    struct others o = { .points = r->points };

    f->steps = c->steps;
    f->now = last_step(run) < c->steps ? last_step(run) : c->steps;
    if (r->at > 0 && r->at < f->now)
        f->now = r->at;
    if (f->now == f->steps)
        return err_set(e, ERR_INPUT,
                       "%s has made all its steps; --at forecasts it from an "
                       "earlier one",
                       run->name);
    f->last = forecast_mean(c, f->now);
    try_others(&o, all, run, r->key, (double)f->now / (double)f->steps);
    add_points(f, c, &o, worst_end(f, run, r->key));
    free(o.ratio);
    free(o.n);
    if (f->n == r->points)
        return 0;
    return err_set(e, ERR_INPUT,
                   "no law fits %s of %s up to step %lld; a forecast takes %d "
                   "steps and %d values that fall",
                   r->key, run->name, (long long)f->now, FORECAST_LEAST,
                   FORECAST_VALUES);
}

int forecast_run(struct run_forecast *f, const struct forecast_request *r,
                 const struct runs *all, const struct run_info *run,
                 struct err *e)
{
    struct loss_curve c = { 0 };
    int ret;

    *f = (struct run_forecast){ 0 };
    ret = load_curve(&c, run, r->key, true, e);
    if (ret == 0)
        ret = forecast_curve(f, r, &c, all, run, e);
    clear_curve(&c);
    return ret;
}

void forecast_run_clear(struct run_forecast *f)
{
    free(f->point);
    *f = (struct run_forecast){ 0 };
}
