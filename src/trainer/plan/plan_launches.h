#ifndef TRAINER_PLAN_PLAN_LAUNCHES_H
#define TRAINER_PLAN_PLAN_LAUNCHES_H

#include "trainer/plan/plan_step.h"

/*
 * plan_launches - the kernels that a GPU runs in a step, and their times
 *
 * A row for each kernel, and for each shape of a product, of a micro-step that
 * adds to the gradients of others, and of the update, with attention by cuDNN
 * and with the epilogues that cuBLASLt has for 16 bits.  Rates are those of
 * plan_step.h.
 */
void plan_launches_columns(struct table *);
void plan_launches_add(const struct plan_step *, struct settings *,
                       struct gpt *, const char *file, struct table *);

#endif
