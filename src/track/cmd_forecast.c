/*
 * gtrack forecast - forecast the rest of loss curves
 */
#include "config.h"

#include <math.h>

#include "common/log.h"
#include "common/opt.h"
#include "store/analysis/forecast_run.h"
#include "track/runs/track.h"

enum { POINTS_MAX = 1000 };

static struct forecast_request request = { "train/loss", 0, 1 };
static struct table_style style;

static const struct opt forecast_opts[] = {
    TRACK_OPT_ROOT,
    { 'm', "metric", "name", OPT_STRING, &request.key,
      "forecast this metric (default: train/loss)" },
    { 0, "at", "step", OPT_LONG, &request.at,
      "forecast from STEP, as if the run had come no further" },
    { 'n', "points", "count", OPT_INT, &request.points,
      "forecast COUNT points of the curve, the last at its end (default: 1)" },
    TABLE_OPTS(style),
    { 0 }
};

static void add_row(struct table *t, const struct run_info *run,
                    const struct run_forecast *f,
                    const struct forecast_point *p)
{
    table_text(t, run->name);
    table_int(t, f->now);
    table_int(t, f->steps);
    table_real_or_none(t, f->last);
    table_real(t, p->value.loss);
    table_real_or_none(t, p->value.low);
    table_real_or_none(t, p->value.high);
    table_int_or_none(
        t, p->value.coverage > 0 ? llround(100 * p->value.coverage) : -1);
    table_int(t, p->tested_on);
    table_int(t, p->step);
}

static int forecast_one(struct table *t, const struct runs *all,
                        const struct run_info *run, struct err *e)
{
    AUTO(forecast_run_clear) struct run_forecast f = { 0 };
    int ret = forecast_run(&f, &request, all, run, e);

    for (int i = 0; i < f.n && ret == 0; i++)
        add_row(t, run, &f, &f.point[i]);
    if (ret == 0 && f.point[f.n - 1].value.coverage <= 0)
        log_info("%s: no interval, because the store has fewer than three "
                 "other finished runs to test forecasts on",
                 run->name);
    return ret;
}

static int forecast_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.forecast/1");
    AUTO(runs_free) struct runs all = { 0 }, runs = { 0 };
    int ret = -1;

    if (table_form(&style, e) < 0 || track_check_args(argc, argv, 1, -1, e) < 0)
        return -1;
    if (request.at < 0)
        return err_usage(e, "--at expects a step, not %lld",
                         (long long)request.at);
    if (request.points < 1 || request.points > POINTS_MAX)
        return err_usage(e, "--points expects 1 to %d, not %d", POINTS_MAX,
                         request.points);
    table_columns(&t, "name", "step", "steps", "value", "forecast", "low",
                  "high", "percent", "tested_on", "at", NULL);
    if (runs_load(&all, track_store(), 0, e) == 0 &&
        track_load(&runs, argc, argv, 0, e) == 0)
        ret = 0;
    for (size_t i = 0; i < runs.n && ret == 0; i++)
        ret = forecast_one(&t, &all, &runs.run[i], e);
    return table_finish(&t, ret, &style, e);
}

const struct cmd cmd_forecast = {
    .name = "forecast",
    .args = "RUN...",
    .help = "forecast the rest of loss curves",
    .opts = forecast_opts,
    .confine = track_confine_reader,
    .run = forecast_main,
};
