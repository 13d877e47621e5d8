#include "config.h"
#include "trainer/training/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/num.h"
#include "common/sig.h"
#include "store/analysis/forecast_run.h"
#include "trainer/checkpoint/checkpoint_find.h"
#include "trainer/model/resolve.h"
#include "trainer/training/sampler.h"

/* ---- the beginning ---------------------------------------------------- */

void report_text(struct report *r, const char *name, const char *text)
{
    struct err e = { 0 };

    if (r->run && run_artifact(r->run, name, text, strlen(text), &e) < 0)
        log_warn("%s", e.text);
}

static void store_config(struct report *r, const struct engine *eng)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;

    conf_dump(&eng->set->conf, &text);
    report_text(r, "config.ini", text.s);
}

static double rate_at(const void *schedule, double step)
{
    return schedule_at(schedule, step);
}

static void store_schedule(struct report *r, const struct engine *eng)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;
    struct schedule s;

    schedule_init(&s, eng->set);
    planned_rates_write(&text, rate_at, &s, s.peak, eng->set->is.steps);
    report_text(r, PLANNED_RATES, text.s);
}

static void write_line(void *arg, enum log_level level UNUSED, const char *line)
{
    char when[32];

    run_output_printf(arg, "%s %s\n", clock_text(when, clock_wall_ms()), line);
}

static bool on_gpu(const struct engine *eng)
{
    return strcmp(eng->dev.type->name, "cuda") == 0;
}

/* A checkpoint may come from another store, so that its run is not here. */
static int resume_run(struct run **run, struct run_conf *c, struct err *e)
{
    if (run_begin(run, c, e) == 0)
        return 0;
    if (!c->resume || e->kind != ERR_MISSING)
        return -1;
    log_warn("the run of the checkpoint is not in this store (%s); "
             "starting a new one",
             e->text);
    *e = (struct err){ 0 };
    c->resume = NULL;
    return run_begin(run, c, e);
}

bool report_is_idle(const struct engine *eng, bool resumed)
{
    return resumed && eng->state.step >= eng->set->is.stop_at &&
           !eng->state.due;
}

int report_open(struct report *r, struct engine *eng, const char *command,
                const char *resume_id, enum report_start start, struct err *e)
{
    const struct settings *s = eng->set;
    struct run_conf c = {
        .root = s->run.root,
        .experiment = s->run.experiment,
        .name = *s->run.name ? s->run.name : NULL,
        .parent = *s->run.parent ? s->run.parent : NULL,
        .resume = resume_id,
        .steal = start & REPORT_STEAL,
        .command = command,
        .tensorboard = *s->run.tensorboard ? s->run.tensorboard : NULL,
        .cpus = on_gpu(eng) ? 0 : eng->dev.threads * eng->coll.size,
        .gpus = on_gpu(eng) ? eng->coll.size : 0,
    };
    AUTO_FREE char *claim = NULL;
    int ret;

    *r = (struct report){ .last_val = (double)NAN };
    if (eng->coll.rank != 0)
        return 0;
    if (!run_take_handed(&c) && start & REPORT_AGAIN)
        ret = checkpoint_begin_run(&r->run, &c, s, &claim, e);
    else
        ret = resume_run(&r->run, &c, e);
    if (ret == 0) {
        run_output_open(&r->log, r->run, "log.txt");
        run_output_open(&r->messages, r->run, "gtrain.log");
        log_sink(write_line, &r->messages);
    }
    if (ret == 0 && !report_is_idle(eng, resume_id && c.resume)) {
        store_config(r, eng);
        checkpoint_drop_claim(&claim);
        if (s->train.max_time <= 0) /* otherwise, the clock decides */
            store_schedule(r, eng);
        report_params(r->run, eng, resume_id && c.resume);
    }
    return ret;
}

/* Of a run of an hour or more, how long it takes at the peak rate. */
static void show_estimate(const struct report *r, const struct engine *eng)
{
    const struct settings *s = eng->set;
    const double rate = r->meter->peak_flops * eng->coll.size;
    const double left = (double)(s->is.stop_at - eng->state.step) *
                        (double)s->is.tokens_per_step *
                        r->meter->flops_per_token / rate;
    char time[NUM_TEXT];

    if (rate > 0 && left >= 3600 && s->train.max_time <= 0)
        log_info("at least %s on this machine; 'gtrain plan' shows the time on "
                 "others",
                 num_duration(time, left));
}

/* Show how often each source of a mixture will be read, and what the
 * order cuts off. */
static void show_sources(const struct engine *eng)
{
    const struct mixture *m = eng->data.train;
    const int64_t all =
        resolve_sequences_before(eng->set, eng->set->is.stop_at);

    for (size_t k = 0; k < mixture_sources(m); k++) {
        const struct loader *l = mixture_loader(m, k);
        const char *name = mixture_name(m, k);
        const double count = mixture_due(m, k, all);
        const int64_t cut = loader_cut(l);
        char n[NUM_TEXT], of[NUM_TEXT];

        num_short(of, (double)loader_tokens(l));
        if (*name)
            log_info("%s: %.1f %% of all sequences, %.3g epochs of %s tokens",
                     name, 100 * count / (double)all,
                     count / (double)loader_windows(l), of);
        if (cut > 0)
            log_info("%s%s%s of %s tokens of an epoch are cut off by "
                     "data.order (%.1f %%)",
                     name, *name ? ": " : "", num_short(n, (double)cut), of,
                     100 * (double)cut / (double)loader_tokens(l));
    }
}

/* Show the model, the machine and the length of training. */
static void show_begin(const struct report *r, struct engine *eng)
{
    const struct graph *g = &eng->gpt.graph;
    const struct settings *s = eng->set;
    char n[NUM_TEXT], m[NUM_TEXT], machine[160], tokens[NUM_TEXT];
    int decayed = 0;

    for (int i = 0; i < g->n_params; i++)
        decayed += g->node[g->param[i].node].val.rank > 1;
    eng->dev.type->describe(&eng->dev, machine, sizeof machine);
    log_info("%s: %s parameters (%d tensors with weight decay, %d without) "
             "on %s",
             run_name(r->run), num_comma(n, s->is.parameters), decayed,
             g->n_params - decayed, machine);
    num_comma(n, s->is.steps);
    num_comma(m, s->is.tokens_per_step);
    num_short(tokens, (double)s->is.steps * (double)s->is.tokens_per_step);
    if (s->train.max_time > 0)
        log_info("steps of %s tokens for %s; they follow the clock, up to %s "
                 "steps and %s tokens",
                 m, num_duration(machine, s->train.max_time), n, tokens);
    else
        log_info("%s steps of %s tokens, %s tokens in total", n, m, tokens);
    show_sources(eng);
    if (r->meter->peak_flops > 0)
        log_info("peak %s FLOP/s, %s FLOP per token",
                 num_short(n, r->meter->peak_flops),
                 num_short(m, r->meter->flops_per_token));
    show_estimate(r, eng);
}

/* How training stops at a signal, as soon as it has arrived.  A second SIGINT
 * ends the program after this. */
static void acknowledge(void *arg, int sig, bool again)
{
    struct report *r = arg;
    const double left = atomic_load(&r->pause_at) - clock_mono();
    const long long after = atomic_load(&r->pause_after);
    char text[NUM_TEXT], when[48] = "", what[48] = "this step";

    if (again) {
        log_warn("interrupted, without a checkpoint");
        run_abandon(r->run, RUN_KILLED, NULL);
        return;
    }
    if (left >= 1)
        snprintf(when, sizeof when, ", in about %s", num_duration(text, left));
    if (after == 1)
        snprintf(what, sizeof what, "this micro-batch");
    else if (after > 1)
        snprintf(what, sizeof what, "%lld micro-batches", after);
    log_info("stopping: saving a checkpoint after %s%s%s", what, when,
             sig == SIGINT ? "; Ctrl-C again stops without one" : "");
}

/* Another rank has died while this one computes, and the program ends. */
static void record_death(void *arg, const char *why)
{
    struct report *r = arg;

    run_abandon(r->run, RUN_FAILED, why);
}

void report_begin(struct report *r, struct engine *eng, const struct meter *m)
{
    r->meter = m;
    if (!r->run)
        return;
    sig_listen(acknowledge, r);
    coll_on_death(&eng->coll, record_death, r);
    show_begin(r, eng);
    if (eng->state.step > 0)
        log_info("resuming after step %lld", (long long)eng->state.step);
    progress_open(&r->progress, (long)eng->state.step,
                  (long)eng->set->is.stop_at, "step");
    r->progressing = true;
}

/* ---- steps ------------------------------------------------------------ */

static double windows_of(const struct mixture *m)
{
    double n = 0;

    for (size_t k = 0; k < mixture_sources(m); k++)
        n += (double)loader_windows(mixture_loader(m, k));
    return n;
}

/* The epochs of each source with a name: how often it was read. */
static void store_epochs(struct report *r, const struct engine *eng)
{
    struct mixture *m = eng->data.train;
    struct run_point point[SOURCE_LIST_MOST];
    char key[SOURCE_LIST_MOST][SOURCE_LIST_NAME + 16];
    int n = 0;

    for (size_t k = 0; k < mixture_sources(m) && *mixture_name(m, k); k++) {
        snprintf(key[k], sizeof key[k], "train/%s/epoch", mixture_name(m, k));
        point[n++] = (struct run_point){
            key[k], (double)mixture_count(m, k, engine_sequences(eng)) /
                        (double)loader_windows(mixture_loader(m, k))
        };
    }
    run_metrics(r->run, eng->state.step, point, n);
}

/* A time limit may end training before its last step. */
static void limit_progress(struct progress *p, const struct engine *eng)
{
    const double limit = eng->set->train.max_time,
                 done = (double)eng->state.step;
    const double seconds = engine_seconds(eng);
    double per_step, end;

    if (limit <= 0)
        return;
    per_step = (seconds - eng->state.seconds) / (done - (double)p->first);
    end = done + fmax(0, limit - seconds) / per_step;
    if (end < (double)eng->set->is.stop_at)
        p->total = end < done ? (long)done : (long)end;
}

static void show_step(struct report *r, const struct engine *eng,
                      const struct step *s)
{
    char rate[NUM_TEXT], text[160], val[40] = "";

    if (!isnan(r->last_val))
        snprintf(val, sizeof val, "  val %.4f", r->last_val);
    /* the last parts are left out where the line is narrow */
    snprintf(text, sizeof text, "loss %.4f%s  %s tok/s  lr %.2e  norm %.2f",
             s->loss, val, num_short(rate, r->rate), s->lr, s->norm);
    limit_progress(&r->progress, eng);
    progress_at(&r->progress, (long)eng->state.step, text);
}

/* Is the step one whose metrics are recorded? */
static bool is_recorded(const struct engine *eng)
{
    const int64_t step = eng->state.step;

    return step % eng->set->run.log_every == 0 || step == eng->set->is.stop_at;
}

static void store_step(struct report *r, const struct engine *eng,
                       const struct step *s)
{
    enum { ALWAYS = 11, SOMETIMES = 6 };
    const int64_t step = eng->state.step;
    const double rate = (double)s->tokens / s->seconds;
    const double noise = step_noise_scale(eng->state.noise);
    struct run_point point[ALWAYS + SOMETIMES] = {
        { "train/loss", s->loss },
        { "train/perplexity", exp(s->loss) },
        { "train/lr", s->lr },
        { "train/grad_norm", s->norm },
        { "train/tokens", (double)eng->state.tokens },
        { "train/total_flops",
          (double)eng->state.tokens * r->meter->flops_per_token },
        { "train/epoch",
          (double)engine_sequences(eng) / windows_of(eng->data.train) },
        { "perf/tokens_per_s", rate },
        { "perf/step_ms", 1000 * s->seconds },
        { "perf/data_wait_ms", 1000 * s->wait_seconds },
        { "perf/flops", rate * r->meter->flops_per_token },
    };
    int n = ALWAYS;

    if (r->meter->peak_flops > 0)
        point[n++] =
            (struct run_point){ "perf/mfu", meter_mfu(r->meter, rate) };
    if (!isnan(noise))
        point[n++] = (struct run_point){ "train/noise_scale", noise };
    if (eng->set->train.precision == PRECISION_FP16)
        point[n++] =
            (struct run_point){ "train/loss_scale", eng->state.loss_scale };
    if (eng->coll.size > 1) {
        point[n++] = (struct run_point){ "perf/sent_bytes", s->sent_bytes };
        point[n++] =
            (struct run_point){ "perf/sent_messages", s->sent_messages };
        point[n++] =
            (struct run_point){ "perf/comm_wait_ms", 1000 * s->comm_seconds };
    }
    if (!is_recorded(eng))
        return;
    run_metrics(r->run, step, point, n);
    store_epochs(r, eng);
}

void report_phases(struct report *r, const struct engine *eng,
                   const double ms[PHASES], int64_t step)
{
    struct run_point point[PHASES];
    int n = 0;

    if (!r->run || step % eng->set->run.log_every != 0)
        return;
    for (int k = 0; k < PHASES; k++)
        if (!isnan(ms[k]))
            point[n++] = (struct run_point){ phases[k].metric, ms[k] };
    run_metrics(r->run, step, point, n);
}

void report_micro(void *report, int64_t done, int64_t all, int64_t left)
{
    struct report *r = report;
    const double now = clock_mono();

    if (!r->run)
        return;
    if (r->micro_began > 0 && (done > 0 || all == 1))
        r->micro_seconds = now - r->micro_began;
    if (r->micro_seconds > 0)
        atomic_store(&r->pause_at, now + r->micro_seconds * (double)left);
    atomic_store(&r->pause_after, left < all - done || left == 1 ? left : 0);
    r->micro_began = now;
    if (all > 1)
        progress_within(&r->progress, (long)done, (long)all);
}

void report_step(struct report *r, const struct engine *eng,
                 const struct step *s)
{
    const double rate = (double)s->tokens / s->seconds;

    r->last_loss = s->loss;
    if (!r->run)
        return;
    r->rate = r->rate > 0 ? 0.9 * r->rate + 0.1 * rate : rate;
    store_step(r, eng, s);
    if (s->has_phases)
        report_phases(r, eng, s->phase_ms, eng->state.step - 1);
    if (is_recorded(eng))
        run_output_printf(&r->log, "%lld train %.6f\n",
                          (long long)eng->state.step, s->loss);
    show_step(r, eng, s);
}

void report_eval(struct report *r, const struct engine *eng,
                 const struct eval_result *v)
{
    AUTO(buf_clear) struct buf sources = BUF_INIT;
    char bits[48] = "";

    r->last_val = v->loss;
    if (!r->run)
        return;
    run_metric(r->run, "val/loss", eng->state.step, v->loss);
    run_metric(r->run, "val/perplexity", eng->state.step, exp(v->loss));
    if (!isnan(v->bpb)) {
        run_metric(r->run, "val/bpb", eng->state.step, v->bpb);
        snprintf(bits, sizeof bits, ", %.4f bits per byte", v->bpb);
    }
    for (size_t k = 0; k < mixture_sources(eng->data.val); k++) {
        AUTO_FREE char *metric = eval_source_metric(eng->data.val, k);

        if (*mixture_name(eng->data.val, k)) {
            run_metric(r->run, metric, eng->state.step, v->source_loss[k]);
            buf_printf(&sources, "; %s %.4f", mixture_name(eng->data.val, k),
                       v->source_loss[k]);
        }
    }
    run_output_printf(&r->log, "%lld val %.6f\n", (long long)eng->state.step,
                      v->loss);
    log_info("step %lld: validation loss %.4f, perplexity %.2f%s%s",
             (long long)eng->state.step, v->loss, exp(v->loss), bits,
             sources.len ? sources.s : "");
}

/* ---- other events ----------------------------------------------------- */

void report_event(struct report *r, const struct engine *eng,
                  enum step_verdict verdict, const char *what)
{
    static const struct {
        const char *metric, *word;
    } kinds[] = {
        [STEP_GOOD] = { "event/ignored", "continuing" },
        [STEP_SKIP] = { "event/skipped", "skipping the step" },
        [STEP_ROLLBACK] = { "event/rollback", "rolling back to a checkpoint" },
        [STEP_STOP] = { "event/stopped", "stopping" },
    };

    if (!r->run)
        return;
    run_metric(r->run, kinds[verdict].metric, eng->state.step + 1, 1);
    log_warn("step %lld: %s; %s", (long long)eng->state.step + 1, what,
             kinds[verdict].word);
}

void report_rewind(struct report *r, const struct engine *eng)
{
    if (!r->run)
        return;
    run_rewind(r->run, eng->state.step);
    log_info("rolled back to step %lld", (long long)eng->state.step);
}

void report_stopped_early(struct report *r, const struct engine *eng)
{
    if (!r->run)
        return;
    run_tag(r->run, "stopped", "no better validation loss");
    log_info("stopping early: the best validation loss is still %.4f, of "
             "step %lld",
             eng->state.best_loss, (long long)eng->state.best_step);
}

void report_multiple_choice(struct report *r, const struct engine *eng,
                            const struct task *task,
                            const struct multiple_choice_result *v)
{
    const int64_t step = eng->state.step;
    const double acc = v->of[ANSWER_ACC], norm = v->of[ANSWER_ACC_NORM];
    char more[64] = "";

    if (!r->run)
        return;
    for (int k = 0; k < ANSWERS; k++) {
        AUTO_FREE char *metric = multiple_choice_metric(task, k);

        /* NaN where the model has no loss, but not where the task has none */
        if (isnan(acc) || !isnan(v->of[k]))
            run_metric(r->run, metric, step, v->of[k]);
    }
    if (strncmp(task->name, "hellaswag", 9) == 0)
        run_output_printf(&r->log, "%lld hella %.4f\n", (long long)step, norm);
    if (!isnan(norm))
        snprintf(more, sizeof more, ", acc_norm %.2f%%", 100 * norm);
    log_info("step %lld: task/%s, %lld questions, acc %.2f%%%s",
             (long long)step, task->name, (long long)v->questions, 100 * acc,
             more);
}

/* Store all samples as one artifact, and show the last one. */
void report_samples(struct report *r, const struct engine *eng,
                    const struct buf *text, size_t last)
{
    const long long step = (long long)eng->state.step;
    char name[64];

    if (!r->run || !text->len)
        return;
    snprintf(name, sizeof name, SAMPLER_FILE, step);
    report_text(r, name, text->s);
    log_info("a sample after step %lld:\n%.*s", step,
             (int)(text->len - last - 1), text->s + last);
}

/* ---- the end ---------------------------------------------------------- */

static enum run_status status_of(const struct err *e)
{
    switch (e->kind) {
    case ERR_NONE:
        return RUN_FINISHED;
    case ERR_STOPPED:
        return sig_caught() == SIGINT ? RUN_STOPPED : RUN_PREEMPTED;
    case ERR_INTERRUPTED:
        return RUN_KILLED;
    default:
        return RUN_FAILED;
    }
}

/* The most that the device's memory was used for each purpose. */
static void show_memory(const struct dev_memory *m)
{
    AUTO(buf_clear) struct buf line = BUF_INIT;
    char n[NUM_TEXT];

    for (int i = 0; i < DEV_USES; i++)
        if (m->of[i].most > 0)
            buf_printf(&line, "%s%s %s", line.len ? ", " : "", dev_use_names[i],
                       num_bytes(n, (double)m->of[i].most));
    if (line.len)
        log_info("memory: %s", line.s);
}

static void show_result(const struct report *r, const struct engine *eng)
{
    const char *name = run_name(r->run);
    AUTO(buf_clear) struct buf word = BUF_INIT;
    char time[NUM_TEXT];

    buf_shell_short(&word, name);
    if (eng->state.step == r->progress.first)
        log_info("%s: all %lld steps were already done; see 'gtrack show %s'",
                 name, (long long)eng->state.step, word.s);
    else
        log_info("%s: %lld steps in %s, loss %.4f; see 'gtrack show %s'", name,
                 (long long)eng->state.step,
                 num_duration(time, engine_seconds(eng)), r->last_loss, word.s);
}

int report_close(struct report *r, struct engine *eng, int ret, struct err *e)
{
    const enum run_status status = status_of(e);

    if (r->progressing) {
        sig_unlisten();
        coll_on_death(&eng->coll, NULL, NULL);
        progress_close(&r->progress);
    }
    if (!r->run)
        return ret;
    show_memory(&eng->dev.memory);
    if (ret < 0)
        run_reason(r->run, e->text);
    else
        show_result(r, eng);
    if (ret == 0 && eng->set->train.max_time > 0)
        run_paramf(r->run, "derived.steps", "%lld", (long long)eng->state.step);
    log_sink(NULL, NULL);
    run_output_close(&r->log);
    run_output_close(&r->messages);
    if (ret == 0)
        ret = run_end(r->run, status, e);
    else
        run_end(r->run, status, ERR_IGNORED);
    *r = (struct report){ 0 };
    return ret;
}
