#ifndef TRAINER_TRAINING_STEP_CHECK_H
#define TRAINER_TRAINING_STEP_CHECK_H

#include "trainer/settings/settings.h"

/*
 * guard - is this step one to be taken?
 *
 * Looks at the loss and the gradient norm of each step before the weights
 * move.  A value that is not finite, or one that lies more than so many
 * standard deviations above the mean of the last good steps, is an event; the
 * settings say what follows.  Steps that were not taken do not enter the mean.
 */
enum verdict { STEP_GOOD, STEP_SKIP, STEP_ROLLBACK, STEP_STOP };

struct guard {
    const struct train_settings *conf;
    double *loss, *norm; /* the last good steps, a ring */
    int n, next;
};

void guard_init(struct guard *, const struct train_settings *);
void guard_clear(struct guard *);

/* what: for the event, "loss is nan", or empty.  scaled: a loss scale is in
 * force, so an overflow is nothing but a sign to lower it. */
enum verdict guard_judge(struct guard *, double loss, double norm, bool scaled,
                         char what[80]);
void guard_forget(struct guard *); /* after a rollback */

#endif
