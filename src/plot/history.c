#include "config.h"
#include "plot/history.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "plot/draw/axis.h"
#include "store/attempt.h"

static const char *const token_names[] = {
    "train/tokens",          "tokens",
    "tokens_seen",           "train/tokens_seen",
    "consumed_tokens",       "train/num_input_tokens_seen",
    "num_input_tokens_seen", NULL
};

void history_free(struct history *h)
{
    free(h->x);
    free(h->y);
    free(h->step);
    free(h->ms);
    *h = (struct history){ 0 };
}

const char *history_find(const struct run_info *run, const char *const *names)
{
    for (; *names; names++)
        for (size_t i = 0; i < run->n_metrics; i++)
            if (fnmatch(*names, run->metrics[i].key, 0) == 0)
                return run->metrics[i].key;
    return NULL;
}

bool history_number(const struct run_info *run, const char *key, double *out)
{
    const char *text = run_info_param(run, key);

    if (!text)
        text = run_info_tag(run, key);
    return text && num_real(text, out);
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
    };

    axis_init(a, axes[r->along].label, axes[r->along].unit);
}

/*
 * Attempts, told apart by when they began
 */

static int attempt_of(const struct run_info *run, int64_t ms)
{
    int i = run->attempts - 1;

    while (i > 0 && run->attempt[i].start_ms > ms)
        i--;
    return i < 0 ? 0 : i;
}

/*
 * X.  Time passes while an attempt runs: where the next one takes over, it
 * continues from the time of the last point that was kept.
 */
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

static void along_wall(struct history *h, const struct run_info *run)
{
    for (size_t i = 0; i < h->n; i++)
        h->x[i] = (double)(h->ms[i] - run->start_ms) / 1e3;
}

static double interpolate(const struct series *s, int64_t step)
{
    size_t lo = 0, hi = s->n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;

        if (s->step[mid] < step)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (s->n == 0)
        return NAN;
    if (lo == s->n || s->step[lo] == step || lo == 0) {
        /* before the first and after the last: in proportion to the steps */
        const size_t i = lo == s->n ? s->n - 1 : lo;

        if (s->step[i] == step)
            return s->value[i];
        return s->step[i] > 0 ? s->value[i] * (double)step / (double)s->step[i]
                              : s->value[i];
    }
    return s->value[lo - 1] + (s->value[lo] - s->value[lo - 1]) *
                                  (double)(step - s->step[lo - 1]) /
                                  (double)(s->step[lo] - s->step[lo - 1]);
}

/* FLOPs of a token: as the run measures them, or six for each parameter. */
double history_flops_per_token(const struct run_info *run)
{
    static const char *const params[] = { "is.parameters", "model.parameters",
                                          "n_params",      "num_params",
                                          "parameters",    NULL };
    const struct metric_sum *flops = run_info_metric(run, "perf/flops");
    const struct metric_sum *rate = run_info_metric(run, "perf/tokens_per_s");
    double v;

    if (flops && rate && flops->last > 0 && rate->last > 0)
        return flops->last / rate->last;
    for (const char *const *k = params; *k; k++)
        if (history_number(run, *k, &v) && v > 0)
            return 6 * v;
    return NAN;
}

static int along_tokens(struct history *h, const struct run_info *run,
                        bool flops, struct err *e)
{
    const char *key = history_find(run, token_names);
    double factor = flops ? history_flops_per_token(run) : 1;
    struct series s;

    if (!key)
        return err_set(e, ERR_MISSING,
                       "%s has no metric of tokens "
                       "(train/tokens), which --x=%s needs",
                       run->name, flops ? "flops" : "tokens");
    if (isnan(factor))
        return err_set(e, ERR_MISSING,
                       "%s records neither its FLOPs per token "
                       "nor its number of parameters; --x=flops needs one",
                       run->name);
    if (series_load(&s, run, key, 0, e) < 0)
        return -1;
    for (size_t i = 0; i < h->n; i++)
        h->x[i] = interpolate(&s, h->step[i]) * factor;
    series_free(&s);
    return 0;
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
        return along_tokens(h, run, r->along == ALONG_FLOPS, e);
    case ALONG_GPUH:
        if (run->attempts == 0 || run->attempt[0].gpus == 0)
            return err_set(e, ERR_MISSING,
                           "%s records no GPU, "
                           "so it has no GPU hours",
                           run->name);
        along_time(h, run, 1);
        return 0;
    case ALONG_TIME:
        along_time(h, run, 0);
        return 0;
    case ALONG_WALL:
        along_wall(h, run);
        return 0;
    }
    return 0;
}

static int load(struct history *h, const struct run_info *run, const char *key,
                int flags, struct err *e)
{
    struct series s;

    *h = (struct history){ 0 };
    if (series_load(&s, run, key, flags, e) < 0)
        return -1;
    h->x = mem_alloc(s.n + 1, sizeof *h->x, key, e);
    if (!h->x) {
        series_free(&s);
        return -1;
    }
    h->n = s.n;
    h->y = s.value;
    h->step = s.step;
    h->ms = s.ms;
    return 0;
}

int history_load(struct history *h, const struct run_info *run, const char *key,
                 const struct request *r, struct err *e)
{
    if (load(h, run, key, 0, e) < 0)
        return -1;
    if (fill_x(h, run, r, e) == 0)
        return 0;
    history_free(h);
    return -1;
}

int history_attempts(struct history **out, size_t *n,
                     const struct run_info *run, const char *key,
                     const struct request *r, struct err *e)
{
    const size_t count = run->attempts > 0 ? (size_t)run->attempts : 1;
    struct history all, *part;
    int ret = 0;

    *out = NULL;
    *n = 0;
    if (load(&all, run, key, LOAD_ALL_ATTEMPTS, e) < 0)
        return -1;
    part = xcalloc(count, sizeof *part);
    for (size_t i = 0; i < count; i++) {
        part[i] = (struct history){
            .attempt = (int)i + 1,
            .x = xcalloc(all.n + 1, sizeof(double)),
            .y = xcalloc(all.n + 1, sizeof(double)),
            .step = xcalloc(all.n + 1, sizeof(int64_t)),
            .ms = xcalloc(all.n + 1, sizeof(int64_t)),
        };
    }
    for (size_t i = 0; i < all.n; i++) {
        struct history *h = &part[attempt_of(run, all.ms[i])];

        h->step[h->n] = all.step[i];
        h->ms[h->n] = all.ms[i];
        h->y[h->n++] = all.y[i];
    }
    history_free(&all);
    for (size_t i = 0; i < count; i++) {
        if (part[i].n && ret == 0)
            ret = fill_x(&part[i], run, r, e);
        if (part[i].n)
            part[(*n)++] = part[i];
        else
            history_free(&part[i]);
    }
    *out = part;
    return ret;
}

static void append(struct history *h, const struct history *more)
{
    size_t keep = 0;

    while (keep < h->n && more->n && h->step[keep] < more->step[0])
        keep++;
    h->x = xrealloc(h->x, keep + more->n + 1, sizeof *h->x);
    h->y = xrealloc(h->y, keep + more->n + 1, sizeof *h->y);
    h->step = xrealloc(h->step, keep + more->n + 1, sizeof *h->step);
    h->ms = xrealloc(h->ms, keep + more->n + 1, sizeof *h->ms);
    for (size_t i = 0; i < more->n; i++) {
        h->x[keep + i] = more->x[i];
        h->y[keep + i] = more->y[i];
        h->step[keep + i] = more->step[i];
        h->ms[keep + i] = more->ms[i];
    }
    h->n = keep + more->n;
}

int history_stitch(struct history *h, const struct run_info *run, size_t n,
                   const char *const *names, const struct request *r,
                   struct err *e)
{
    *h = (struct history){ 0 };
    for (size_t i = 0; i < n; i++) {
        const char *key = history_find(&run[i], names);
        struct history more;
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
        history_free(&more);
    }
    return 0;
}

void history_skip(struct history *h, int64_t steps)
{
    size_t to = 0;

    for (size_t i = 0; i < h->n; i++) {
        if (h->step[i] <= steps && steps > 0)
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
    for (size_t i = 0; i < h->n; i++) {
        if (h->step[i] < step)
            continue;
        if (h->step[i] == step || i == 0)
            return h->step[i] == step ? h->x[i] : (double)NAN;
        return h->x[i - 1] + (h->x[i] - h->x[i - 1]) *
                                 (double)(step - h->step[i - 1]) /
                                 (double)(h->step[i] - h->step[i - 1]);
    }
    return NAN;
}

size_t history_resumes(const struct run_info *run, const char *key,
                       int64_t *step, size_t room)
{
    struct err e = ERR_INIT;
    struct series s;
    size_t n = 0;
    int now = 0;

    if (run->attempts < 2 || series_load(&s, run, key, 0, &e) < 0)
        return 0;
    for (size_t i = 0; i < s.n && n < room; i++) {
        const int attempt = attempt_of(run, s.ms[i]);

        if (attempt > now)
            step[n++] = i > 0 ? s.step[i - 1] : s.step[i];
        now = attempt > now ? attempt : now;
    }
    series_free(&s);
    return n;
}
