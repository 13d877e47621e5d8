#include "config.h"
#include "store/analysis/spent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "store/format/attempt.h"
#include "store/format/metric.h"

const char *const spent_words[SPENT_PARTS] = {
    [SPENT_COMPUTE] = "compute",         [SPENT_DATA] = "waiting for data",
    [SPENT_RANKS] = "waiting for ranks", [SPENT_EVAL] = "evaluation",
    [SPENT_CHECKPOINT] = "checkpoints",  [SPENT_REPEATED] = "repeated steps",
    [SPENT_FAILED] = "failed runs",      [SPENT_OTHER] = "other",
    [SPENT_QUEUE] = "between attempts",
};

/* ---- times ------------------------------------------------------------ */

/* The seconds of all steps.  Not every step has a point: one stands for the
 * steps since the point before it. */
static int sum_steps(double *secs, const struct run_info *run, const char *key,
                     int flags, struct err *e)
{
    AUTO(series_free) struct series s = { 0 };
    size_t second = 1;
    int64_t gap = 1;

    *secs = 0;
    if (series_load(&s, run, key, flags | LOAD_MAY_LACK, e) < 0)
        return -1;
    while (second < s.n && s.step[second] == s.step[0])
        second++;
    if (second < s.n) /* the first point is like the next */
        gap = s.step[second] - s.step[0];
    for (size_t i = 0; i < s.n; i++) {
        if (i > 0 && s.step[i] != s.step[i - 1])
            gap = s.step[i] - s.step[i - 1];
        if (isfinite(s.value[i]))
            *secs += s.value[i] / 1000 * (double)gap;
    }
    return 0;
}

/* The seconds of what happens now and then, in all attempts. */
static int add_events(double *secs, const struct run_info *run, const char *key,
                      struct err *e)
{
    AUTO(series_free) struct series s = { 0 };

    if (series_load(&s, run, key, LOAD_ALL_ATTEMPTS | LOAD_MAY_LACK, e) < 0)
        return -1;
    for (size_t i = 0; i < s.n; i++)
        *secs += s.value[i] / 1000;
    return 0;
}

/* When an attempt that nobody ended was last heard of before the next began:
 * its last heartbeat, or a point of any metric. */
static int64_t last_sign(const struct run_info *run, const struct attempt *a,
                         int64_t until)
{
    int64_t last = a->beat_ms;

    for (size_t i = 0; i < run->n_metrics; i++) {
        AUTO(series_free) struct series s = { 0 };

        if (series_load(&s, run, run->metrics[i].key, LOAD_ALL_ATTEMPTS,
                        ERR_IGNORED) < 0)
            continue;
        for (size_t k = 0; k < s.n; k++)
            if (s.ms[k] > last && s.ms[k] < until)
                last = s.ms[k];
    }
    return last;
}

struct attempt *spent_attempts(struct arena *mem, const struct run_info *run)
{
    const int n = run->attempts;
    struct attempt *list = arena_alloc(mem, (size_t)n * sizeof *list);

    for (int i = 0; i < n; i++) {
        struct attempt *a = &list[i];
        const bool is_last = i + 1 == n;

        *a = run->attempt[i];
        if (!a->end_ms && !(is_last && run->status == RUN_RUNNING))
            a->end_ms = last_sign(
                run, a, is_last ? INT64_MAX : run->attempt[i + 1].start_ms);
    }
    return list;
}

double spent_seconds(const struct run_info *run)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    const struct attempt *list = spent_attempts(&mem, run);
    double secs = 0;

    for (int i = 0; i < run->attempts; i++)
        secs += attempt_seconds(run->folder, &list[i], clock_wall_ms());
    if (run->attempts == 0 && run->seen_ms > run->start_ms)
        secs = (double)(run->seen_ms - run->start_ms) / 1000;
    return secs;
}

static double between_attempts(const struct run_info *run)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    const struct attempt *list = spent_attempts(&mem, run);
    double secs = 0;

    for (int i = 1; i < run->attempts; i++)
        secs += fmax(0, (double)(list[i].start_ms - list[i - 1].end_ms) / 1000);
    return secs;
}

int spent_load(struct spent *s, const struct run_info *run, double seconds,
               struct err *e)
{
    static const char *const evals[] = { "perf/val_ms", "perf/questions_ms",
                                         "perf/sample_ms", NULL };
    double steps, all, left = seconds;

    *s = (struct spent){ { 0 } };
    s->secs[SPENT_QUEUE] = between_attempts(run);
    if (run->status == RUN_FAILED || run->status == RUN_STALE) {
        s->secs[SPENT_FAILED] = seconds;
        return 0;
    }
    if (sum_steps(&steps, run, "perf/step_ms", 0, e) < 0 ||
        sum_steps(&all, run, "perf/step_ms", LOAD_ALL_ATTEMPTS, e) < 0 ||
        sum_steps(&s->secs[SPENT_DATA], run, "perf/data_wait_ms", 0, e) < 0 ||
        sum_steps(&s->secs[SPENT_RANKS], run, "perf/comm_wait_ms", 0, e) < 0 ||
        add_events(&s->secs[SPENT_CHECKPOINT], run, "perf/checkpoint_ms", e) <
            0)
        return -1;
    for (int i = 0; evals[i]; i++)
        if (add_events(&s->secs[SPENT_EVAL], run, evals[i], e) < 0)
            return -1;
    s->secs[SPENT_REPEATED] = all - steps;
    s->secs[SPENT_COMPUTE] =
        fmax(0, steps - s->secs[SPENT_DATA] - s->secs[SPENT_RANKS]);
    for (int i = 0; i < SPENT_OTHER; i++)
        left -= s->secs[i];
    s->secs[SPENT_OTHER] = fmax(0, left);
    return 0;
}

/* ---- energy ----------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const struct metric_point *x = a, *y = b;

    return (x->ms > y->ms) - (x->ms < y->ms);
}

/* The sum over all attempts of a counter that begins each one at 0. */
static int sum_counter(double *sum, const struct run_info *run, const char *key,
                       double processes, struct err *e)
{
    AUTO(series_free) struct series s = { 0 };
    AUTO_FREE struct metric_point *p = NULL;
    double last = 0;

    if (series_load(&s, run, key, LOAD_ALL_ATTEMPTS, e) < 0)
        return -1;
    p = xcalloc(s.n, sizeof *p);
    for (size_t i = 0; i < s.n; i++)
        p[i] = (struct metric_point){ .ms = s.ms[i], .value = s.value[i] };
    SORT(p, s.n, by_time);
    for (size_t i = 0; i < s.n; i++) {
        *sum +=
            processes * (p[i].value >= last ? p[i].value - last : p[i].value);
        last = p[i].value;
    }
    return 0;
}

/* "system/gpu_power_w", or of another rank "system/1/gpu_power_w" */
static bool is_system(const char *key, const char *name)
{
    const char *slash = strrchr(key, '/');

    return strncmp(key, "system/", 7) == 0 && strcmp(slash + 1, name) == 0;
}

/* For how many processes a metric of the system stands.  Of a job of many
 * ranks, there are the least, the mean and the largest value of all but rank 0
 * (meter.h). */
static double processes_of(const struct run_info *run, const char *key)
{
    const char *ranks = run_info_param(run, "derived.ranks");

    if (strncmp(key, "system/min/", 11) == 0 ||
        strncmp(key, "system/max/", 11) == 0)
        return 0;
    if (strncmp(key, "system/mean/", 12) == 0 && ranks)
        return strtod(ranks, NULL) - 1;
    return 1;
}

int spent_joules(double *joules, const struct run_info *run, double seconds,
                 struct err *e)
{
    double counted = 0, watts = 0;

    for (size_t i = 0; i < run->n_metrics; i++) {
        const struct metric_sum *m = &run->metrics[i];
        const double processes = processes_of(run, m->key);

        if (is_system(m->key, "gpu_energy_j") &&
            sum_counter(&counted, run, m->key, processes, e) < 0)
            return -1;
        if (is_system(m->key, "gpu_power_w") && isfinite(m->mean))
            watts += processes * m->mean;
    }
    *joules = counted > 0 ? counted : watts > 0 ? watts * seconds : (double)NAN;
    return 0;
}
