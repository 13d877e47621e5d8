#include "config.h"
#include "trainer/training/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/path.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_files.h"
#include "trainer/checkpoint/checkpoint_find.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/training/eval.h"
#include "trainer/training/multiple_choice.h"
#include "trainer/training/sampler.h"
#include "trainer/training/step.h"

struct train {
    struct engine *engine;
    struct report report;
    struct checkpoint checkpoint;
    struct meter meter;
    struct step step;
    bool signalled; /* a signal asks training to stop */
    bool is_best;   /* this step has the best validation loss so far */
    bool warned;    /* that a step had nothing to predict */
    char *resumed;  /* the id in the checkpoint resumed from, "" if it has no
                     * run; or NULL */
    double now[SPAN_UNITS], before[SPAN_UNITS]; /* this step and the last */
};

/* Is the run one that an earlier attempt began? */
static bool is_resumed(const struct train *t)
{
    return t->resumed && *t->resumed;
}

/* ---- intervals -------------------------------------------------------- */

static void measure_progress(struct train *t)
{
    const struct engine *eng = t->engine;

    memcpy(t->before, t->now, sizeof t->before);
    t->now[SPAN_STEPS] = (double)eng->state.step;
    t->now[SPAN_TOKENS] = (double)eng->state.tokens;
    t->now[SPAN_FRACTION] = engine_position(eng) / (double)eng->set->is.steps;
    t->now[SPAN_TIME] = fmax(eng->clock.agreed, eng->state.seconds);
}

/* As if the last step had just ended. */
static void begin_progress(struct train *t)
{
    const struct derived *is = &t->engine->set->is;

    measure_progress(t);
    memcpy(t->before, t->now, sizeof t->before);
    t->before[SPAN_STEPS] -= 1;
    t->before[SPAN_TOKENS] -= (double)is->tokens_per_step;
    t->before[SPAN_FRACTION] -= 1 / (double)is->steps;
}

/* Has the step reached a multiple of the interval? */
static bool is_due(const struct train *t, const struct conf_span *every,
                   bool last)
{
    const double n = every->n * (1 - 1e-12); /* 0.07 x 100 is above 7 */

    return n > 0 && (last || floor(t->now[every->unit] / n) >
                                 floor(t->before[every->unit] / n));
}

/* ---- one step --------------------------------------------------------- */

static int roll_back(struct train *t, struct err *e)
{
    double dropped[PHASES]; /* times of the bad step and the one before */

    if (checkpoint_rollback(&t->checkpoint, t->engine, e) < 0 ||
        dev_sync(&t->engine->dev, e) < 0)
        return -1;
    for (int i = 0; i < 2; i++)
        phases_end_step(&t->step.phases, &t->engine->dev, dropped);
    t->engine->state.due = 0;
    t->engine->recent.n = 0;
    t->engine->recent.skips = 0;
    report_rewind(&t->report, t->engine);
    return 0;
}

static int apply_verdict(struct train *t, enum step_verdict v, const char *what,
                         struct err *e)
{
    if (*what)
        report_event(&t->report, t->engine, v, what);
    if (v == STEP_GOOD)
        step_update(&t->step, t->engine);
    else
        step_skip_update(&t->step, t->engine);
    if (v == STEP_STOP)
        return err_set(e, ERR_NONFINITE,
                       "%s; train.on_nonfinite and train.on_spike can be set "
                       "to skip the step or to roll back",
                       what);
    return v == STEP_ROLLBACK ? roll_back(t, e) : 0;
}

static int train_step(struct train *t, struct err *e)
{
    struct engine *eng = t->engine;
    struct step *s = &t->step;
    const bool scaled = eng->state.loss_scale > 1;
    enum step_verdict verdict;
    char what[80];

    if (step_compute(s, eng, &t->meter, e) < 0)
        return -1;
    t->signalled = s->signalled;
    if (s->abandoned)
        return 0;
    if (s->blank && !t->warned && eng->coll.rank == 0)
        log_warn("step %lld has no id but data.ignore = %lld to predict, and "
                 "nothing is learned from it",
                 (long long)eng->state.step + 1,
                 (long long)eng->set->data.ignore);
    t->warned |= s->blank;
    verdict = step_judge(&eng->recent, &eng->set->train, s->loss, s->norm,
                         scaled, what);
    if (apply_verdict(t, verdict, what, e) < 0)
        return -1;
    if (verdict == STEP_ROLLBACK)
        return 0;
    step_end(s, eng);
    meter_step(&t->meter, eng->state.step);
    meter_correct_peak(&t->meter, (double)s->tokens / s->seconds);
    report_step(&t->report, eng, s);
    return 0;
}

/* ---- after a step ----------------------------------------------------- */

/* Record how long training has waited since then. */
static void record_time(const struct train *t, const char *metric, double began)
{
    if (t->report.run)
        run_metric(t->report.run, metric, t->engine->state.step,
                   1000 * (clock_mono() - began));
}

/* The times of a step are reported one step late, but before a checkpoint of
 * it, since the next step may be that of another attempt. */
static int record_phases(struct train *t, struct err *e)
{
    struct engine *eng = t->engine;
    double ms[PHASES];

    if (dev_sync(&eng->dev, e) < 0)
        return -1;
    if (phases_end_step(&t->step.phases, &eng->dev, ms))
        report_phases(&t->report, eng, ms, eng->state.step);
    return 0;
}

static bool is_stopped_early(const struct engine *eng)
{
    const int64_t patience = eng->set->eval.patience;

    return patience > 0 && eng->state.bad_evals >= patience;
}

static int run_validation(struct train *t, bool *stop, struct err *e)
{
    struct engine *eng = t->engine;
    const double began = clock_mono();
    struct eval_result r;

    eng->state.due &= ~DUE_VAL;
    if (!eng->data.val)
        return 0;
    if (eval_loss(eng, &r, e) < 0)
        return err_wrap(e, "validation");
    if (r.stopped) {
        eng->state.due |= DUE_VAL;
        t->signalled = true;
        return 0;
    }
    record_time(t, "perf/val_ms", began);
    report_eval(&t->report, eng, &r);
    t->is_best = r.loss < eng->state.best_loss - eng->set->eval.min_delta;
    if (t->is_best) {
        eng->state.best_loss = r.loss;
        eng->state.best_step = eng->state.step;
        eng->state.bad_evals = 0;
        return 0;
    }
    eng->state.bad_evals++;
    *stop = is_stopped_early(eng);
    if (*stop)
        report_stopped_early(&t->report, eng);
    return 0;
}

/* The answers are recorded together: where a signal comes between them, all
 * questions are asked again when training resumes. */
static int ask_questions(struct train *t, struct err *e)
{
    const double began = clock_mono();
    const struct tasks *all = &t->engine->data.tasks;
    int ret = 0;
    AUTO_FREE struct multiple_choice_result *r = xcalloc(all->n + 1, sizeof *r);
    AUTO(buf_clear) struct buf answers = BUF_INIT;

    for (size_t i = 0; i < all->n && ret == 0 && !t->signalled; i++) {
        ret = multiple_choice_eval(t->engine, all, i, r, &answers, e);
        if (r[i].unread) { /* a file that is gone does not end a training */
            if (t->engine->coll.rank == 0)
                log_warn("no questions after step %lld: %s",
                         (long long)t->engine->state.step, e->text);
            *e = (struct err){ 0 };
            ret = 0;
        }
        t->signalled = r[i].stopped;
    }
    if (ret == 0 && !t->signalled) {
        t->engine->state.due &= ~DUE_TASKS;
        if (all->n > 0)
            record_time(t, "perf/questions_ms", began);
        for (size_t i = 0; i < all->n; i++)
            if (r[i].questions > 0)
                report_multiple_choice(&t->report, t->engine, &all->task[i],
                                       &r[i]);
        if (answers.len)
            report_text(&t->report, RUN_INFO_TASKS, answers.s);
    }
    return ret;
}

/* One rank samples, unless it needs the others for a forward. */
static int write_samples(struct train *t, struct err *e)
{
    struct engine *eng = t->engine;
    const double began = clock_mono();
    AUTO(buf_clear) struct buf text = BUF_INIT;
    size_t last = 0;
    int ret;

    eng->state.due &= ~DUE_SAMPLES;
    if (!eng->data.tokenizer ||
        (eng->coll.rank > 0 && !parallel_gathers(&eng->parallel)))
        return 0;
    ret = sampler_texts(eng, &text, &last, e);
    if (ret == 0)
        report_samples(&t->report, eng, &text, last);
    if (ret >= 0)
        record_time(t, "perf/sample_ms", began);
    if (ret > 0)
        log_warn("no sample at step %lld: the model's logits are not finite",
                 (long long)eng->state.step);
    return ret < 0 ? -1 : 0;
}

static bool is_last(const struct engine *eng)
{
    const struct settings *s = eng->set;

    return eng->state.step >= s->is.stop_at || !engine_has_data(eng) ||
           (s->train.max_time > 0 &&
            engine_position(eng) >= (double)s->is.steps);
}

/* What a signal interrupts, and what comes after it, stays due. */
static int do_due(struct train *t, bool *stop, struct err *e)
{
    struct engine *eng = t->engine;
    int *due = &eng->state.due;

    if (*due & DUE_VAL && !t->signalled && run_validation(t, stop, e) < 0)
        return -1;
    if (*stop && eng->set->sample.every.n > 0)
        *due |= DUE_SAMPLES;
    if (*due & DUE_TASKS && !t->signalled && ask_questions(t, e) < 0)
        return -1;
    return *due & DUE_SAMPLES && !t->signalled ? write_samples(t, e) : 0;
}

/* A step's checkpoint is that of the best, too, once all of it is done; why is
 * 0 if none is due. */
static int save_step(struct train *t, int why, struct err *e)
{
    if (t->is_best && t->engine->set->checkpoint.keep_best)
        why |= CHECKPOINT_BEST;
    t->is_best = false;
    if (why && (mixture_check(t->engine->data.train, e) < 0 ||
                record_phases(t, e) < 0))
        return -1;
    return why ? checkpoint_save(&t->checkpoint, t->engine, why, e) : 0;
}

static int after_step(struct train *t, bool *stop, struct err *e)
{
    struct engine *eng = t->engine;
    const struct settings *s = eng->set;
    const bool last = is_last(eng);

    eng->state.due = (is_due(t, &s->eval.every, last) ? DUE_VAL : 0) |
                     (is_due(t, &s->eval.tasks_every, last) ? DUE_TASKS : 0) |
                     (is_due(t, &s->sample.every, last) ? DUE_SAMPLES : 0);
    if ((last && mixture_check(eng->data.train, e) < 0) ||
        do_due(t, stop, e) < 0)
        return -1;
    if (eng->state.due)
        return 0; /* it is done when training resumes */
    *stop = *stop || last;
    return save_step(t,
                     *stop && s->checkpoint.last              ? CHECKPOINT_LAST
                     : is_due(t, &s->checkpoint.every, false) ? CHECKPOINT_DUE
                                                              : 0,
                     e);
}

/* Do what is due before the first step: at the start of training, or because a
 * signal has interrupted it. */
static int before_steps(struct train *t, bool *stop, struct err *e)
{
    struct engine *eng = t->engine;

    if (eng->state.step == 0 && eng->set->eval.at_start && !is_resumed(t))
        eng->state.due = DUE_VAL;
    if (!eng->state.due)
        return 0;
    if (do_due(t, stop, e) < 0)
        return -1;
    if (eng->state.due)
        return 0;
    /* so that it is not done again */
    return save_step(t, eng->state.step > 0 ? CHECKPOINT_DUE : 0, e);
}

/* ---- the loop --------------------------------------------------------- */

static int stop_by_signal(struct train *t, struct err *e)
{
    if (save_step(t, CHECKPOINT_LAST, e) < 0)
        return err_wrap(e, "stopped by a signal");
    return err_set(e, ERR_STOPPED, "stopped by a signal after step %lld",
                   (long long)t->engine->state.step);
}

static int run_loop(struct train *t, struct err *e)
{
    const struct engine_state *state = &t->engine->state;
    struct run *run = t->report.run;
    bool stop = state->step >= t->engine->set->is.stop_at ||
                !engine_has_data(t->engine);

    if (is_stopped_early(t->engine)) { /* before it was resumed */
        report_stopped_early(&t->report, t->engine);
        stop = true;
    }
    begin_progress(t);
    if (before_steps(t, &stop, e) < 0)
        return -1;
    while (!stop && !t->signalled) {
        const int64_t before = state->step;

        if (run && run_is_lost(run) && run_check(run, e) < 0)
            return -1;
        if (train_step(t, e) < 0)
            return err_wrap(e, "step %lld", (long long)before + 1);
        measure_progress(t);
        /* after a rollback, nothing is due: it was done at that step before */
        if (state->step > before && after_step(t, &stop, e) < 0)
            return err_wrap(e, "after step %lld", (long long)state->step);
    }
    if (t->signalled && (!stop || state->due))
        return stop_by_signal(t, e);
    return 0;
}

/* ---- the beginning and the end ---------------------------------------- */

/* What another value breaks, when training is resumed with it. */
static const struct {
    const char *key, *breaks;
} breaks[] = {
    { "optim.name", "the moments of the other optimiser are continued with" },
    { "train.seed", "windows are read in another order, some of them twice and "
                    "others never, and dropout draws other numbers" },
    { "data.order", "windows are read in another order, some of them twice and "
                    "others never" },
    { "train.precision", "losses are rounded in another way from here on" },
    { "model.context", "losses are means over other lengths from here on, and "
                       "other windows are read" },
};

static const char *resume_breaks(const char *key)
{
    for (size_t i = 0; i < sizeof breaks / sizeof breaks[0]; i++)
        if (strcmp(breaks[i].key, key) == 0)
            return breaks[i].breaks;
    return NULL;
}

/* The tags that name a checkpoint of another run. */
static const char *const resumed_tags[] = { "resumed.run", "resumed.step",
                                            "resumed.sha256" };
static const char *const from_tags[] = { "from.run", "from.step",
                                         CHECKPOINT_FROM_SHA256 };

static void note_origin(struct run *run, const char *const tag[3],
                        const char *checkpoint)
{
    struct checkpoint_sums sums;
    struct err e = { 0 };
    char step[24], *id = NULL;

    if (checkpoint_text(checkpoint, "run_id", &id, &e) < 0 ||
        checkpoint_sums_read(checkpoint, &sums, &e) < 0) {
        log_warn("%s", e.text);
    } else if (strcmp(run_id(run), id) != 0) {
        snprintf(step, sizeof step, "%lld",
                 (long long)checkpoint_step(path_name(checkpoint)));
        if (*id)
            run_tag(run, tag[0], id);
        if (*step != '-')
            run_tag(run, tag[1], step);
        run_tag(run, tag[2], sums.model);
    }
    free(id);
}

/* Begin a run, or load the checkpoint and resume its run. */
static int open_run(struct train *t, const struct train_conf *c, struct err *e)
{
    const char *from = t->engine->set->train.from;
    AUTO(settings_clear) struct settings then = { 0 };
    int ret = 0;

    if (c->checkpoint)
        ret = checkpoint_text(c->checkpoint, "run_id", &t->resumed, e);
    if (ret == 0 && is_resumed(t) && t->engine->coll.rank == 0 &&
        checkpoint_settings(&then, c->checkpoint, ERR_IGNORED) == 0)
        checkpoint_compare(t->engine->set, &then, resume_breaks);
    if (ret == 0 && c->checkpoint)
        ret = checkpoint_load(c->checkpoint, t->engine, e);
    else if (ret == 0)
        ret = checkpoint_from_load(t->engine, NULL, e);
    if (ret == 0)
        ret = report_open(&t->report, t->engine, c->command,
                          is_resumed(t) ? t->resumed : NULL, c->start, e);
    if (ret == 0 && t->report.run && is_resumed(t))
        note_origin(t->report.run, resumed_tags, c->checkpoint);
    if (ret == 0 && t->report.run && !c->checkpoint && *from)
        note_origin(t->report.run, from_tags, from);
    alert_writer_begin(c->alerts,
                       t->report.run ? run_folder(t->report.run) : NULL);
    if (ret == 0 && t->report.run && c->checkpoint &&
        !report_is_idle(t->engine, is_resumed(t)))
        run_rewind(t->report.run, t->engine->state.step);
    return ret;
}

/* Rank 0 names the folder of checkpoints; all must resume from one step. */
static int agree_folder(struct engine *eng, char *folder, size_t size,
                        struct err *e)
{
    int64_t most = eng->state.step, least = -eng->state.step;

    coll_bcast(&eng->coll, folder, size, 0);
    if (coll_max(&eng->coll, &most, e) < 0 ||
        coll_max(&eng->coll, &least, e) < 0)
        return -1;
    if (most != -least)
        return err_set(e, ERR_RANK,
                       "ranks found checkpoints of steps %lld and %lld; all "
                       "must see the same folder",
                       (long long)-least, (long long)most);
    return 0;
}

static int open_checkpoints(struct train *t, bool steal, struct err *e)
{
    struct engine *eng = t->engine;
    struct run *run = t->report.run;
    AUTO_FREE char *own = NULL;
    char folder[4096];
    const struct checkpoint_claim claim = { folder, t->resumed, steal };

    if (run && checkpoint_place(run, eng->set, is_resumed(t), &own, e) < 0)
        return -1;
    snprintf(folder, sizeof folder, "%s",
             own ? own : eng->set->checkpoint.folder);
    if (agree_folder(eng, folder, sizeof folder, e) < 0)
        return -1;
    return checkpoint_open(&t->checkpoint, eng, run, &claim, e);
}

int train_run(struct engine *eng, const struct train_conf *c, struct err *e)
{
    struct train t = { .engine = eng };
    int ret;

    if (open_run(&t, c, e) < 0) {
        free(t.resumed);
        return -1;
    }
    ret = open_checkpoints(&t, c->start & REPORT_STEAL, e);
    if (ret == 0) {
        step_open(&t.step, eng);
        t.step.observe = c->detect_anomaly ? observe_finite : NULL;
        t.step.may_update_early = true;
        t.step.on_micro = report_micro;
        t.step.arg = &t.report;
        meter_open(&t.meter, eng, t.report.run);
        report_begin(&t.report, eng, &t.meter);
        ret = run_loop(&t, e);
        meter_stop(&t.meter);
        if (ret == 0 || e->kind == ERR_STOPPED)
            step_last_readings(&t.step, eng, &t.meter, ERR_IGNORED);
        meter_close(&t.meter);
        step_close(&t.step);
    }
    checkpoint_close(&t.checkpoint);
    free(t.resumed);
    return report_close(&t.report, eng, ret, e);
}
