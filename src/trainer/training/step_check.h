#ifndef TRAINER_TRAINING_STEP_CHECK_H
#define TRAINER_TRAINING_STEP_CHECK_H

#include "trainer/settings/settings.h"

/*
 * step_check - is this step one to be taken?
 *
 * Looks at the loss and the gradient norm of each step before the weights
 * move.  A value that is not finite, or one that lies more than so many
 * standard deviations above the mean of the last good steps, is an event; the
 * settings say what follows.  Steps that were not taken do not enter the mean.
 * After train.max_skips skipped steps in a row the verdict is STEP_STOP.
 */
enum step_verdict { STEP_GOOD, STEP_SKIP, STEP_ROLLBACK, STEP_STOP };

struct step_check {
    const struct train_settings *conf;
    double *loss, *norm; /* the last good steps, a ring */
    int n, next;
    int64_t skipped; /* steps in a row */
};

void step_check_init(struct step_check *, const struct train_settings *);
void step_check_clear(struct step_check *);

/* what: for the event, "loss is nan", or empty.  scaled: a loss scale is in
 * force, so an overflow is nothing but a sign to lower it. */
enum step_verdict step_check_judge(struct step_check *, double loss,
                                   double norm, bool scaled, char what[80]);
void step_check_reset(struct step_check *); /* after a rollback */

#endif
