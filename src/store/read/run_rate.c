#include "config.h"
#include "store/read/run_rate.h"

#include <math.h>
#include <string.h>

#include "common/num.h"
#include "common/opt.h"
#include "store/format/attempt.h"

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
    struct series s = { 0 };

    if (series_load_part(&s, run, m->key, &part, LOAD_MAY_LACK, e) == 0 &&
        s.n) {
        u.tokens = s.value[s.n - 1];
        u.seconds = run_rate_seconds(run, s.ms[s.n - 1]);
    }
    series_free(&s);
    return u;
}

static double harmonic_mean(const struct run_info *run, const char *key,
                            int64_t from, int64_t to, struct err *e)
{
    const struct series_part part = { from, to, 0 };
    struct series s = { 0 };
    double sum = 0;
    size_t n = 0;

    if (series_load_part(&s, run, key, &part, LOAD_MAY_LACK, e) < 0)
        return (double)NAN;
    for (size_t i = 0; i < s.n; i++)
        if (s.value[i] > 0) {
            sum += 1 / s.value[i];
            n++;
        }
    series_free(&s);
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
