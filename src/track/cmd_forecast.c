/*
 * gtrack forecast - forecast the rest of loss curves
 */
#include "config.h"
#include "track/cmds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/num.h"
#include "common/path.h"
#include "common/spawn.h"
#include "track/forecast.h"
#include "track/runs/track.h"

enum { STEPS_MAX = 10000000, OTHERS_MAX = 200, POINTS_MAX = 1000 };

static int64_t at_step;
static int points = 1;
static struct table_style style;

static const struct opt forecast_opts[] = {
    TRACK_OPT_ROOT,
    { 0, "at", "step", OPT_LONG, &at_step,
      "forecast from STEP, as if the run had come no further" },
    { 'n', "points", "count", OPT_INT, &points,
      "forecast COUNT points of the curve, the last at its end (default: 1)" },
    TABLE_OPTS(style),
    { 0 }
};

/* ---- curves ----------------------------------------------------------- */

static void clear_curve(struct loss_curve *c)
{
    free(c->loss);
    free(c->lr);
    *c = (struct loss_curve){ 0 };
}

/* How many steps training is to take; 0 if the run does not say. */
static int64_t planned_steps(const struct run_info *run)
{
    const char *text = run_info_param(run, "is.steps");
    int64_t n;

    if (!text)
        text = run_info_param(run, "schedule.steps");
    return text && num_int(text, &n) && n > 0 && n <= STEPS_MAX ? n : 0;
}

/* A series by its steps, each value standing until the next if `fill`. */
static int load_values(double *out, int64_t steps, const struct run_info *run,
                       const char *key, bool fill, struct err *e)
{
    struct series s = SERIES_INIT;

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

static int load_curve(struct loss_curve *c, const struct run_info *run,
                      struct err *e)
{
    c->steps = planned_steps(run);
    if (c->steps == 0)
        return err_set(e, ERR_MISSING,
                       "%s does not say how many steps it takes; gtrain "
                       "records that",
                       run->name);
    c->loss = xcalloc((size_t)c->steps, sizeof *c->loss);
    c->lr = xcalloc((size_t)c->steps, sizeof *c->lr);
    if (load_values(c->loss, c->steps, run, "train/loss", false, e) < 0 ||
        load_values(c->lr, c->steps, run, "train/lr", true, e) < 0)
        return -1;
    return 0;
}

/* The learning rates that are to come, which gtrain computes from the settings
 * of the run. */
static int plan_rates(struct loss_curve *c, const struct run_info *run,
                      struct err *e)
{
    char *config = path_join(run->artifacts, "config.ini");
    char *gtrain = spawn_find("gtrain", e), *at, *line;
    const char *const argv[] = { gtrain,       "plan",  "--only=schedule",
                                 "--points=0", "--tsv", config,
                                 NULL };
    struct buf out = BUF_INIT, words = BUF_INIT;
    struct spawn s = { .out = &out, .words = &words, .secs = 60 };
    int ret = gtrain ? spawn_run(argv, &s, e) : -1;

    at = out.s;
    while (ret == 0 && (line = strsep(&at, "\n"))) {
        char *step_text = strsep(&line, "\t"), *lr_text = strsep(&line, "\t");
        int64_t step;
        double lr;

        if (lr_text && num_int(step_text, &step) && num_real(lr_text, &lr) &&
            step >= 0 && step < c->steps)
            c->lr[step] = lr;
    }
    buf_clear(&out);
    buf_clear(&words);
    free(gtrain);
    free(config);
    return ret < 0 ? err_wrap(e, "cannot compute the schedule of %s", run->name)
                   : 0;
}

/* ---- other runs ------------------------------------------------------- */

/* The step of a point: they divide what is left of the steps evenly. */
static int64_t step_of_point(int64_t now, int64_t steps, int point)
{
    return now + (int64_t)((double)(steps - now) * (point + 1) / points);
}

/* The losses of all points; NaN if there is no forecast.  The caller frees. */
static double *forecast_points(const struct loss_curve *c, int64_t now)
{
    double *loss = xcalloc((size_t)points, sizeof *loss);
    int64_t *step = xcalloc((size_t)points, sizeof *step);

    for (int k = 0; k < points; k++)
        step[k] = step_of_point(now, c->steps, k);
    forecast_losses(c, now, step, points, loss);
    free(step);
    return loss;
}

/* For each point, true loss by forecast, of finished runs as far along as this
 * one. */
struct others {
    double *ratio; /* OTHERS_MAX of each point */
    int64_t *n;
};

static void add_ratios(struct others *o, const struct loss_curve *c,
                       int64_t now)
{
    double *loss = forecast_points(c, now);

    for (int k = 0; k < points; k++) {
        const double truth = forecast_mean(c, step_of_point(now, c->steps, k));

        if (truth > 0 && loss[k] > 0 && o->n[k] < OTHERS_MAX)
            o->ratio[k * OTHERS_MAX + o->n[k]++] = truth / loss[k];
    }
    free(loss);
}

static void add_other(struct others *o, const struct run_info *run, double part)
{
    struct loss_curve c = { 0 };
    struct err e = ERR_INIT;

    if (load_curve(&c, run, &e) == 0 && track_last_step(run) >= c.steps)
        add_ratios(o, &c, (int64_t)((double)c.steps * part));
    clear_curve(&c);
}

/* The newest finished runs of the store that have a learning rate. */
static void try_others(struct others *o, const struct runs *all,
                       const struct run_info *self, double part)
{
    o->ratio = xcalloc((size_t)points * OTHERS_MAX, sizeof *o->ratio);
    o->n = xcalloc((size_t)points, sizeof *o->n);
    for (size_t i = all->n; i-- > 0 && o->n[points - 1] < OTHERS_MAX;) {
        const struct run_info *run = &all->run[i];

        if (run->status == RUN_FINISHED && strcmp(run->id, self->id) != 0 &&
            run_info_metric(run, "train/lr"))
            add_other(o, run, part);
    }
}

/* ---- the table -------------------------------------------------------- */

static void add_row(struct table *t, const struct run_info *run,
                    const struct loss_curve *c, int64_t now, int64_t at,
                    const struct forecast_interval *f, int64_t others)
{
    table_text(t, run->name);
    table_int(t, now);
    table_int(t, c->steps);
    table_real_or_none(t, forecast_mean(c, now));
    table_real(t, f->loss);
    table_real_or_none(t, f->low);
    table_real_or_none(t, f->high);
    if (f->coverage > 0)
        table_int(t, llround(100 * f->coverage));
    else
        table_none(t);
    table_int(t, others);
    table_int(t, at);
}

static int add_point(struct table *t, const struct run_info *run,
                     const struct loss_curve *c, int64_t now, double loss,
                     const struct others *o, int point, struct err *e)
{
    const struct forecast_interval f =
        forecast_interval(loss, o->ratio + point * OTHERS_MAX, o->n[point]);

    if (isnan(loss))
        return err_set(e, ERR_INPUT,
                       "no curve fits the losses of %s up to step %lld; a "
                       "forecast takes %d steps or more",
                       run->name, (long long)now, FORECAST_LEAST);
    add_row(t, run, c, now, step_of_point(now, c->steps, point), &f,
            o->n[point]);
    return 0;
}

static int forecast_run(struct table *t, const struct runs *all,
                        const struct run_info *run, struct err *e)
{
    struct loss_curve c = { 0 };
    struct others o = { NULL, NULL };
    int64_t now = track_last_step(run);
    double *loss = NULL;
    int ret = load_curve(&c, run, e);

    now = at_step > 0 && at_step < now ? at_step : now;
    now = now < c.steps ? now : c.steps;
    if (ret == 0 && track_last_step(run) < c.steps)
        ret = plan_rates(&c, run, e);
    if (ret == 0) {
        try_others(&o, all, run, (double)now / (double)c.steps);
        loss = forecast_points(&c, now);
    }
    for (int k = 0; k < points && ret == 0; k++)
        ret = add_point(t, run, &c, now, loss[k], &o, k, e);
    if (ret == 0 && o.n[points - 1] < 3)
        log_info("%s: no interval, because the store has fewer than three "
                 "other finished runs to test forecasts on",
                 run->name);
    free(loss);
    free(o.ratio);
    free(o.n);
    clear_curve(&c);
    return ret;
}

static int forecast_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.forecast/1");
    struct runs all = RUNS_INIT, runs = RUNS_INIT;
    int ret = -1;

    if (table_form(&style, e) < 0 || track_check_args(argc, argv, 1, -1, e) < 0)
        return -1;
    if (at_step < 0)
        return err_set(e, ERR_USAGE, "--at expects a step, not %lld",
                       (long long)at_step);
    if (points < 1 || points > POINTS_MAX)
        return err_set(e, ERR_USAGE, "--points expects 1 to %d, not %d",
                       POINTS_MAX, points);
    table_columns(&t, "name", "step", "steps", "loss", "forecast", "low",
                  "high", "percent", "tested_on", "at", NULL);
    if (runs_load(&all, track_store(), 0, e) == 0 &&
        track_load(&runs, argv, argc, 0, e) == 0)
        ret = 0;
    for (size_t i = 0; i < runs.n && ret == 0; i++)
        ret = forecast_run(&t, &all, &runs.run[i], e);
    if (ret == 0)
        ret = table_print(&t, &style, e);
    table_clear(&t);
    runs_free(&runs);
    runs_free(&all);
    return ret;
}

const struct cmd cmd_forecast = {
    .name = "forecast",
    .args = "RUN...",
    .help = "forecast the rest of loss curves",
    .opts = forecast_opts,
    .run = forecast_main,
};
