#include "config.h"
#include "trainer/training/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/sig.h"
#include "trainer/model/resolve.h"

/* The numbers that ranks exchange in every step. */
enum {
    SUM_LOSS,
    SUM_TARGETS,
    SUM_SECONDS,
    SUM_STEP_SECONDS,
    SUM_SIGNALS,
    SUM_SENT,
    SUM_MESSAGES,
    SUMS
};

void step_open(struct step *s, const struct engine *eng)
{
    *s = (struct step){ .collected_at = -INFINITY };
    schedule_init(&s->schedule, eng->set);
    s->readings = xcalloc(METER_KEPT, sizeof *s->readings);
}

void step_close(struct step *s)
{
    free(s->readings);
    s->readings = NULL;
}

/* ---- the gradient of this rank ---------------------------------------- */

int64_t step_first_window(const struct engine *eng, int64_t i)
{
    return engine_sequences(eng) +
           (i * eng->coll.size + eng->coll.rank) * eng->gpt.B;
}

/* A rank that has no micro-batch left in the last micro-step, as on the batch
 * ramp, takes part with one that has no targets: it adds nothing. */
static int set_batch(struct step *s, struct engine *eng, int64_t i,
                     struct err *e)
{
    const double before = clock_mono();
    const int64_t n = eng->gpt.B * eng->gpt.T;
    const int64_t mine = i * eng->coll.size + eng->coll.rank;
    const bool any = mine * n < s->tokens;

    if (!any)
        engine_pad(eng, 0, eng->gpt.B);
    else if (engine_read_train(eng, step_first_window(eng, i), eng->gpt.B, e) <
             0)
        return -1;
    for (int64_t k = 0; k < n; k++)
        s->targets += eng->batch.y[k] >= 0;
    s->wait_seconds += clock_mono() - before;
    gpt_set_inputs(&eng->gpt, eng->batch.x, eng->batch.y);
    if (eng->batch.teacher)
        gpt_set_teacher(&eng->gpt, eng->batch.teacher);
    return 0;
}

/* Add the losses of micro-batch i up on the device. */
static void add_losses(struct step *s, struct engine *eng, int64_t i)
{
    const struct tensor *loss = graph_val(&eng->gpt.graph, eng->gpt.output);

    optim_add_losses(&eng->optim, loss, i == 0);
    if (s->keep_losses)
        eng->dev.type->get(&eng->dev,
                           eng->batch.losses + i * tensor_count(loss),
                           loss->data, tensor_bytes(loss));
}

/* Forward and backward of one micro-batch. */
static int run_graph(struct step *s, struct engine *eng, struct err *e)
{
    struct graph *g = &eng->gpt.graph;

    if (!s->observe)
        return recording_train(&eng->recording, &eng->parallel, e);
    if (observe_train(g, s->observe, s->observe_arg, e) < 0)
        return -1;
    for (int u = 0; u < g->n_units; u++)
        parallel_ready(&eng->parallel, g, u);
    return 0;
}

/* ---- stopping within a step ------------------------------------------- */

/* After how many micro-batches ranks tell each other of signals.  All know the
 * same times. */
static int64_t signals_every(const struct step *s)
{
    return s->micro_seconds > 0 ? (int64_t)ceil(1 / s->micro_seconds) : 1;
}

/* The number of n micro-batches that are computed, from i on, before a signal
 * that arrives now has an effect. */
static int64_t count_left(const struct step *s, const struct engine *eng,
                          int64_t i, int64_t n)
{
    const int64_t every = signals_every(s);
    const int64_t told = i - i % every + every;

    if (eng->coll.size == 1)
        return 1;
    return told + every < n ? told + every - i : n - i;
}

/* Before micro-batch i: a sum that was begun some micro-batches ago tells
 * whether a rank had a signal then, without waiting for the slowest rank. */
static int look_for_signals(struct step *s, struct engine *eng, int64_t i,
                            int64_t n, struct err *e)
{
    const int64_t every = signals_every(s);

    s->abandoned = eng->coll.size == 1 && sig_caught();
    if (eng->coll.size == 1 || i % every != 0)
        return 0;
    if (i > 0) {
        if (coll_end(&eng->coll, s->signals_call, e) < 0)
            return -1;
        s->abandoned = s->signals > 0;
    }
    if (!s->abandoned && i + every < n) {
        s->signals = sig_caught() != 0;
        s->signals_call = coll_begin_sum_f64(&eng->coll, &s->signals, 1);
    }
    return 0;
}

/* Losses and summed gradients of this rank's n micro-batches. */
static int run_micro_steps(struct step *s, struct engine *eng, int64_t n,
                           struct err *e)
{
    struct graph *g = &eng->gpt.graph;

    g->step = (uint64_t)eng->state.step;
    g->head_scale = (float)(eng->state.loss_scale / (double)s->tokens);
    s->wait_seconds = 0;
    s->targets = 0;
    for (int64_t i = 0; i < n; i++) {
        if (s->on_micro)
            s->on_micro(s->arg, i, n, count_left(s, eng, i, n));
        if (look_for_signals(s, eng, i, n, e) < 0)
            return -1;
        if (s->abandoned)
            return 0;
        if (set_batch(s, eng, i, e) < 0)
            return -1;
        if (i == 0)
            s->batch[0] = (double)s->targets;
        parallel_begin_micro(&eng->parallel, i, n);
        g->first_row = (uint64_t)(i * eng->coll.size + eng->coll.rank) *
                       (uint64_t)(eng->gpt.B * eng->gpt.T);
        g->phases = i == n - 1 ? &s->phases : NULL;
        if (g->phases)
            phases_mark(&s->phases, &eng->dev, PHASE_BEGIN);
        if (run_graph(s, eng, e) < 0)
            return -1;
        if (i == 0 && n > 1 && eng->coll.rank == 0 &&
            !parallel_sums_now(&eng->parallel))
            optim_add_first(&eng->optim, g->grads.data, g->count, true);
        add_losses(s, eng, i);
    }
    phases_mark(&s->phases, &eng->dev, PHASE_BACKWARD);
    return 0;
}

/* ---- the sum over ranks ----------------------------------------------- */

/* Rank 0 gets the readings of the others' meters, and stores them.  All ranks
 * send as many as the rank that has most. */
static int collect_readings(struct step *s, struct engine *eng, struct meter *m,
                            struct err *e)
{
    const int size = eng->coll.size;
    const int64_t own = eng->coll.rank > 0 ? meter_take(m, s->readings) : 0;
    struct meter_reading *all = NULL;
    int64_t most = own, *bounds;
    int ret;

    if (coll_max(&eng->coll, &most, e) < 0)
        return -1;
    if (most == 0)
        return 0;
    for (int64_t i = own; i < most; i++)
        s->readings[i].age = (double)NAN;
    bounds = xcalloc((size_t)size + 1, sizeof *bounds);
    for (int r = 0; r < size; r++)
        bounds[r + 1] = bounds[r] + most;
    if (eng->coll.rank == 0)
        all = xcalloc((size_t)bounds[size], sizeof *all);
    coll_collect(&eng->coll, all, s->readings, bounds, sizeof *all);
    ret = coll_check(&eng->coll, e);
    if (ret == 0 && all)
        meter_store(m, size, all, most);
    FREE(all, bounds);
    return ret;
}

int step_last_readings(struct step *s, struct engine *eng, struct meter *m,
                       struct err *e)
{
    return eng->coll.size > 1 ? collect_readings(s, eng, m, e) : 0;
}

/* All ranks know the same times. */
static bool readings_are_due(struct step *s, const struct engine *eng)
{
    const double every = eng->set->run.system_every;

    if (eng->coll.size == 1 || every <= 0 ||
        eng->clock.agreed - s->collected_at < every)
        return false;
    s->collected_at = eng->clock.agreed;
    return true;
}

static int exchange_sums(struct step *s, struct engine *eng, int64_t micro,
                         double *sum, struct err *e)
{
    const int size = eng->coll.size;

    sum[SUM_TARGETS] = (double)s->targets;
    sum[SUM_SENT] = (double)(eng->coll.sent - s->sent_before);
    sum[SUM_MESSAGES] = (double)(eng->coll.messages - s->messages_before);
    s->sent_before = eng->coll.sent;
    s->messages_before = eng->coll.messages;
    sum[SUM_SECONDS] = eng->coll.rank == 0 ? engine_seconds(eng) : 0;
    sum[SUM_STEP_SECONDS] = eng->coll.rank == 0 ? clock_mono() - s->started : 0;
    sum[SUM_SIGNALS] = sig_caught() != 0;
    if (coll_sum_f64(&eng->coll, sum, SUMS, e) < 0)
        return -1;
    eng->clock.agreed = sum[SUM_SECONDS];
    s->micro_seconds = sum[SUM_STEP_SECONDS] / (double)micro;
    s->sent_bytes = sum[SUM_SENT] / size;
    s->sent_messages = sum[SUM_MESSAGES] / size;
    s->signalled = sum[SUM_SIGNALS] > 0;
    return 0;
}

/* Other ranks' targets, a spike and random rounding need the host first. */
static bool updates_early(const struct step *s, const struct engine *eng)
{
    return s->may_update_early && eng->coll.size == 1 &&
           eng->set->train.on_spike == POLICY_IGNORE &&
           !eng->optim.rounds_randomly;
}

static void give_update(struct step *s, struct engine *eng)
{
    optim_step(&eng->optim, s->lr, s->scale);
    phases_mark(&s->phases, &eng->dev, PHASE_UPDATE);
    s->updated = true;
}

/* Each loss was weighted as if every token were a target.  How many are, over
 * all ranks, is known only after the step, so the optimiser's scale makes the
 * gradient the mean. */
static void set_scale(struct step *s, const struct engine *eng, double targets)
{
    s->scale = (double)s->tokens / targets / eng->state.loss_scale;
}

static int sum_over_ranks(struct step *s, struct engine *eng, int64_t micro,
                          struct meter *m, struct err *e)
{
    double sum[SUMS] = { 0 }, targets;

    if (parallel_measure(&eng->parallel, e) < 0)
        return -1;
    phases_mark(&s->phases, &eng->dev, PHASE_NORM);
    optim_read_sums(&eng->optim);
    if (updates_early(s, eng)) {
        set_scale(s, eng, fmax(1, (double)s->targets));
        eng->optim.needs_losses = eng->set->train.on_nonfinite != POLICY_IGNORE;
        give_update(s, eng);
    }
    if (dev_receive(&eng->dev, e) < 0)
        return -1;
    sum[SUM_LOSS] = eng->optim.losses;
    if (exchange_sums(s, eng, micro, sum, e) < 0)
        return -1;
    if (m && readings_are_due(s, eng) && collect_readings(s, eng, m, e) < 0)
        return -1;
    s->blank = sum[SUM_TARGETS] == 0.0;
    targets = fmax(1, sum[SUM_TARGETS]);
    s->loss = sum[SUM_LOSS] / targets;
    if (isnan(s->loss))
        s->loss = (double)NAN; /* without a sign: it is printed */
    set_scale(s, eng, targets);
    s->norm = optim_norm(&eng->optim, s->scale);
    if (isnan(s->norm))
        s->norm = (double)NAN;
    s->batch[1] = targets;
    for (int k = 0; k < 2; k++) {
        set_scale(s, eng, fmax(1, s->batch[k]));
        s->sumsq[k] = s->scale * s->scale *
                      (k ? eng->optim.sumsq : eng->optim.first_sumsq);
    }
    return 0;
}

int step_compute(struct step *s, struct engine *eng, struct meter *m,
                 struct err *e)
{
    const int64_t sequences = resolve_sequences(eng->set, eng->state.step);
    const int64_t at_once = eng->gpt.B * eng->coll.size;
    const int64_t micro = (sequences + at_once - 1) / at_once;

    s->started = clock_mono();
    s->updated = false;
    s->waited_before = eng->coll.waited;
    s->lr = schedule_at(&s->schedule, engine_position(eng));
    eng->optim.decay_left = schedule_decay_left(eng->set, engine_position(eng));
    s->tokens = sequences * eng->gpt.T;
    if (run_micro_steps(s, eng, micro, e) < 0)
        return -1;
    s->signalled = s->abandoned;
    if (s->abandoned)
        return dev_sync(&eng->dev, e);
    return sum_over_ranks(s, eng, micro, m, e);
}

/* ---- the noise of the gradient ---------------------------------------- */

void step_add_noise(double mean[2], const double batch[2],
                    const double sumsq[2])
{
    const double square =
        (batch[1] * sumsq[1] - batch[0] * sumsq[0]) / (batch[1] - batch[0]);
    const double variance =
        (sumsq[0] - sumsq[1]) / (1 / batch[0] - 1 / batch[1]);

    if (!isfinite(square) || !isfinite(variance))
        return;
    mean[0] += (square - mean[0]) / 100;
    mean[1] += (variance - mean[1]) / 100;
}

double step_noise_scale(const double mean[2])
{
    return mean[0] > 0 && mean[1] > 0 ? mean[1] / mean[0] : (double)NAN;
}

/* ---- the update ------------------------------------------------------- */

/* fp16: halve the scale at an overflow, double it after many good steps; a
 * spike is neither. */
static void adapt_loss_scale(const struct step *s, struct engine *eng,
                             bool good)
{
    struct engine_state *state = &eng->state;

    if (eng->set->train.precision != PRECISION_FP16)
        return;
    state->good_steps = good ? state->good_steps + 1 : 0;
    if (!isfinite(s->norm))
        state->loss_scale = fmax(1, state->loss_scale / 2);
    if (state->good_steps >= eng->set->train.loss_scale_window) {
        state->loss_scale = fmin(0x1p40, state->loss_scale * 2);
        state->good_steps = 0;
    }
}

void step_update(struct step *s, struct engine *eng)
{
    if (!s->updated)
        give_update(s, eng);
    parallel_stepped(&eng->parallel);
    eng->state.updates++;
    step_add_noise(eng->state.noise, s->batch, s->sumsq);
    adapt_loss_scale(s, eng, true);
}

void step_skip_update(struct step *s, struct engine *eng)
{
    if (s->updated)
        optim_undo_step(&eng->optim);
    adapt_loss_scale(s, eng, false);
}

void step_end(struct step *s, struct engine *eng)
{
    eng->state.step++;
    eng->state.tokens += s->tokens;
    s->seconds = clock_mono() - s->started;
    s->comm_seconds = eng->coll.waited - s->waited_before;
    s->has_phases = phases_end_step(&s->phases, &eng->dev, s->phase_ms);
}
/* ---- is the step good? ------------------------------------------------ */

static void add_good_step(struct engine_recent *r, int window, double loss,
                          double norm)
{
    if (r->n == window) {
        r->n--;
        memmove(r->loss, r->loss + 1, (size_t)r->n * sizeof *r->loss);
        memmove(r->norm, r->norm + 1, (size_t)r->n * sizeof *r->norm);
    }
    r->loss[r->n] = loss;
    r->norm[r->n++] = norm;
}

/* By how many standard deviations x is above the mean. */
static double deviations_above(const double *recent, int n, double x)
{
    double mean = 0, var = 0;

    for (int i = 0; i < n; i++)
        mean += recent[i] / n;
    for (int i = 0; i < n; i++)
        var += (recent[i] - mean) * (recent[i] - mean) / n;
    return var > 0 ? (x - mean) / sqrt(var) : 0;
}

static bool is_spike(const double *recent, int n, double x, double limit,
                     const char *name, char what[80])
{
    const double z = deviations_above(recent, n, x);

    if (z <= limit)
        return false;
    snprintf(what, 80, "the %s %.4g is %.1f deviations above its mean", name, x,
             z);
    return true;
}

static enum step_verdict apply_policy(struct engine_recent *r,
                                      enum policy policy, int64_t max_skips)
{
    switch (policy) {
    case POLICY_IGNORE:
        return STEP_GOOD;
    case POLICY_ROLLBACK:
        return STEP_ROLLBACK;
    case POLICY_SKIP:
        return ++r->skips > max_skips ? STEP_STOP : STEP_SKIP;
    case POLICY_STOP:
        break;
    }
    return STEP_STOP;
}

enum step_verdict step_judge(struct engine_recent *r,
                             const struct train_settings *c, double loss,
                             double norm, bool scaled, char what[80])
{
    const int window = (int)c->spike_window;

    what[0] = '\0';
    if (scaled && isfinite(loss) && !isfinite(norm)) {
        snprintf(what, 80, "the gradient overflowed under the loss scale");
        return STEP_SKIP;
    }
    if (!isfinite(loss) || !isfinite(norm)) {
        const double x = isfinite(loss) ? norm : loss;

        snprintf(what, 80, "the %s is %s",
                 isfinite(loss) ? "gradient norm" : "loss",
                 isnan(x) ? "nan" : "infinite");
        return apply_policy(r, c->on_nonfinite, c->max_skips);
    }
    if (c->on_spike != POLICY_IGNORE && r->n == window &&
        (is_spike(r->loss, window, loss, c->spike_loss, "loss", what) ||
         is_spike(r->norm, window, norm, c->spike_norm, "gradient norm", what)))
        return apply_policy(r, c->on_spike, c->max_skips);
    r->skips = 0;
    add_good_step(r, window, loss, norm);
    return STEP_GOOD;
}
