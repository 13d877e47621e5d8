#pragma once

#include "kernels/dev.h"
#include "trainer/settings/settings.h"

/*
 * rank_memory - the memory that ranks will need for training
 *
 * It follows from the layout that training uses; nothing is allocated.  The
 * settings have been resolved; they are changed and restored.
 */
struct rank_memory {
    int64_t bytes[DEV_MODEL_USES]; /* of the rank that needs most */
    int64_t scratch;               /* what a GPU needs besides: plan_step.h */
    int64_t sent;                  /* bytes per step, averaged over ranks */
};

/* For micro-batches of B sequences, without scratch memory. */
void rank_memory_find(struct settings *, int ranks, enum parallel_mode,
                      int64_t B, struct rank_memory *);
int64_t rank_memory_sum(const struct rank_memory *);

/* Warn if `local` of the ranks, on CPUs of this machine, need more memory than
 * the machine has or than a control group allows: where the kernel kills a
 * process for that, it leaves no message. */
void rank_memory_warn(struct settings *, int ranks, int local);
