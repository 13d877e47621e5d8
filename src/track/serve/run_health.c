#include "config.h"
#include "track/serve/run_health.h"

#include <math.h>
#include <string.h>

#include "common/log.h"
#include "common/num.h"
#include "plot/curve_kind.h"
#include "store/analysis/spike.h"

/* The metric of a kind of figure that the run has, or NULL. */
static const char *metric_of(const struct run_info *r, const char *kind)
{
    return curve_kind_line_key(r, &curve_kind_find(kind)->line[0]);
}

static bool load(struct series *s, const struct run_info *r, const char *key)
{
    struct err e = { 0 };

    if (series_load(s, r, key, 0, &e) == 0)
        return true;
    log_lack(e.text);
    return false;
}

/* How many spikes there are, and which is the highest. */
static size_t count_spikes(const struct series *s, size_t *highest)
{
    struct spike_window window = { .n = 0 };
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        double middle;
        const double score = spike_score(&window, s->value[i], &middle);

        if (isfinite(s->value[i]) && score > SPIKE_DEVIATIONS)
            *highest = n++ && s->value[*highest] >= s->value[i] ? *highest : i;
    }
    return n;
}

/* Spikes of the loss, and the values that are not finite. */
static void say_losses(struct buf *b, struct buf *command,
                       const struct run_info *r, const char *key)
{
    struct series s = { 0 };
    size_t spikes, highest = 0, bad = 0, first_bad = 0;

    if (!load(&s, r, key))
        return;
    spikes = count_spikes(&s, &highest);
    for (size_t i = 0; i < s.n; i++)
        if (!isfinite(s.value[i]))
            first_bad = bad++ ? first_bad : i;
    if (bad)
        buf_printf(b,
                   "%zu of %zu values of %s are not finite, the first at "
                   "step %lld",
                   bad, s.n, key, (long long)s.step[first_bad]);
    else
        buf_printf(b, "All %zu values of %s are finite", s.n, key);
    if (spikes)
        buf_printf(b, "; %zu spike%s, the highest at step %lld.", spikes,
                   spikes == 1 ? "" : "s", (long long)s.step[highest]);
    else
        buf_str(b, "; no spikes.");
    if (spikes && strcmp(key, "train/loss") == 0) {
        buf_str(command, "gtrain batch ");
        buf_shell_short(command, r->name);
        buf_printf(command, " %lld", (long long)s.step[highest]);
    }
    series_free(&s);
}

static void say_norms(struct buf *b, const struct run_info *r)
{
    const char *key = metric_of(r, "grad-norm");
    struct series s = { 0 };
    size_t spikes, highest = 0;

    if (!key || !load(&s, r, key))
        return;
    spikes = count_spikes(&s, &highest);
    if (spikes)
        buf_printf(b, " %s has %zu spike%s, the highest at step %lld.", key,
                   spikes, spikes == 1 ? "" : "s", (long long)s.step[highest]);
    series_free(&s);
}

/* The median of the last tenth beside that of all values. */
static void say_speed(struct buf *b, const struct run_info *r)
{
    enum { LEAST = 20 };
    const bool mfu = run_info_metric(r, "perf/mfu");
    const char *key = mfu ? "perf/mfu" : metric_of(r, "throughput");
    struct series s = { 0 };
    double late, all;

    if (!key || !load(&s, r, key))
        return;
    if (s.n >= LEAST) {
        const size_t n = s.n / 10;

        late = num_nth(s.value + s.n - n, n, n - n / 2 - 1);
        all = num_nth(s.value, s.n, s.n / 2);
        if (all > 0 && isfinite(late))
            buf_printf(b, " The %s of the last tenth is %.0f%% of the median%s",
                       mfu ? "MFU" : "speed", 100 * late / all,
                       late < 0.9 * all ? ", which is low." : ".");
    }
    series_free(&s);
}

static void say_end(struct buf *b, const struct run_info *r, int64_t now_ms)
{
    char age[NUM_TEXT];
    int64_t last = 0;

    for (size_t i = 0; i < r->n_metrics; i++)
        if (r->metrics[i].last_ms > last)
            last = r->metrics[i].last_ms;
    if (!last || now_ms < last)
        return;
    num_duration(age, (double)(now_ms - last) / 1e3);
    buf_printf(b, " The last point, of step %lld, came %s ago.",
               (long long)run_info_last_step(r), age);
}

void run_health(struct buf *text, struct buf *command, const struct run_info *r,
                int64_t now_ms)
{
    const char *loss = metric_of(r, "loss");

    if (loss)
        say_losses(text, command, r, loss);
    say_norms(text, r);
    say_speed(text, r);
    say_end(text, r, now_ms);
}
