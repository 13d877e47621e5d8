/*
 * series - load the history of a metric, or a part of it
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "common/num.h"
#include "common/opt.h"
#include "store/format/attempt.h"
#include "store/format/metric.h"
#include "store/read/runs.h"

struct at {
    struct metric_point point;
    size_t place;
};

static int by_step(const void *a, const void *b)
{
    const struct at *x = a, *y = b;

    if (x->point.step != y->point.step)
        return x->point.step < y->point.step ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* By step; points of one step stay in the order of the file. */
static void sort_by_step(struct series *s)
{
    AUTO_FREE struct at *at = xcalloc(s->n, sizeof *at);

    for (size_t i = 0; i < s->n; i++)
        at[i] = (struct at){ { s->ms[i], s->step[i], s->value[i] }, i };
    SORT(at, s->n, by_step);
    for (size_t i = 0; i < s->n; i++) {
        s->ms[i] = at[i].point.ms;
        s->step[i] = at[i].point.step;
        s->value[i] = at[i].point.value;
    }
}

/* A series that is being filled with a part of the points. */
struct filling {
    struct series *s;
    const struct series_part *part;
    size_t room;
    bool sorted;
};

/* Sort what there is, and keep only the last steps that are wanted. */
static void keep_last(struct filling *f)
{
    struct series *s = f->s;
    size_t first = s->n;

    if (!f->sorted)
        sort_by_step(s);
    f->sorted = true;
    for (int64_t k = 0; first > 0 && k < f->part->last; k++) {
        const int64_t step = s->step[first - 1];

        while (first > 0 && s->step[first - 1] == step)
            first--;
    }
    if (f->part->last == 0 || first == 0)
        return;
    s->n -= first;
    memmove(s->step, s->step + first, s->n * sizeof *s->step);
    memmove(s->ms, s->ms + first, s->n * sizeof *s->ms);
    memmove(s->value, s->value + first, s->n * sizeof *s->value);
}

/* Make room for a point.  If only the last steps are wanted, what has become
 * superfluous goes first. */
static void make_room(struct filling *f)
{
    enum { LEAST = 1024 };
    struct series *s = f->s;

    if (f->part->last && s->n)
        keep_last(f);
    if (f->room && s->n <= f->room / 2)
        return;
    f->room = f->room ? f->room * 2 : LEAST;
    s->step = xrealloc(s->step, f->room, sizeof *s->step);
    s->ms = xrealloc(s->ms, f->room, sizeof *s->ms);
    s->value = xrealloc(s->value, f->room, sizeof *s->value);
}

static void add_point(void *arg, const struct metric_point *p)
{
    struct filling *f = arg;
    struct series *s = f->s;

    if (p->step < f->part->from || p->step > f->part->to)
        return;
    if (s->n == f->room)
        make_room(f);
    f->sorted = f->sorted && (s->n == 0 || p->step >= s->step[s->n - 1]);
    s->step[s->n] = p->step;
    s->ms[s->n] = p->ms;
    s->value[s->n++] = p->value;
}

int series_load_part(struct series *s, const struct run_info *run,
                     const char *key, const struct series_part *part, int flags,
                     struct err *e)
{
    AUTO_FREE char *path = xasprintf("%s/metrics/%s", run->folder, key);
    AUTO(arena_clear) struct arena mem = { 0 };
    struct rewind_list rewinds = { 0 };
    const struct metric_file file = { path, key, .rewinds = &rewinds,
                                      .links = run->links, .run = run->folder };
    struct filling f = { s, part, 0, true };
    struct metric_scan scan;
    int ret = 0;

    *s = (struct series){ 0 };
    if (!(flags & LOAD_ALL_ATTEMPTS))
        ret = rewinds_load(&rewinds, &mem, run->folder, key, run->links, e);
    if (ret == 0)
        ret = metric_read(&file, add_point, &f, &scan, e);
    if (ret == 0)
        keep_last(&f);
    if (flags & LOAD_MAY_LACK)
        ret = err_allow(ret, ERR_MISSING, e);
    if (ret < 0) {
        if (e->kind == ERR_MISSING)
            err_set(e, ERR_MISSING, "run %s has no metric %s", run->name, key);
        series_free(s);
    }
    return ret;
}

int series_load(struct series *s, const struct run_info *run, const char *key,
                int flags, struct err *e)
{
    const struct series_part all = { INT64_MIN, INT64_MAX, 0 };

    return series_load_part(s, run, key, &all, flags, e);
}

bool series_value(const struct series *s, int64_t step, double *value)
{
    const size_t at = num_place(s->step, s->n, step);

    if (at == s->n || s->step[at] != step)
        return false;
    *value = s->value[at];
    return true;
}

bool series_at(double *value, const struct run_info *run, const char *key,
               int64_t step, bool first, struct err *e)
{
    const struct series_part part = { first ? step : INT64_MIN, step, 1 };
    AUTO(series_free) struct series s = { 0 };
    bool found;

    if (series_load_part(&s, run, key, &part, LOAD_MAY_LACK, e) < 0)
        return false;
    found = s.n > 0;
    if (found)
        *value = s.value[first ? 0 : s.n - 1];
    return found;
}

bool series_median(double *value, const struct run_info *run, const char *key,
                   struct err *e)
{
    AUTO(series_free) struct series s = { 0 };
    size_t n = 0;

    if (series_load(&s, run, key, LOAD_MAY_LACK, e) < 0)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!isnan(s.value[i]))
            s.value[n++] = s.value[i];
    if (n)
        *value =
            (num_nth(s.value, n, (n - 1) / 2) + num_nth(s.value, n, n / 2)) / 2;
    return n > 0;
}

void series_free(struct series *s)
{
    FREE(s->step, s->ms, s->value, s->mean, s->weight);
    *s = (struct series){ 0 };
}

/* ---- the speed of a run ------------------------------------------------- */

bool run_rate_is(const char *key)
{
    static const char *const names[] = { "tokens_per_s",
                                         "tokens_per_sec",
                                         "tokens_per_second",
                                         "train_tokens_per_second",
                                         "tok_per_s",
                                         "throughput",
                                         "flops",
                                         "mfu",
                                         NULL };
    const char *slash = strrchr(key, '/'), *name = slash ? slash + 1 : key;

    return opt_find_word(names, name) >= 0;
}

static int64_t attempt_end(const struct run_info *run, int i)
{
    const struct attempt *a = &run->attempt[i];

    if (a->end_ms)
        return a->end_ms;
    return i + 1 == run->attempts && run->seen_ms ? run->seen_ms : a->beat_ms;
}

double run_rate_seconds(const struct run_info *run, int64_t ms)
{
    double sum = 0;

    for (int i = 0; i < run->attempts; i++) {
        const int64_t from = run->attempt[i].start_ms;
        const int64_t end = attempt_end(run, i), to = end < ms ? end : ms;

        sum += to > from ? (double)(to - from) : 0;
    }
    if (sum > 0)
        return sum / 1e3;
    return ms == INT64_MAX ? run_info_seconds(run)
           : run->attempts ? 0
                           : (double)(ms - run->start_ms) / 1e3;
}

/* The tokens that another run has trained on. */
static double tokens_before(const struct run_info *run,
                            const struct metric_sum *m, struct err *e)
{
    const char *tag = run_info_tag(run, "resumed.step");
    double from, first;

    if (!tag || !num_real(tag, &from) || m->first_step <= 0 ||
        !series_at(&first, run, m->key, m->first_step, true, e))
        return e->kind ? (double)NAN : 0;
    return first * from / (double)m->first_step;
}

/* The tokens until a step, and the time they took. */
struct tokens_until {
    double tokens, seconds;
};

static struct tokens_until tokens_until(const struct run_info *run,
                                        const struct metric_sum *m,
                                        int64_t step, struct err *e)
{
    const struct series_part part = { INT64_MIN, step, 1 };
    struct tokens_until u = { tokens_before(run, m, e), 0 };
    AUTO(series_free) struct series s = { 0 };

    if (series_load_part(&s, run, m->key, &part, LOAD_MAY_LACK, e) == 0 &&
        s.n) {
        u.tokens = s.value[s.n - 1];
        u.seconds = run_rate_seconds(run, s.ms[s.n - 1]);
    }
    return u;
}

static double harmonic_mean(const struct run_info *run, const char *key,
                            int64_t from, int64_t to, struct err *e)
{
    const struct series_part part = { from, to, 0 };
    AUTO(series_free) struct series s = { 0 };
    double sum = 0;
    size_t n = 0;

    if (series_load_part(&s, run, key, &part, LOAD_MAY_LACK, e) < 0)
        return (double)NAN;
    for (size_t i = 0; i < s.n; i++)
        if (s.value[i] > 0) {
            sum += 1 / s.value[i];
            n++;
        }
    return n ? (double)n / sum : (double)NAN;
}

double run_rate(const struct run_info *run, const char *key, struct err *e)
{
    const struct metric_sum *m = run_info_metric(run, key),
                            *tokens = run_info_metric(run, "train/tokens"),
                            *rate = run_info_metric(run, "perf/tokens_per_s");
    const double seconds = run_rate_seconds(run, INT64_MAX);

    if (!m)
        return (double)NAN;
    if (tokens && rate && rate->last > 0 && seconds > 0)
        return (tokens->last - tokens_before(run, tokens, e)) / seconds *
               (m->last / rate->last);
    return m->harmonic;
}

double run_rate_between(const struct run_info *run, const char *key,
                        int64_t after, int64_t to, struct err *e)
{
    const struct metric_sum *tokens = run_info_metric(run, "train/tokens");
    double last, rate;

    if (!series_at(&last, run, key, to, false, e))
        return (double)NAN;
    if (tokens && series_at(&rate, run, "perf/tokens_per_s", to, false, e) &&
        rate > 0) {
        const struct tokens_until u = tokens_until(run, tokens, to, e),
                                  v = tokens_until(run, tokens, after, e);

        return u.seconds > v.seconds
                   ? (u.tokens - v.tokens) / (u.seconds - v.seconds) *
                         (last / rate)
                   : (double)NAN;
    }
    return harmonic_mean(run, key, after == INT64_MIN ? after : after + 1, to,
                         e);
}

double run_rate_best(const struct run_info *run, const char *key, bool high,
                     struct err *e)
{
    const struct metric_sum *m = key ? run_info_metric(run, key) : NULL;
    const double x = !m                 ? (double)NAN
                     : run_rate_is(key) ? run_rate(run, key, e)
                     : high             ? m->max
                                        : m->min;

    return isfinite(x) ? x : (double)NAN;
}

/* ---- two runs ----------------------------------------------------------- */

/* The differences at the steps that both have; returns how many. */
static size_t subtract(const struct series *a, const struct series *b,
                       double *out)
{
    size_t n = 0;

    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        if (a->step[i] < b->step[k]) {
            i++;
        } else if (a->step[i] > b->step[k]) {
            k++;
        } else {
            const double d = a->value[i++] - b->value[k++];

            if (isfinite(d))
                out[n++] = d;
        }
    }
    return n;
}

static int pair(struct paired *p, const struct run_info *a,
                const struct run_info *b, const char *key, struct err *e)
{
    AUTO(series_free) struct series x = { 0 }, y = { 0 };
    int ret = series_load(&x, a, key, LOAD_MAY_LACK, e);

    *p = (struct paired){ .mean = (double)NAN, .error = (double)NAN };
    if (ret == 0)
        ret = series_load(&y, b, key, LOAD_MAY_LACK, e);
    if (ret == 0) {
        AUTO_FREE double *d = xcalloc(x.n + 1, sizeof *d);
        const size_t n = subtract(&x, &y, d), last = (n + 3) / 4;

        *p = paired_series(d + n - last, last);
    }
    return ret;
}

static const char *seed_of(const struct run_info *run)
{
    const char *seed = run_info_param(run, "train.seed");

    return seed ? seed : run_info_param(run, "seed");
}

static const struct run_info *find_seed(const struct run_info *const *run,
                                        size_t n, const char *seed)
{
    for (size_t i = 0; seed && i < n; i++)
        if (seed_of(run[i]) && strcmp(seed_of(run[i]), seed) == 0)
            return run[i];
    return NULL;
}

int paired_groups(struct paired *p, const struct run_info *const *a, size_t n,
                  const struct run_info *const *b, size_t n_b, const char *key,
                  struct err *e)
{
    AUTO_FREE double *diff = xcalloc(n, sizeof *diff);
    size_t found = 0;
    int ret = 0;

    *p = (struct paired){ .mean = (double)NAN, .error = (double)NAN };
    for (size_t i = 0; ret == 0 && i < n; i++) {
        const struct run_info *other =
            n == 1 && n_b == 1 ? b[0] : find_seed(b, n_b, seed_of(a[i]));

        if (!other)
            continue;
        ret = pair(p, a[i], other, key, e);
        if (isfinite(p->mean))
            diff[found++] = p->mean;
    }
    if (found != 1)
        *p = paired_independent(diff, found);
    return ret;
}
