#pragma once

#include "trainer/ranks/rank_memory.h"
#include "trainer/settings/settings.h"

/*
 * plan_memory - the memory for training, on CPUs or GPUs, and what fits it
 *
 * The settings have been resolved; they are changed and restored.
 */
struct plan_memory {
    struct rank_memory rank;
    int64_t scratch; /* and what a GPU needs while it computes */
};

/* Find the memory for micro-batches of B sequences, on GPUs of `gib` GiB or, if
 * that is 0, on CPUs.  The scratch memory of CPUs, a few MiB, is not counted,
 * nor is the workspace that cuDNN asks for when it runs. */
void plan_memory_find(struct settings *, int ranks, enum parallel_mode,
                      int64_t B, double gib, struct plan_memory *);
int64_t plan_memory_sum(const struct plan_memory *);

/* The largest micro-batch that leaves a tenth of the memory free, and whose
 * multiples make the batch, if the settings say how large that is. */
int64_t plan_memory_batch(struct settings *, int ranks, double gib);
/* The parameters of a model whose weights, gradients and moments leave a tenth
 * of the memory free, if each takes as many bytes as in this one. */
double plan_memory_model(struct settings *, int ranks, double gib);
