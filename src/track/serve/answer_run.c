/*
 * answer_run - all that is known of one run
 */
#include "config.h"
#include "track/serve/site.h"

#include <math.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/num.h"
#include "common/output/emit.h"
#include "plot/curve_kind.h"
#include "store/analysis/spike.h"
#include "store/format/attempt.h"
#include "store/read/runs.h"
#include "track/runs/file_tree.h"
#include "track/runs/track.h"
#include "track/serve/answer.h"

/*
 * run_health - a few sentences on whether a run is well
 *
 * They say whether its losses are finite, how many spikes there are, how its
 * MFU or its speed compares with its own past, and how old its last point is.
 * The command, if any, shows the documents behind the highest spike.
 */

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
    AUTO(series_free) struct series s = { 0 };
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
}

static void say_norms(struct buf *b, const struct run_info *r)
{
    const char *key = metric_of(r, "grad-norm");
    AUTO(series_free) struct series s = { 0 };
    size_t spikes, highest = 0;

    if (!key || !load(&s, r, key))
        return;
    spikes = count_spikes(&s, &highest);
    if (spikes)
        buf_printf(b, " %s has %zu spike%s, the highest at step %lld.", key,
                   spikes, spikes == 1 ? "" : "s", (long long)s.step[highest]);
}

/* The median of the last tenth beside that of all values. */
static void say_speed(struct buf *b, const struct run_info *r)
{
    enum { LEAST = 20 };
    const bool mfu = run_info_metric(r, "perf/mfu");
    const char *key = mfu ? "perf/mfu" : metric_of(r, "throughput");
    AUTO(series_free) struct series s = { 0 };
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
}

static void say_end(struct buf *b, const struct run_info *r, int64_t now_ms)
{
    char age[NUM_TEXT];
    const int64_t last = run_info_last_ms(r);

    if (!last || now_ms < last)
        return;
    num_duration(age, (double)(now_ms - last) / 1e3);
    buf_printf(b, " The last point, of step %lld, came %s ago.",
               (long long)run_info_last_step(r), age);
}

static void run_health(struct buf *text, struct buf *command,
                       const struct run_info *r, int64_t now_ms)
{
    const char *loss = metric_of(r, "loss");

    if (loss)
        say_losses(text, command, r, loss);
    say_norms(text, r);
    say_speed(text, r);
    say_end(text, r, now_ms);
}

/* -- tables ---------------------------------------------------------------- */

static void fill_params(struct table *t, const struct run_info *r)
{
    table_columns(t, "name", "value", NULL);
    for (size_t i = 0; i < r->n_params; i++) {
        table_text(t, r->params[i].key);
        table_text(t, r->params[i].value);
    }
}

static void fill_metrics(struct table *t, const struct run_info *r)
{
    struct err e = { 0 };

    table_columns(t, "name", "last", "step", "lowest", "at step", "highest",
                  "at step ", "mean", "points", "not finite", NULL);
    for (size_t i = 0; i < r->n_metrics; i++) {
        const struct metric_sum *m = &r->metrics[i];

        table_text(t, m->key);
        track_add_metric(t, m);
        table_real(t, run_rate_is(m->key) ? run_rate(r, m->key, &e) : m->mean);
        table_int(t, m->count);
        table_int(t, m->nonfinite);
    }
    if (e.kind)
        log_lack(e.text);
}

static void fill_attempts(struct table *t, const struct run_info *r)
{
    table_columns(t, "attempt", "status", "started", "ended", "host", "user",
                  "job", "cpus", "gpus", "reason", "command", NULL);
    for (int i = 0; i < r->attempts; i++) {
        const struct attempt *a = &r->attempt[i];

        table_int(t, a->number);
        table_text(t, run_status_word(a->status));
        table_time(t, a->start_ms);
        table_time(t, a->end_ms);
        table_text(t, a->host);
        table_text(t, a->user);
        table_text(t, a->job);
        table_int(t, a->cpus);
        table_int(t, a->gpus);
        table_text(t, a->reason);
        table_text(t, a->command);
    }
}

static void fill_inputs(struct table *t, const struct run_info *r)
{
    table_columns(t, "name", "digest", "context", "source", NULL);
    for (size_t i = 0; i < r->n_inputs; i++) {
        table_text(t, r->inputs[i].name);
        table_text(t, r->inputs[i].digest);
        table_text(t, r->inputs[i].context);
        table_text(t, r->inputs[i].source);
    }
}

static void write_tables(struct emit *o, const struct run_info *r)
{
    static const struct {
        const char *title;
        void (*fill)(struct table *, const struct run_info *);
    } tables[] = {
        { "Parameters", fill_params },
        { "Metrics", fill_metrics },
        { "Attempts", fill_attempts },
        { "Inputs", fill_inputs },
    };

    emit_object(o, "tables");
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        AUTO(table_clear) struct table t = TABLE_INIT("");

        tables[i].fill(&t, r);
        site_write_table(o, tables[i].title, &t, false);
    }
    emit_object_end(o);
}

static void write_artifacts(struct emit *o, const struct file_tree *f)
{
    emit_array(o, "artifacts");
    for (size_t i = 0; i < f->n; i++) {
        emit_object(o, NULL);
        emit_text(o, "path", f->file[i].path);
        emit_int(o, "bytes", f->file[i].size);
        emit_text(o, "type",
                  f->file[i].outside ? "link"
                                     : file_kind_of(f->file[i].path)->name);
        emit_object_end(o);
    }
    emit_array_end(o);
}

static void write_commands(struct emit *o, const struct live *l,
                           const struct run_info *r)
{
    AUTO(buf_clear) struct buf show = BUF_INIT, again = BUF_INIT;

    buf_str(&show, "gtrack show");
    site_run_word(&show, l, r);
    site_write_command(o, l, &show);
    emit_text(o, "again", run_facts_command(&again, r) ? again.s : NULL);
}

/* A saved page says nothing of now. */
static void write_health(struct emit *o, const struct run_info *r, bool frozen)
{
    AUTO(buf_clear) struct buf text = BUF_INIT, command = BUF_INIT;

    run_health(&text, &command, r, frozen ? 0 : clock_wall_ms());
    emit_object(o, "health");
    emit_text(o, "text", text.len ? text.s : NULL);
    emit_text(o, "command", command.len ? command.s : NULL);
    emit_object_end(o);
}

static void write_run(struct emit *o, const struct live *l,
                      const struct run_info *r, const struct file_tree *f,
                      bool frozen)
{
    emit_text(o, "id", r->id);
    emit_text(o, "name", r->name);
    emit_text(o, "status", run_status_word(r->status));
    emit_bool(o, "deleted", r->deleted);
    emit_text(o, "note", run_info_tag(r, "mlflow.note.content"));
    write_health(o, r, frozen);
    track_emit_pairs(o, "tags", r->tags, r->n_tags);
    write_tables(o, r);
    write_artifacts(o, f);
    write_commands(o, l, r);
}

int answer_run(struct site *s, struct query *q, struct answer *a, struct err *e)
{
    const struct live *l = site_store(s, q, e);
    const struct run_info *r = l ? site_run(s, q, "id", e) : NULL;
    AUTO(file_tree_clear) struct file_tree files = { 0 };

    if (!r || file_tree_list(&files, r->artifacts, run_info_inside(r), e) < 0)
        return -1;
    write_run(&a->out, l, r, &files, s->frozen);
    return 0;
}
