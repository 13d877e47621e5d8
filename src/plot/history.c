#include "config.h"
#include "plot/history.h"

#include <fnmatch.h>
#include <math.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "plot/draw/axis.h"
#include "plot/expression.h"
#include "store/format/attempt.h"
#include "store/read/outline.h"

static const char *const token_names[] = {
    "train/tokens",          "tokens",
    "tokens_seen",           "train/tokens_seen",
    "consumed_tokens",       "train/num_input_tokens_seen",
    "num_input_tokens_seen", NULL
};

void history_free(struct history *h)
{
    if (!h->drawn)
        FREE(h->x, h->y, h->smooth);
    FREE(h->step, h->ms, h->mean, h->weight);
    *h = (struct history){ 0 };
}

const char *history_find(const struct run_info *run, const char *const *names)
{
    for (; *names; names++) {
        for (size_t i = 0; i < run->n_metrics; i++)
            if (fnmatch(*names, run->metrics[i].key, 0) == 0)
                return run->metrics[i].key;
        if (expression_check(*names, run, ERR_IGNORED) > 0)
            return *names;
    }
    return NULL;
}

struct curve *history_curve(struct figure *f, struct panel *p,
                            const char *label, struct history *h)
{
    struct curve *c = panel_curve(f, p, label, 0);

    c->n = h->n;
    c->x = h->x;
    c->y = h->y;
    if (!h->drawn) {
        arena_take(&f->mem, h->x);
        arena_take(&f->mem, h->y);
        arena_take(&f->mem, h->smooth);
        h->drawn = true;
    }
    return c;
}

void history_axis(const struct request *r, struct axis *a)
{
    static const struct {
        const char *label;
        enum unit unit;
    } axes[] = {
        [ALONG_STEP] = { "step", UNIT_COUNT },
        [ALONG_TOKENS] = { "tokens", UNIT_COUNT },
        [ALONG_TIME] = { "training time", UNIT_SECONDS },
        [ALONG_WALL] = { "wall time", UNIT_SECONDS },
        [ALONG_GPUH] = { "GPU hours", UNIT_NONE },
        [ALONG_FLOPS] = { "FLOPs", UNIT_NONE },
        [ALONG_METRIC] = { NULL, UNIT_COUNT },
    };
    const char *label = axes[r->along].label;

    axis_init(a, label ? label : r->x, axes[r->along].unit);
}

/* The attempt that ran at a time. */
static int attempt_of(const struct run_info *run, int64_t ms)
{
    int i = run->attempts - 1;

    while (i > 0 && run->attempt[i].start_ms > ms)
        i--;
    return i < 0 ? 0 : i;
}

/* The time for which attempts ran, or their GPU hours.  Each begins at the time
 * of the last point that was kept of the attempt before it. */
static void along_time(struct history *h, const struct run_info *run,
                       double gpu_hours)
{
    double base = 0, last = 0, factor = 1;
    int64_t start = run->start_ms;
    int now = -1;

    for (size_t i = 0; i < h->n; i++) {
        const int attempt = attempt_of(run, h->ms[i]);

        if (attempt != now && run->attempts > 0) {
            base = now < 0 ? 0 : last;
            start = run->attempt[attempt].start_ms;
            if (gpu_hours > 0)
                factor = (double)run->attempt[attempt].gpus / 3600;
            now = attempt;
        }
        last = base + (double)(h->ms[i] - start) / 1e3 * factor;
        h->x[i] = last;
    }
}

/* The value of a step between points i - 1 and i. */
static double interpolate(const int64_t *step, const double *value, size_t i,
                          int64_t wanted)
{
    return value[i - 1] + (value[i] - value[i - 1]) *
                              (double)(wanted - step[i - 1]) /
                              (double)(step[i] - step[i - 1]);
}

/* The value at a step; before the first point and after the last, that of the
 * nearest point, or, of what grows from 0, in proportion to the steps. */
static double value_at(const struct series *s, int64_t step, bool grows)
{
    const size_t at = num_place(s->step, s->n, step);
    const size_t i = at == s->n && at > 0 ? at - 1 : at;

    if (s->n == 0)
        return NAN;
    if (at > 0 && at < s->n && s->step[at] != step)
        return interpolate(s->step, s->value, at, step);
    if (s->step[i] == step || s->step[i] <= 0 || !grows)
        return s->value[i];
    return s->value[i] * (double)step / (double)s->step[i];
}

/* FLOPs of a token: as the run measures them, or six for each parameter; NaN
 * if it records neither. */
static double flops_per_token(const struct run_info *run)
{
    static const char *const params[] = {
        "derived.parameters", "model.parameters", "n_params",
        "num_params",         "parameters",       NULL
    };
    const struct metric_sum *flops = run_info_metric(run, "perf/flops");
    const struct metric_sum *rate = run_info_metric(run, "perf/tokens_per_s");
    double v;

    if (flops && rate && flops->last > 0 && rate->last > 0)
        return flops->last / rate->last;
    for (const char *const *k = params; *k; k++) {
        const char *text = run_info_param(run, *k);

        if (!text)
            text = run_info_tag(run, *k);
        if (text && num_real(text, &v) && v > 0)
            return 6 * v;
    }
    return NAN;
}

/* Is an outline of the points enough? */
static bool takes_outline(const struct request *r)
{
    return r->columns > 0 && !r->stitch && r->how.kind != SMOOTH_MA;
}

/* Read a history as the request wants it, in detail between two steps. */
static int load_series(struct series *s, const struct run_info *run,
                       const char *key, const struct request *r, int64_t from,
                       int64_t to, struct err *e)
{
    const struct outline_want want = { .from = from,
                                       .to = to,
                                       .blocks = (size_t)r->columns,
                                       .sparse = r->group_by };

    if (!run_info_metric(run, key) &&
        expression_check(key, run, ERR_IGNORED) > 0)
        return expression_load(s, key, run, e);
    return takes_outline(r) ? series_outline(s, run, key, &want, e)
                            : series_load(s, run, key, 0, e);
}

static int along_metric(struct history *h, const struct run_info *run,
                        const struct request *r, const char *key, double factor,
                        struct err *e)
{
    AUTO(series_free) struct series s = { 0 };

    if (load_series(&s, run, key, r, INT64_MIN, INT64_MAX, e) < 0)
        return -1;
    for (size_t i = 0; i < h->n; i++)
        h->x[i] = factor * value_at(&s, h->step[i], r->along != ALONG_METRIC);
    return 0;
}

static int along_tokens(struct history *h, const struct run_info *run,
                        const struct request *r, struct err *e)
{
    const char *key = history_find(run, token_names);
    const bool flops = r->along == ALONG_FLOPS;
    const double factor = flops ? flops_per_token(run) : 1;

    if (!key)
        return err_set(e, ERR_MISSING,
                       "%s has no metric of tokens (train/tokens), which "
                       "--x=%s needs",
                       run->name, flops ? "flops" : "tokens");
    if (isnan(factor))
        return err_set(e, ERR_MISSING,
                       "%s records neither its FLOPs per token nor its "
                       "number of parameters; --x=flops needs one",
                       run->name);
    return along_metric(h, run, r, key, factor, e);
}

static int refuse_axis(const struct run_info *run, const char *axis,
                       struct err *e)
{
    struct opt_nearest near = { .word = axis };

    for (const char *const *word = option_axes; *word; word++)
        opt_nearest_try(&near, *word);
    for (size_t i = 0; i < run->n_metrics; i++)
        opt_nearest_try(&near, run->metrics[i].key);
    err_set(e, ERR_MISSING, "%s has no metric %s, which --x=%s needs",
            run->name, axis, axis);
    return opt_nearest_add(&near, e);
}

static int fill_x(struct history *h, const struct run_info *run,
                  const struct request *r, struct err *e)
{
    switch (r->along) {
    case ALONG_STEP:
        for (size_t i = 0; i < h->n; i++)
            h->x[i] = (double)h->step[i];
        return 0;
    case ALONG_TOKENS:
    case ALONG_FLOPS:
        return along_tokens(h, run, r, e);
    case ALONG_METRIC:
        if (!run_info_metric(run, r->x))
            return refuse_axis(run, r->x, e);
        return along_metric(h, run, r, r->x, 1, e);
    case ALONG_GPUH:
        if (run->attempts == 0 || run->attempt[0].gpus == 0)
            return err_set(e, ERR_MISSING,
                           "%s records no GPU, so it has no GPU hours",
                           run->name);
        along_time(h, run, 1);
        return 0;
    case ALONG_TIME:
        along_time(h, run, 0);
        return 0;
    case ALONG_WALL:
        for (size_t i = 0; i < h->n; i++)
            h->x[i] = (double)(h->ms[i] - run->start_ms) / 1e3;
        return 0;
    }
    return 0;
}

/* Take over the points of a series, which has no owner then. */
static int take_points(struct history *h, struct series *s, const char *key,
                       struct err *e)
{
    *h = (struct history){ 0 };
    h->x = mem_alloc(s->n + 1, sizeof *h->x, key, e);
    if (!h->x) {
        series_free(s);
        return -1;
    }
    h->n = h->room = s->n;
    h->y = s->value;
    h->step = s->step;
    h->ms = s->ms;
    h->mean = s->mean;
    h->weight = s->weight;
    return 0;
}

static int load_between(struct history *h, const struct run_info *run,
                        const char *key, const struct request *r, int64_t from,
                        int64_t to, struct err *e)
{
    struct series s;

    *h = (struct history){ 0 };
    if (load_series(&s, run, key, r, from, to, e) < 0 ||
        take_points(h, &s, key, e) < 0)
        return -1;
    if (fill_x(h, run, r, e) == 0)
        return 0;
    history_free(h);
    return -1;
}

int history_load(struct history *h, const struct run_info *run, const char *key,
                 const struct request *r, struct err *e)
{
    int64_t from = INT64_MIN, to = INT64_MAX;

    if (load_between(h, run, key, r, from, to, e) < 0)
        return -1;
    if (h->weight && !(isnan(r->x_lo) && isnan(r->x_hi))) {
        for (size_t i = 0; i < h->n; i++)
            from = h->x[i] < r->x_lo ? h->step[i] : from;
        for (size_t i = h->n; i-- > 0;)
            to = h->x[i] > r->x_hi ? h->step[i] : to;
        history_free(h);
        if (load_between(h, run, key, r, from, to, e) < 0)
            return -1;
    }
    for (size_t i = 0; h->weight && i < h->n; i++)
        h->coarse |=
            h->weight[i] > 1 && !(h->x[i] < r->x_lo) && !(h->x[i] > r->x_hi);
    return 0;
}

/* The mean of the block whose first point is i; of a large one without its
 * extremes, so that a spike does not count. */
static double calm_mean(const struct history *h, size_t i)
{
    enum { LARGE = 8 };
    double lo = h->y[i], hi = lo;
    const double n = h->weight[i];

    for (size_t k = i + 1; k < h->n && h->weight[k] == 0; k++) {
        lo = fmin(lo, h->y[k]);
        hi = fmax(hi, h->y[k]);
    }
    return n < LARGE || !isfinite(hi - lo)
               ? h->mean[i]
               : (n * h->mean[i] - lo - hi) / (n - 2);
}

/* A block of an outline: its points, their mean, and where its middle is. */
struct part {
    double points, mean, at;
};

static struct part *blocks_of(const struct history *h, size_t *n)
{
    struct part *b = xcalloc(h->n + 1, sizeof *b);
    double points = 0;

    *n = 0;
    for (size_t i = 0; i < h->n; i++) {
        if (h->weight[i] == 0)
            continue;
        b[(*n)++] = (struct part){ h->weight[i], calm_mean(h, i),
                                   points + 0.5 * h->weight[i] };
        points += h->weight[i];
    }
    return b;
}

static void gauss_outline(const struct history *h, double most, double *out)
{
    size_t n, from = 0, block = 0;
    AUTO_FREE struct part *b = blocks_of(h, &n);
    double mean = NAN;

    for (size_t i = 0; i < h->n; i++) {
        if (h->weight[i]) {
            const double at = b[block++].at, sigma = smooth_early(most, at);
            double sum = 0, total = 0;

            while (b[from].at < at - 4 * sigma)
                from++;
            for (size_t k = from; k < n && b[k].at <= at + 4 * sigma; k++) {
                const double d = (b[k].at - at) / sigma;
                const double weight = exp(-0.5 * d * d) * b[k].points;

                sum += weight * b[k].mean;
                total += weight;
            }
            mean = sum / total;
        }
        out[i] = isfinite(h->y[i]) && isfinite(mean) ? mean : h->y[i];
    }
}

const double *history_smooth(struct history *h, const struct smooth *how)
{
    if (h->smooth)
        return h->smooth;
    h->smooth = xcalloc(h->n + 1, sizeof *h->smooth);
    if (!h->weight)
        smooth_apply(how, h->y, h->smooth, h->n);
    else if (how->kind == SMOOTH_GAUSS)
        gauss_outline(h, how->amount, h->smooth);
    else
        smooth_ema(how->amount, h->y, h->mean, h->weight, h->smooth, h->n);
    return h->smooth;
}

static void add_point(struct history *h, double x, double y, int64_t step,
                      int64_t ms)
{
    if (h->n == h->room) {
        h->room = h->room ? h->room * 2 : 64;
        h->x = xrealloc(h->x, h->room, sizeof *h->x);
        h->y = xrealloc(h->y, h->room, sizeof *h->y);
        h->step = xrealloc(h->step, h->room, sizeof *h->step);
        h->ms = xrealloc(h->ms, h->room, sizeof *h->ms);
    }
    h->x[h->n] = x;
    h->y[h->n] = y;
    h->step[h->n] = step;
    h->ms[h->n++] = ms;
}

int history_attempts(struct history **out, size_t *n,
                     const struct run_info *run, const char *key,
                     const struct request *r, struct err *e)
{
    const size_t count = run->attempts > 0 ? (size_t)run->attempts : 1;
    struct history all, *part;
    struct series s;
    int ret = 0;

    *out = NULL;
    *n = 0;
    if (series_load(&s, run, key, LOAD_ALL_ATTEMPTS, e) < 0 ||
        take_points(&all, &s, key, e) < 0)
        return -1;
    part = xcalloc(count, sizeof *part);
    for (size_t i = 0; i < all.n; i++)
        add_point(&part[attempt_of(run, all.ms[i])], 0, all.y[i], all.step[i],
                  all.ms[i]);
    history_free(&all);
    for (size_t i = 0; i < count; i++) {
        if (part[i].n == 0)
            continue;
        part[i].attempt = (int)i + 1;
        if (ret == 0)
            ret = fill_x(&part[i], run, r, e);
        part[(*n)++] = part[i];
    }
    *out = part;
    return ret;
}

/* Replace the points from the first step of another history on. */
static void append(struct history *h, const struct history *more)
{
    size_t keep = 0;

    while (keep < h->n && more->n && h->step[keep] < more->step[0])
        keep++;
    h->n = keep;
    for (size_t i = 0; i < more->n; i++)
        add_point(h, more->x[i], more->y[i], more->step[i], more->ms[i]);
}

int history_stitch(struct history *h, const struct run_info *run, size_t n,
                   const char *const *names, const struct request *r,
                   struct err *e)
{
    *h = (struct history){ 0 };
    for (size_t i = 0; i < n; i++) {
        const char *key = history_find(&run[i], names);
        AUTO(history_free) struct history more = { 0 };
        double base = 0;

        if (!key)
            continue;
        if (history_load(&more, &run[i], key, r, e) < 0) {
            history_free(h);
            return -1;
        }
        if (h->n && (r->along == ALONG_TIME || r->along == ALONG_GPUH)) {
            for (size_t k = 0; k < h->n && h->step[k] < more.step[0]; k++)
                base = h->x[k];
            for (size_t k = 0; k < more.n; k++)
                more.x[k] += base;
        } else if (h->n && r->along == ALONG_WALL) {
            for (size_t k = 0; k < more.n; k++)
                more.x[k] += (double)(run[i].start_ms - run[0].start_ms) / 1e3;
        }
        append(h, &more);
    }
    return 0;
}

void history_skip(struct history *h, int64_t steps)
{
    size_t to = 0;

    if (steps <= 0)
        return;
    for (size_t i = 0; i < h->n; i++) {
        if (h->step[i] <= steps)
            continue;
        h->x[to] = h->x[i];
        h->y[to] = h->y[i];
        h->step[to] = h->step[i];
        h->ms[to++] = h->ms[i];
    }
    h->n = to;
}

double history_x(const struct history *h, int64_t step)
{
    const size_t i = num_place(h->step, h->n, step);

    if (i < h->n && h->step[i] == step)
        return h->x[i];
    return i > 0 && i < h->n ? interpolate(h->step, h->x, i, step)
                             : (double)NAN;
}

size_t history_resumes(const struct run_info *run, const char *key,
                       int64_t *step, size_t room)
{
    AUTO(series_free) struct series s = { 0 };
    size_t n = 0;
    int now = 0;

    if (run->attempts < 2 || series_load(&s, run, key, 0, ERR_IGNORED) < 0)
        return 0;
    for (size_t i = 0; i < s.n && n < room; i++) {
        const int attempt = attempt_of(run, s.ms[i]);

        if (attempt > now)
            step[n++] = i > 0 ? s.step[i - 1] : s.step[i];
        now = attempt > now ? attempt : now;
    }
    return n;
}
