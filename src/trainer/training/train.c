#include "config.h"
#include "trainer/training/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/sig.h"
#include "trainer/model/anomaly.h"
#include "trainer/model/resolve.h"
#include "trainer/training/eval.h"
#include "trainer/training/sampler.h"
#include "trainer/training/step_check.h"

/* ---- the gradient of a step ------------------------------------------- */

/* This rank's windows of micro-step i begin here. */
static int64_t window_of(const struct job *j, int64_t i)
{
    const int64_t B = j->gpt.B;
    const int64_t first = resolve_sequences_before(j->set, j->state.step);

    return first + j->state.skipped + (i * j->coll.size + j->coll.rank) * B;
}

/* A rank that has no micro-batch left in the last micro-step, as on the batch
 * ramp, takes part with one that has no targets: nothing is added. */
static int put_batch(struct job *j, int64_t i, struct err *e)
{
    const double before = clock_mono();

    const int64_t mine = i * j->coll.size + j->coll.rank;
    const bool any = mine * j->gpt.B * j->gpt.T < j->step_tokens;

    if (job_read(j, j->train, window_of(j, i), j->gpt.B, e) < 0)
        return -1;
    for (int64_t k = 0; !any && k < j->gpt.B * j->gpt.T; k++)
        j->y[k] = -1;
    for (int64_t k = 0; k < j->gpt.B * j->gpt.T; k++)
        j->targets += j->y[k] >= 0;
    j->wait_seconds += clock_mono() - before;
    gpt_set_inputs(&j->gpt, j->x, j->y);
    return 0;
}

static void get_losses(struct job *j, int64_t i)
{
    const struct tensor *loss = graph_val(&j->gpt.graph, j->gpt.output);

    j->dev.type->get(&j->dev, j->losses + i * tensor_count(loss), loss->data,
                     tensor_bytes(loss));
}

/* Losses and gradients of this rank's micro-batches, the gradients summed. */
static int micro_steps(struct job *j, int64_t n, struct err *e)
{
    struct graph *g = &j->gpt.graph;

    g->step = (uint64_t)j->state.step;
    g->head_scale = (float)(j->state.loss_scale / (double)j->step_tokens);
    j->wait_seconds = 0;
    j->targets = 0;
    for (int64_t i = 0; i < n; i++) {
        if (put_batch(j, i, e) < 0)
            return -1;
        parallel_begin_micro(&j->parallel, i, n);
        g->first_row = (uint64_t)(i * j->coll.size + j->coll.rank) *
                       (uint64_t)(j->gpt.B * j->gpt.T);
        g->phases = i == n - 1 ? &j->phases : NULL;
        if (g->phases)
            phases_mark(&j->phases, &j->dev, PHASE_BEGIN);
        if (j->detect_anomaly && anomaly_train(g, e) < 0)
            return -1;
        for (int u = 0; j->detect_anomaly && u < g->n_units; u++)
            parallel_ready(&j->parallel, g, u);
        if (!j->detect_anomaly)
            replay_train(&j->replay, parallel_ready, &j->parallel);
        get_losses(j, i);
    }
    phases_mark(&j->phases, &j->dev, PHASE_BACKWARD);
    return 0;
}

/* What ranks tell each other every step: sums, and readings by rank. */
enum {
    SUM_LOSS,
    SUM_TARGETS,
    SUM_SECONDS,
    SUM_SIGNALS,
    SUM_SENT,
    SUM_READINGS
};

static size_t count_facts(const struct job *j)
{
    return (size_t)(SUM_READINGS + j->coll.size * METER_VALUES);
}

static int sum_facts(struct train *t, double *sum, struct err *e)
{
    struct job *j = t->job;
    const int size = j->coll.size;

    sum[SUM_SENT] = (double)(j->coll.sent - j->sent_before);
    j->sent_before = j->coll.sent;
    sum[SUM_SECONDS] = j->coll.rank == 0 ? job_seconds(j) : 0;
    sum[SUM_SIGNALS] = sig_caught() != 0;
    if (j->coll.rank > 0)
        meter_take(&t->report->meter,
                   sum + SUM_READINGS + j->coll.rank * METER_VALUES);
    if (coll_sum_f64(&j->coll, sum, count_facts(j), e) < 0)
        return -1;
    for (int r = 1; r < size && t->report->run; r++)
        meter_store(&t->report->meter, r,
                    sum + SUM_READINGS + r * METER_VALUES);
    j->agreed = sum[SUM_SECONDS];
    j->sent = sum[SUM_SENT] / size;
    j->asked_to_stop = sum[SUM_SIGNALS] > 0;
    return 0;
}

/*
 * The gradient of all ranks, its norm, and what else they must agree on.
 * Losses were weighed as if every token were a target; how many there are is
 * known only now, of all ranks, so the optimiser does the rest of the mean.
 */
static int sum_over_ranks(struct train *t, int64_t micro, struct err *e)
{
    struct job *j = t->job;
    double *sum = t->facts;
    int ret = -1;

    memset(sum, 0, count_facts(j) * sizeof *sum);
    if (parallel_measure(&j->parallel, e) == 0) {
        phases_mark(&j->phases, &j->dev, PHASE_NORM);
        ret = dev_sync(&j->dev, e);
    }
    if (ret == 0) {
        for (int64_t i = 0; i < micro * j->gpt.B * j->gpt.T; i++)
            sum[SUM_LOSS] += (double)j->losses[i];
        sum[SUM_TARGETS] = (double)j->targets;
        ret = sum_facts(t, sum, e);
    }
    j->loss = sum[SUM_LOSS] / fmax(1, sum[SUM_TARGETS]);
    j->scale = (double)j->step_tokens / fmax(1, sum[SUM_TARGETS]) /
               j->state.loss_scale;
    j->norm = optim_norm(&j->optim, j->scale);
    return ret;
}

/* ---- one step --------------------------------------------------------- */

/* fp16: halve the scale at an overflow, double it after many good steps; a
 * spike is neither. */
static void move_loss_scale(struct job *j, bool good)
{
    struct job_state *at = &j->state;

    if (j->set->train.precision != PRECISION_FP16)
        return;
    at->good_steps = good ? at->good_steps + 1 : 0;
    if (!isfinite(j->norm))
        at->loss_scale = fmax(1, at->loss_scale / 2);
    if (at->good_steps >= j->set->train.loss_scale_window) {
        at->loss_scale = fmin(0x1p40, at->loss_scale * 2);
        at->good_steps = 0;
    }
}

static int handle(struct train *t, enum step_verdict v, const char *what,
                  struct err *e)
{
    struct job *j = t->job;

    if (*what)
        report_event(t->report, j, v, what);
    if (v == STEP_GOOD) {
        optim_step(&j->optim, j->lr, j->scale);
        phases_mark(&j->phases, &j->dev, PHASE_UPDATE);
        parallel_stepped(&j->parallel);
        j->state.updates++;
    }
    move_loss_scale(j, v == STEP_GOOD);
    switch (v) {
    case STEP_GOOD:
    case STEP_SKIP:
        break;
    case STEP_ROLLBACK:
        step_check_reset(t->check); /* its mean is that of another time */
        if (checkpoint_rollback(t->checkpoint, j, e) < 0)
            return -1;
        report_rewind(t->report, j);
        break;
    case STEP_STOP:
        return err_set(e, ERR_NONFINITE,
                       "%s; train.on_nonfinite and "
                       "train.on_spike choose what else to do",
                       what);
    }
    return 0;
}

static int train_step(struct train *t, struct err *e)
{
    struct job *j = t->job;
    const double before = clock_mono();
    const double position = job_position(j);
    const int64_t windows = resolve_sequences(j->set, j->state.step);
    const int64_t all = j->gpt.B * j->coll.size;
    const int64_t micro = (windows + all - 1) / all;
    const bool scaled = j->state.loss_scale > 1;
    enum step_verdict verdict;
    char what[80];

    j->lr = schedule_at(&j->schedule, position);
    j->step_tokens = windows * j->gpt.T;
    if (micro_steps(j, micro, e) < 0 || sum_over_ranks(t, micro, e) < 0)
        return -1;
    verdict = step_check_judge(t->check, j->loss, j->norm, scaled, what);
    if (handle(t, verdict, what, e) < 0)
        return -1;
    if (verdict == STEP_ROLLBACK)
        return 0; /* rolled back */
    j->state.step++;
    j->state.tokens += j->step_tokens;
    j->step_seconds = clock_mono() - before;
    report_step(t->report, j);
    return 0;
}

/* ---- what is due after it --------------------------------------------- */

static bool due(int64_t step, int64_t every, bool last)
{
    return every > 0 && (last || step % every == 0);
}

static int validate(struct train *t, bool *stop, struct err *e)
{
    struct job *j = t->job;
    struct eval_result r;

    if (!j->val)
        return 0;
    if (eval_loss(j, &r, e) < 0)
        return err_wrap(e, "validation");
    j->state.val_due = r.cut;
    if (r.cut) {
        j->asked_to_stop = true;
        return 0;
    }
    report_eval(t->report, j, &r);
    if (r.loss < j->state.best_loss - j->set->eval.min_delta) {
        j->state.best_loss = r.loss;
        j->state.best_step = j->state.step;
        j->state.bad_evals = 0;
        return checkpoint_best(t->checkpoint, j, e);
    }
    j->state.bad_evals++;
    *stop = j->set->eval.patience > 0 &&
            j->state.bad_evals >= j->set->eval.patience;
    if (*stop)
        report_stopped_early(t->report, j);
    return 0;
}

static int after_step(struct train *t, bool *stop, struct err *e)
{
    struct job *j = t->job;
    const struct settings *s = j->set;
    const int64_t step = j->state.step;
    const bool last =
        step >= s->is.stop_at ||
        (s->train.max_time > 0 && job_position(j) >= (double)s->is.steps);

    if (due(step, s->eval.every, last) && validate(t, stop, e) < 0)
        return -1;
    if (j->state.val_due)
        return 0; /* all of this is done when training goes on */
    if (due(step, s->eval.hellaswag_every, last) &&
        report_multiple_choice(t->report, j, e) < 0)
        return -1;
    if (due(step, s->sample.every, last || *stop) &&
        report_sample(t->report, j, e) < 0)
        return -1;
    *stop = *stop || last;
    if (*stop && s->checkpoint.last)
        return checkpoint_last(t->checkpoint, j, e);
    return due(step, s->checkpoint.every, false)
               ? checkpoint_save(t->checkpoint, j, e)
               : 0;
}

/* What is due before the first step: at the start, or left by a signal. */
static int before_steps(struct train *t, bool *stop, struct err *e)
{
    struct job *j = t->job;

    if (j->state.step == 0)
        return j->set->eval.at_start ? validate(t, stop, e) : 0;
    if (!j->state.val_due)
        return 0;
    if (after_step(t, stop, e) < 0)
        return -1;
    return j->state.val_due
               ? 0
               : checkpoint_save(t->checkpoint, j, e); /* it is done */
}

static int stop_by_signal(struct train *t, struct err *e)
{
    if (checkpoint_last(t->checkpoint, t->job, e) < 0)
        return err_wrap(e, "stopped by a signal");
    return err_set(e, ERR_STOPPED,
                   "stopped by a signal after step %lld; go on with --resume "
                   "auto",
                   (long long)t->job->state.step);
}

static int run(struct train *t, struct err *e)
{
    struct job *j = t->job;
    bool stop = j->state.step >= j->set->is.stop_at;

    if (before_steps(t, &stop, e) < 0)
        return -1;
    while (!stop && !j->asked_to_stop) {
        const int64_t before = j->state.step;

        if (train_step(t, e) < 0)
            return err_wrap(e, "step %lld", (long long)before + 1);
        /* what is due at a step that it rolled back to was done there */
        if (j->state.step > before && after_step(t, &stop, e) < 0)
            return err_wrap(e, "after step %lld", (long long)j->state.step);
    }
    if (j->asked_to_stop && (!stop || j->state.val_due))
        return stop_by_signal(t, e);
    return 0;
}

int train_run(struct train *t, struct err *e)
{
    int ret;

    t->facts = xcalloc(count_facts(t->job), sizeof *t->facts);
    ret = run(t, e);
    free(t->facts);
    t->facts = NULL;
    return ret;
}
