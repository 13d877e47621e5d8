#pragma once

#include "trainer/model/gpt.h"
#include "trainer/plan/plan_device.h"
#include "trainer/plan/plan_memory.h"

/*
 * plan_step - the time that a step is expected to take
 *
 *      plan_step_find(&step, &rates, settings, &gpt, ranks, mode);
 *
 * One formula holds for every operation and every device.  An operation takes
 *
 *      max(FLOP / products or attention, bytes / memory)
 *      + bytes of passes before or after that / memory
 *      + numbers packed for products / pack + numbers computed / vector
 *      + parallel regions * region
 *      + FLOP that idle threads could compute while the last piece of a product
 *        is computed / products
 *
 * at the rates of plan_device.h; the last three lines are 0 on a GPU.  What
 * ranks send takes its bytes at the rate of the link.  On a GPU it overlaps
 * with the passes during which parallel.h sends it; the rest, and the
 * embedding, which is finished last, is exposed.  On a CPU it takes the time of
 * one of the threads that compute.
 */
struct plan_step {
    double seconds, compute, sending, exposed;
    double mfu;
    struct plan_memory memory;
};

/* The settings are changed and restored. */
void plan_step_find(struct plan_step *, const struct plan_rates *,
                    struct settings *, struct gpt *, int ranks,
                    enum parallel_mode);

/* The operations of a micro-step and of an update, by name. */
struct plan_work {
    const char *name;
    int calls;
    double flops, bytes, seconds;
};
enum plan_phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_COUNT };
struct plan_works {
    struct plan_work *work;
    int n, room;
    double seconds[PHASE_COUNT];
};

/* `part` is the share of the parameters that is updated.  The caller frees
 * work. */
void plan_step_list(struct plan_works *, const struct plan_rates *,
                    const struct settings *, const struct graph *, double part);
