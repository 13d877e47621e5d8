#pragma once

#include "trainer/model/gpt.h"
#include "trainer/plan/plan_device.h"
#include "trainer/ranks/rank_memory.h"

/*
 * plan_step - the time that a step is expected to take, and its memory
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
 *
 * The settings have been resolved; the functions change and restore them.
 */
/* Find the memory for micro-batches of B sequences, on GPUs of `gib` GiB or, if
 * that is 0, on CPUs.  The scratch memory of CPUs, a few MiB, is not counted,
 * nor is the workspace that cuDNN asks for when it runs. */
void plan_memory_find(struct settings *, int ranks, enum parallel_mode,
                      int64_t B, double gib, struct rank_memory *);

/* The largest micro-batch that leaves a tenth of the memory free, and whose
 * multiples make the batch, if the settings say how large that is. */
int64_t plan_memory_batch(struct settings *, int ranks, double gib);
/* The parameters of a model whose weights, gradients and moments leave a tenth
 * of the memory free, if each takes as many bytes as in this one. */
double plan_memory_model(struct settings *, int ranks, double gib);

struct plan_step {
    double seconds, compute, sending, exposed;
    double mfu;
    struct rank_memory memory;
};

void plan_step_find(struct plan_step *, const struct plan_rates *,
                    struct settings *, struct gpt *, int ranks,
                    enum parallel_mode);

/* The operations of a micro-step and of an update, by name. */
struct plan_work {
    const char *name;
    int calls;
    double flops, bytes, seconds;
};
enum plan_phase { PLAN_FORWARD, PLAN_BACKWARD, PLAN_UPDATE, PLAN_PHASES };
struct plan_works {
    struct plan_work *work;
    int n, room;
    double seconds[PLAN_PHASES];
};

/* `part` is the share of the parameters that is updated.  The caller frees
 * work. */
void plan_step_list(struct plan_works *, const struct plan_rates *,
                    const struct settings *, const struct graph *, double part);
