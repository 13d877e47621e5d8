#pragma once

#include "trainer/engine/engine.h"
#include "trainer/settings/settings.h"

/*
 * step_check - decide whether to update the weights after a step
 *
 * The loss and the gradient norm of a step are checked before the update.  If
 * one is not finite, or is train.spike_loss or train.spike_norm standard
 * deviations above its mean over the last good steps, the verdict follows
 * train.on_nonfinite or train.on_spike.  After more than train.max_skips
 * skipped steps in a row it is STEP_STOP.
 */
enum step_verdict { STEP_GOOD, STEP_SKIP, STEP_ROLLBACK, STEP_STOP };

/* `what` is set to the reason, such as "the loss is nan", or to "".  `scaled`
 * says that a loss scale is used: then an overflow only means that it is too
 * large. */
enum step_verdict step_check_judge(struct engine_recent *,
                                   const struct train_settings *, double loss,
                                   double norm, bool scaled, char what[80]);
