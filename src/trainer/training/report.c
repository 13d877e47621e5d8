#include "config.h"
#include "trainer/training/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/save.h"
#include "data/corpus/jsonl.h"
#include "trainer/model/resolve.h"
#include "trainer/training/multiple_choice.h"
#include "trainer/training/sampler.h"

/* ---- the beginning ---------------------------------------------------- */

/* Every setting is a parameter; so is what follows from them, in the run's
 * first attempt: later ones may have other ranks. */
static void store_params(struct report *r, const struct job *j, bool resumed)
{
    const struct settings *s = j->set;
    struct buf text = BUF_INIT;

    for (const struct setting *row = settings_table; row->key; row++) {
        if (strncmp(row->key, "run.", 4) == 0)
            continue;
        buf_trim(&text, 0);
        conf_text(&s->conf, row, &text);
        run_param(r->run, row->key, text.s);
    }
    buf_clear(&text);
    if (resumed)
        return;
    run_paramf(r->run, "is.parameters", "%lld", (long long)s->is.parameters);
    run_paramf(r->run, "is.steps", "%lld", (long long)s->is.steps);
    run_paramf(r->run, "is.warmup", "%lld", (long long)s->is.warmup);
    run_paramf(r->run, "is.tokens_per_step", "%lld",
               (long long)s->is.tokens_per_step);
    for (int i = 0; i < DEV_MODEL_USES; i++) {
        char key[64];

        snprintf(key, sizeof key, "is.bytes.%s", dev_use_names[i]);
        run_paramf(r->run, key, "%lld", (long long)j->kept[i]);
    }
    run_paramf(r->run, "is.ranks", "%d", j->coll.size);
    run_paramf(r->run, "is.device", "%s", j->dev.type->name);
    run_paramf(r->run, "is.threads", "%d", j->dev.threads);
}

/* What the run reads, by hash: another shard, another number. */
static void store_dataset(struct report *r, const struct loader *data,
                          const char *files, const char *context)
{
    char *digest = xstrndup(loader_hash(data), 32);
    struct buf source = BUF_INIT;
    char *profile = xasprintf("{\"tokens\": %lld, \"shards\": %lld}",
                              (long long)loader_tokens(data),
                              (long long)loader_shards(data));
    struct run_dataset d = {
        .name = path_name(files),
        .digest = digest,
        .source_type = "local",
        .profile = profile,
        .context = context,
    };
    struct err e = ERR_INIT;

    buf_str(&source, "{\"uri\": \"");
    jsonl_escape(&source, files, strlen(files));
    buf_str(&source, "\"}");
    d.source = source.s;
    if (run_dataset(r->run, &d, &e) < 0)
        log_warn("%s", e.text);
    free(digest);
    buf_clear(&source);
    free(profile);
}

static void store_data(struct report *r, struct job *j)
{
    const struct settings *s = j->set;

    if (j->train) {
        run_paramf(r->run, "is.data.train", "%s", loader_hash(j->train));
        store_dataset(r, j->train, s->data.train, "training");
    }
    if (j->val) {
        run_paramf(r->run, "is.data.val", "%s", loader_hash(j->val));
        store_dataset(r, j->val, s->data.val, "validation");
    }
    if (j->tokenizer)
        run_paramf(r->run, "is.tokenizer", "%s", tokenizer_hash(j->tokenizer));
}

static void store_text(struct report *r, const char *name, const char *text)
{
    char *path = run_artifact(r->run, name);
    struct save s = SAVE_INIT;
    struct err e = ERR_INIT;

    if (path && save_open(&s, path, &e) == 0) {
        fputs(text, s.fp);
        save_commit(&s, &e);
    }
    save_abandon(&s);
    if (e.kind != ERR_NONE)
        log_warn("%s", e.text);
    free(path);
}

static void store_config(struct report *r, const struct job *j)
{
    struct buf text = BUF_INIT;

    conf_dump(&j->set->conf, &text);
    store_text(r, "config.ini", text.s);
    buf_clear(&text);
}

static void keep_line(void *arg, enum log_level level, const char *line)
{
    FILE *fp = arg;
    char when[32];

    (void)level;
    fprintf(fp, "%s %s\n", clock_text(when, clock_wall_ms()), line);
}

static void open_logs(struct report *r)
{
    char *path = run_artifact(r->run, "log.txt");
    char *words = run_artifact(r->run, "gtrain.log");

    r->log = path ? fopen(path, "ae") : NULL;
    r->words = words ? fopen(words, "ae") : NULL;
    if (r->log)
        setvbuf(r->log, NULL, _IOLBF, 0);
    if (r->words) {
        setvbuf(r->words, NULL, _IOLBF, 0);
        log_sink(keep_line, r->words);
    }
    free(path);
    free(words);
}

/* "name=value, name=value" */
static void store_tags(struct report *r, const char *tags)
{
    while (*tags) {
        const size_t len = strcspn(tags, ","), key = strcspn(tags, "=,");
        const char *value = tags + key + 1;
        char *name = xstrndup(tags, key);
        char *text = key < len ? xstrndup(value, len - key - 1) : xstrdup("");

        if (*name)
            run_tag(r->run, name, text);
        free(name);
        free(text);
        tags += len;
        tags += strspn(tags, ", ");
    }
}

static bool on_gpu(const struct job *j)
{
    return strcmp(j->dev.type->name, "cuda") == 0;
}

/* A checkpoint may come from another store, whose run is not here. */
static int begin(struct report *r, struct run_conf *c, struct err *e)
{
    if (run_begin(&r->run, c, e) == 0)
        return 0;
    if (!c->resume || e->kind != ERR_MISSING)
        return -1;
    log_warn("the checkpoint's run is not here (%s); a new one begins",
             e->text);
    *e = (struct err)ERR_INIT;
    c->resume = NULL;
    return run_begin(&r->run, c, e);
}

int report_open(struct report *r, struct job *j, const char *command,
                const char *resume_id, struct err *e)
{
    const struct settings *s = j->set;
    struct run_conf c = {
        .root = s->run.root,
        .experiment = s->run.experiment,
        .name = *s->run.name ? s->run.name : NULL,
        .parent = *s->run.parent ? s->run.parent : NULL,
        .resume = resume_id,
        .command = command,
        .tensorboard = *s->run.tensorboard ? s->run.tensorboard : NULL,
        .cpus = on_gpu(j) ? 0 : j->dev.threads * j->coll.size,
        .gpus = on_gpu(j) ? j->coll.size : 0,
    };

    *r = (struct report){ .last_val = (double)NAN };
    if (j->coll.rank != 0)
        return 0;
    if (begin(r, &c, e) < 0)
        return -1;
    if (*s->run.note)
        run_tag(r->run, "note", s->run.note);
    store_tags(r, s->run.tags);
    open_logs(r);
    store_config(r, j);
    store_params(r, j, c.resume != NULL);
    store_data(r, j);
    return 0;
}

static void introduce(const struct report *r, struct job *j)
{
    const struct settings *s = j->set;
    char n[NUM_TEXT], m[NUM_TEXT], machine[160], tokens[NUM_TEXT];
    int decayed = 0, others = 0;

    for (int i = 0; i < j->gpt.graph.n_params; i++) {
        const struct graph_node *p =
            &j->gpt.graph.node[j->gpt.graph.param[i].node];

        if (p->val.rank > 1)
            decayed++;
        else
            others++;
    }
    j->dev.type->describe(&j->dev, machine, sizeof machine);
    log_info("%s: %s parameters (%d tensors decay, %d do not) on %s",
             run_name(r->run), num_comma(n, s->is.parameters), decayed, others,
             machine);
    log_info(
        "%s steps of %s tokens, %s in all", num_comma(n, s->is.steps),
        num_comma(m, s->is.tokens_per_step),
        num_short(tokens, (double)s->is.steps * (double)s->is.tokens_per_step));
    if (r->meter.peak_flops > 0)
        log_info("peak %s FLOP/s, %s FLOP a token",
                 num_short(n, r->meter.peak_flops),
                 num_short(m, r->meter.flops_per_token));
}

void report_begin(struct report *r, struct job *j)
{
    meter_open(&r->meter, j, r->run);
    if (!r->run)
        return;
    introduce(r, j);
    if (j->state.step > 0)
        log_info("going on after step %lld", (long long)j->state.step);
    progress_open(&r->progress, (long)j->state.step, (long)j->set->is.stop_at,
                  "step");
    r->progressing = true;
}

/* ---- steps ------------------------------------------------------------ */

static double epoch_of(const struct job *j)
{
    return (double)(resolve_sequences_before(j->set, j->state.step) +
                    j->state.skipped) /
           (double)loader_windows(j->train);
}

/* The rate of the last dozen steps or so, for the eye. */
static double smooth(struct report *r, double rate)
{
    r->rate = r->rate > 0 ? 0.9 * r->rate + 0.1 * rate : rate;
    return r->rate;
}

static void show(struct report *r, struct job *j)
{
    char rate[NUM_TEXT], text[160], val[40] = "";
    long done = (long)j->state.step;
    const double limit = j->set->train.max_time;

    if (!isnan(r->last_val))
        snprintf(val, sizeof val, "  val %.4f", r->last_val);
    snprintf(text, sizeof text, "loss %.4f  lr %.2e  norm %.2f  %s tok/s%s",
             j->loss, j->lr, j->norm, num_short(rate, r->rate), val);
    /* a time limit may end it before the last step */
    if (limit > 0 && job_seconds(j) > 2) {
        const double per = (job_seconds(j) - j->state.seconds) /
                           (double)(j->state.step - r->progress.first);
        const double reach =
            (double)done + fmax(0, limit - job_seconds(j)) / per;

        if (reach < (double)j->set->is.stop_at)
            r->progress.total = reach < (double)done ? done : (long)reach;
    }
    progress_at(&r->progress, done, text);
}

/* Times by the device's clock come a step late: nobody waits for them. */
static void report_phases(struct report *r, struct job *j)
{
    const int64_t step = j->state.step - 1;
    struct run_point point[PHASES];
    double ms[PHASES];
    int n = 0;

    if (!phases_end_step(&j->phases, &j->dev, ms) ||
        step % j->set->run.log_every != 0)
        return;
    for (int k = 0; k < PHASES; k++)
        if (!isnan(ms[k]))
            point[n++] = (struct run_point){ phases[k].metric, ms[k] };
    run_metrics(r->run, step, point, n);
}

void report_step(struct report *r, struct job *j)
{
    enum { ALWAYS = 10, SOMETIMES = 3 };
    const double rate = (double)j->step_tokens / j->step_seconds;
    struct run_point point[ALWAYS + SOMETIMES] = {
        { "train/loss", j->loss },
        { "train/perplexity", exp(j->loss) },
        { "train/lr", j->lr },
        { "train/grad_norm", j->norm },
        { "train/tokens", (double)j->state.tokens },
        { "train/epoch", epoch_of(j) },
        { "perf/tokens_per_s", rate },
        { "perf/step_ms", 1000 * j->step_seconds },
        { "perf/data_wait_ms", 1000 * j->wait_seconds },
        { "perf/flops", rate * r->meter.flops_per_token },
    };
    int n = ALWAYS;

    if (!r->run)
        return;
    meter_step(&r->meter, j->state.step);
    smooth(r, rate);
    if (r->meter.peak_flops > 0)
        point[n++] =
            (struct run_point){ "perf/mfu", meter_mfu(&r->meter, rate) };
    if (j->set->train.precision == PRECISION_FP16)
        point[n++] =
            (struct run_point){ "train/loss_scale", j->state.loss_scale };
    if (j->coll.size > 1)
        point[n++] = (struct run_point){ "perf/sent_bytes", j->sent };
    if (j->state.step % j->set->run.log_every == 0 ||
        j->state.step == j->set->is.stop_at)
        run_metrics(r->run, j->state.step, point, n);
    report_phases(r, j);
    if (r->log)
        fprintf(r->log, "%lld train %.6f\n", (long long)j->state.step, j->loss);
    show(r, j);
}

void report_eval(struct report *r, struct job *j, const struct eval_result *v)
{
    char bits[48] = "";

    r->last_val = v->loss;
    if (!r->run)
        return;
    run_metric(r->run, "val/loss", j->state.step, v->loss);
    run_metric(r->run, "val/perplexity", j->state.step, exp(v->loss));
    if (!isnan(v->bpb)) {
        run_metric(r->run, "val/bpb", j->state.step, v->bpb);
        snprintf(bits, sizeof bits, ", %.4f bits per byte", v->bpb);
    }
    if (r->log)
        fprintf(r->log, "%lld val %.6f\n", (long long)j->state.step, v->loss);
    log_info("step %lld: validation loss %.4f, perplexity %.2f%s",
             (long long)j->state.step, v->loss, exp(v->loss), bits);
}

/* ---- what happens now and then ---------------------------------------- */

void report_event(struct report *r, struct job *j, enum step_verdict verdict,
                  const char *what)
{
    static const struct {
        const char *metric, *word;
    } kinds[] = {
        [STEP_GOOD] = { "event/ignored", "going on" },
        [STEP_SKIP] = { "event/skipped", "the step is skipped" },
        [STEP_ROLLBACK] = { "event/rollback", "back to a checkpoint" },
        [STEP_STOP] = { "event/stopped", "stopping" },
    };

    if (!r->run)
        return;
    run_metric(r->run, kinds[verdict].metric, j->state.step + 1, 1);
    log_warn("step %lld: %s; %s", (long long)j->state.step + 1, what,
             kinds[verdict].word);
}

void report_rewind(struct report *r, struct job *j)
{
    if (!r->run)
        return;
    run_rewind(r->run, j->state.step);
    log_info("back at step %lld", (long long)j->state.step);
}

void report_stopped_early(struct report *r, struct job *j)
{
    if (!r->run)
        return;
    run_tag(r->run, "stopped", "no better validation loss");
    log_info("stopping early: no better validation loss than %.4f, of step "
             "%lld",
             j->state.best_loss, (long long)j->state.best_step);
}

int report_multiple_choice(struct report *r, struct job *j, struct err *e)
{
    const struct eval_settings *c = &j->set->eval;
    struct multiple_choice_result v;

    if (multiple_choice_eval(j, c->hellaswag, c->hellaswag_limit, &v, e) < 0)
        return err_wrap(e, "%s", c->hellaswag);
    if (!r->run)
        return 0;
    run_metric(r->run, "hellaswag/acc", j->state.step, v.acc);
    run_metric(r->run, "hellaswag/acc_norm", j->state.step, v.acc_norm);
    if (r->log)
        fprintf(r->log, "%lld hella %.4f\n", (long long)j->state.step,
                v.acc_norm);
    log_info("step %lld: %lld questions, acc %.2f%%, acc_norm %.2f%%",
             (long long)j->state.step, (long long)v.questions, 100 * v.acc,
             100 * v.acc_norm);
    return 0;
}

static void collect(void *arg, int sequence, int32_t id)
{
    struct ids *ids = (struct ids *)arg + sequence;

    GROW(ids->id, ids->n, ids->room);
    ids->id[ids->n++] = id;
}

/* The texts, one after another, as the artifact and on the screen. */
static void store_samples(struct report *r, struct job *j,
                          const struct ids *prompt, const struct ids *ids,
                          int count)
{
    struct buf all = BUF_INIT, one = BUF_INIT;
    char name[64];

    for (int i = 0; i < count; i++) {
        buf_trim(&one, 0);
        tokenizer_decode(j->tokenizer, prompt->id, prompt->n, &one);
        tokenizer_decode(j->tokenizer, ids[i].id, ids[i].n, &one);
        buf_printf(&all, "---- sample %d of step %lld\n%s\n", i + 1,
                   (long long)j->state.step, one.s);
    }
    snprintf(name, sizeof name, "samples/step-%08lld.txt",
             (long long)j->state.step);
    store_text(r, name, all.s);
    log_info("a sample after step %lld:\n%s", (long long)j->state.step, one.s);
    buf_clear(&all);
    buf_clear(&one);
}

int report_sample(struct report *r, struct job *j, struct err *e)
{
    const struct sample_settings *c = &j->set->sample;
    const int count = (int)c->count;
    struct ids prompt = IDS_INIT;
    struct ids *ids = xcalloc((size_t)count, sizeof *ids);
    struct sampler s = { 0 };
    int64_t room;
    int ret = 0;

    if ((r->run || parallel_gathers(&j->parallel)) && j->tokenizer) {
        sampler_prompt(j, c->prompt, &prompt);
        room = (int64_t)prompt.n + c->tokens;
        ret = sampler_open(&s, j, count, room, e);
        if (ret == 0)
            ret = sampler_run(&s, prompt.id, (int64_t)prompt.n, c->tokens,
                              collect, ids, e);
        if (ret == 0 && r->run)
            store_samples(r, j, &prompt, ids, count);
        sampler_close(&s);
    }
    for (int i = 0; i < count; i++)
        free(ids[i].id);
    free(ids);
    free(prompt.id);
    return ret;
}

/* ---- the end ---------------------------------------------------------- */

static enum run_status status_of(const struct err *e)
{
    switch (e->kind) {
    case ERR_NONE:
        return RUN_FINISHED;
    case ERR_STOPPED:
        return RUN_PREEMPTED;
    case ERR_INTERRUPTED:
        return RUN_KILLED;
    default:
        return RUN_FAILED;
    }
}

/* What took the memory of the device, at most. */
static void tell_memory(const struct dev_memory *m)
{
    struct buf line = BUF_INIT;
    char n[NUM_TEXT];

    for (int i = 0; i < DEV_USES; i++)
        if (m->of[i].most > 0)
            buf_printf(&line, "%s%s %s", line.len ? ", " : "", dev_use_names[i],
                       num_bytes(n, (double)m->of[i].most));
    if (line.len)
        log_info("memory: %s", line.s);
    buf_clear(&line);
}

int report_close(struct report *r, struct job *j, struct err *e)
{
    const enum run_status status = status_of(e);
    char time[NUM_TEXT];
    int ret = e->kind == ERR_NONE ? 0 : -1;

    if (r->progressing)
        progress_close(&r->progress);
    meter_close(&r->meter);
    if (!r->run)
        return ret;
    tell_memory(&j->dev.memory);
    if (ret < 0)
        run_tag(r->run, "reason", e->text);
    else if (j->state.step == r->progress.first)
        log_info("%s: all %lld steps had been done; see 'gtrack show %s'",
                 run_name(r->run), (long long)j->state.step, run_name(r->run));
    else
        log_info("%s: %lld steps in %s, loss %.4f; see 'gtrack show %s'",
                 run_name(r->run), (long long)j->state.step,
                 num_duration(time, job_seconds(j)), j->loss, run_name(r->run));
    log_sink(NULL, NULL);
    if (r->log)
        fclose(r->log);
    if (r->words)
        fclose(r->words);
    if (ret == 0)
        ret = run_end(r->run, status, e);
    else
        run_end(r->run, status, &(struct err)ERR_INIT);
    *r = (struct report){ 0 };
    return ret;
}
