#pragma once

#include "trainer/engine/engine.h"
#include "trainer/model/graph_calls.h"
#include "trainer/model/resolve.h"
#include "trainer/settings/settings.h"
#include "trainer/training/meter.h"

/*
 * step - one step of training, and its results
 *
 *      step_open(&s, eng);
 *      for each step
 *          if (step_compute(&s, eng, meter, e) < 0) ...
 *          step_judge(&eng->recent, train, s.loss, s.norm, scaled, what);
 *          step_update(&s, eng);     unless the loss or the norm forbids it
 *          step_end(&s, eng);
 *      step_close(&s);
 *
 * step_compute() runs some micro-batches forward and backward, and sums the
 * gradients, their norm and a few other numbers over the ranks.  Every
 * run.system_every, it also passes the meter's readings of other ranks to rank
 * 0, which stores them.  step_end() counts the step.
 *
 * With may_update_early, the device gets the update before the host waits for
 * the loss and the norm, and itself leaves the weights as they are if one is
 * not finite.  A single rank does so, unless it looks for spikes.
 *
 * A signal that arrives before the last micro-batch lets the step be abandoned:
 * `abandoned` is set, and neither weights, moments nor state have changed.
 * Ranks, which must all stop at the same micro-batch, tell each other of
 * signals about once a second, so that they stop some micro-batches later.
 */

/* `left` micro-batches are computed before a signal that arrives now has an
 * effect. */
typedef void step_micro_fn(void *arg, int64_t done, int64_t all, int64_t left);

struct step {
    step_micro_fn *on_micro; /* called before each micro-batch, or NULL */
    void *arg;
    observe_fn *observe; /* look at the result of every operation, or NULL */
    void *observe_arg;
    bool keep_losses;      /* of each token, in the batch */
    bool may_update_early; /* the weights move unless a number is not finite */

    double lr;
    double loss, norm;       /* over all ranks */
    double batch[2];         /* targets of the first micro-batch, and of all */
    double sumsq[2];         /* of the gradients over them */
    int64_t tokens;          /* of all ranks */
    double seconds;          /* that it took */
    double wait_seconds;     /* of them, for data */
    double comm_seconds;     /* of them, for other ranks */
    double sent_bytes;       /* by a rank, on average */
    double sent_messages;    /* messages, likewise */
    bool signalled;          /* a signal asks a rank to stop */
    bool abandoned;          /* and the step was not computed */
    bool blank;              /* no token is a target on any rank */
    bool has_phases;         /* the times below are known: */
    double phase_ms[PHASES]; /* of the step before; NaN: not measured */

    /* its own */
    struct schedule schedule;
    struct phases phases;
    double started;       /* clock_mono() */
    double waited_before; /* for other ranks, until the step began */
    double micro_seconds; /* each took in the last step, says rank 0; or 0 */
    double signals;       /* the sum over ranks that is being computed */
    uint64_t signals_call;
    int64_t targets;      /* of this rank */
    bool updated;         /* this step has been given its update */
    double scale;         /* makes the gradient the mean over all targets */
    uint64_t sent_before; /* by this rank, until the step began */
    uint64_t messages_before;
    double collected_at;            /* when rank 0 last took the readings */
    struct meter_reading *readings; /* of this rank, METER_KEPT */
};

void step_open(struct step *, const struct engine *);
void step_close(struct step *);

/* The meter may be NULL: then other ranks have no readings. */
int step_compute(struct step *, struct engine *, struct meter *, struct err *);
/* Move the weights, or leave them; either way adapt the loss scale. */
void step_update(struct step *, struct engine *);
void step_skip_update(struct step *, struct engine *);
void step_end(struct step *, struct engine *);
/* After the last step: pass on the readings since then.  All ranks call it. */
int step_last_readings(struct step *, struct engine *, struct meter *,
                       struct err *);

/* The first window of this rank's micro-batch i of the current step. */
int64_t step_first_window(const struct engine *, int64_t i);

/*
 * Decide whether to update the weights.  If the loss or the gradient norm is
 * not finite, or is train.spike_loss or train.spike_norm standard deviations
 * above its mean over the last good steps, the verdict follows
 * train.on_nonfinite or train.on_spike.  After more than train.max_skips
 * skipped steps in a row it is STEP_STOP.  `what` is set to the reason, such as
 * "the loss is nan", or to "".  `scaled` says that a loss scale is used: then
 * an overflow only means that it is too large.
 */
enum step_verdict { STEP_GOOD, STEP_SKIP, STEP_ROLLBACK, STEP_STOP };

enum step_verdict step_judge(struct engine_recent *,
                             const struct train_settings *, double loss,
                             double norm, bool scaled, char what[80]);

/*
 * The gradient noise scale (arXiv:1812.06162, appendix A.1): the batch, in
 * tokens, whose gradient has as much noise as signal.  The squares of the
 * gradient over a small and a large batch give estimates of those of the true
 * gradient and of the variance over tokens; mean[0] and mean[1] are their
 * means over some hundred steps.  NaN: they do not tell yet.
 */
void step_add_noise(double mean[2], const double batch[2],
                    const double sumsq[2]);
double step_noise_scale(const double mean[2]);
