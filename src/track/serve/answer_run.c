/*
 * answer_run - all that is known of one run
 */
#include "config.h"
#include "track/serve/site.h"

#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/output/emit.h"
#include "store/format/attempt.h"
#include "store/read/run_rate.h"
#include "track/runs/file_tree.h"
#include "track/runs/run_facts.h"
#include "track/serve/file_kind.h"
#include "track/serve/run_health.h"

static void write_pair(struct emit *o, const char *key, const char *value)
{
    if (!value)
        return;
    emit_array(o, NULL);
    emit_text(o, NULL, key);
    emit_text(o, NULL, value);
    emit_array_end(o);
}

static void write_pairs(struct emit *o, const char *key,
                        const struct pair *pair, size_t n)
{
    emit_array(o, key);
    for (size_t i = 0; i < n; i++)
        write_pair(o, pair[i].key, pair[i].value);
    emit_array_end(o);
}

static void write_metrics(struct emit *o, const struct run_info *r)
{
    struct err e = { 0 };

    emit_array(o, "metrics");
    for (size_t i = 0; i < r->n_metrics; i++) {
        const struct metric_sum *m = &r->metrics[i];

        emit_object(o, NULL);
        emit_text(o, "name", m->key);
        emit_real(o, "last", m->last);
        emit_int(o, "step", m->last_step);
        emit_real(o, "lowest", m->min);
        emit_int(o, "at step", m->min_step);
        emit_real(o, "highest", m->max);
        emit_int(o, "at step ", m->max_step);
        emit_real(o, "mean",
                  run_rate_is(m->key) ? run_rate(r, m->key, &e) : m->mean);
        emit_int(o, "points", m->count);
        emit_int(o, "not finite", m->nonfinite);
        emit_object_end(o);
    }
    if (e.kind)
        log_lack(e.text);
    emit_array_end(o);
}

static void write_time(struct emit *o, const char *key, int64_t ms)
{
    if (ms)
        emit_int(o, key, ms);
    else
        emit_null(o, key);
}

static void write_attempts(struct emit *o, const struct run_info *r)
{
    emit_array(o, "attempts");
    for (int i = 0; i < r->attempts; i++) {
        const struct attempt *a = &r->attempt[i];

        emit_object(o, NULL);
        emit_int(o, "attempt", a->number);
        emit_text(o, "status", run_status_word(a->status));
        write_time(o, "started_ms", a->start_ms);
        write_time(o, "ended_ms", a->end_ms);
        emit_text(o, "host", a->host);
        emit_text(o, "user", a->user);
        emit_text(o, "job", a->job);
        emit_int(o, "cpus", a->cpus);
        emit_int(o, "gpus", a->gpus);
        emit_text(o, "reason", a->reason);
        emit_text(o, "command", a->command);
        emit_object_end(o);
    }
    emit_array_end(o);
}

static void write_inputs(struct emit *o, const struct run_info *r)
{
    emit_array(o, "inputs");
    for (size_t i = 0; i < r->n_inputs; i++) {
        const struct run_dataset *d = &r->inputs[i];

        emit_object(o, NULL);
        emit_text(o, "name", d->name);
        emit_text(o, "digest", d->digest);
        emit_text(o, "context", d->context);
        emit_text(o, "source", d->source);
        emit_object_end(o);
    }
    emit_array_end(o);
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
    struct buf show = BUF_INIT, again = BUF_INIT;

    buf_str(&show, "gtrack show");
    site_run_word(&show, l, r);
    site_root_option(&show, l);
    emit_text(o, "command", show.s);
    emit_text(o, "again", run_facts_command(&again, r) ? again.s : NULL);
    buf_clear(&show);
    buf_clear(&again);
}

/* A saved page says nothing of now. */
static void write_health(struct emit *o, const struct run_info *r, bool frozen)
{
    struct buf text = BUF_INIT, command = BUF_INIT;

    run_health(&text, &command, r, frozen ? 0 : clock_wall_ms());
    emit_object(o, "health");
    emit_text(o, "text", text.len ? text.s : NULL);
    emit_text(o, "command", command.len ? command.s : NULL);
    emit_object_end(o);
    buf_clear(&text);
    buf_clear(&command);
}

static void write_run(struct emit *o, const struct live *l,
                      const struct run_info *r, const struct file_tree *f,
                      bool frozen)
{
    emit_object(o, NULL);
    emit_text(o, "id", r->id);
    emit_text(o, "name", r->name);
    emit_text(o, "status", run_status_word(r->status));
    emit_bool(o, "deleted", r->deleted);
    emit_text(o, "note", run_info_tag(r, "mlflow.note.content"));
    write_health(o, r, frozen);
    write_pairs(o, "params", r->params, r->n_params);
    write_pairs(o, "tags", r->tags, r->n_tags);
    write_metrics(o, r);
    write_attempts(o, r);
    write_inputs(o, r);
    write_artifacts(o, f);
    write_commands(o, l, r);
    emit_object_end(o);
}

int answer_run(struct site *s, struct query *q, struct answer *a, struct err *e)
{
    const struct live *l = site_store(s, q, e);
    const struct run_info *r = l ? site_run(s, q, "id", e) : NULL;
    struct emit o = { .b = &a->body };
    struct file_tree files = { 0 };

    if (!r || file_tree_list(&files, r->artifacts, run_info_inside(r), e) < 0)
        return -1;
    write_run(&o, l, r, &files, s->frozen);
    file_tree_clear(&files);
    return 0;
}
