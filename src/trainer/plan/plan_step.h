#ifndef TRAINER_PLAN_PLAN_STEP_H
#define TRAINER_PLAN_PLAN_STEP_H

#include <stdbool.h>

#include "common/err.h"
#include "common/output/table.h"
#include "trainer/device/hardware.h"
#include "trainer/model/gpt.h"
#include "trainer/plan/plan_cpu.h"

/*
 * plan_step - the expected time of a step on a kind of GPU, or on a CPU
 *
 * An operation takes as long as its floating-point operations at a part of the
 * peak rate, or as its bytes at a part of the rate of the memory, whichever is
 * longer.  What ranks send takes its bytes at a part of the rate of the link
 * between GPUs of one machine, or of the network if there are several machines.
 * It overlaps with the passes during which parallel.h sends it; the rest, and
 * the embedding, which is finished last, is exposed.  Nothing is measured.
 *
 * On a CPU, whose rates are those of plan_cpu.h, operations take what
 * plan_cpu_more() adds, too.  What is sent in the background takes the time of
 * one of the threads that compute.
 */
struct plan_step {
    const struct hardware *device;
    struct plan_cpu *cpu; /* whose rates the device has; NULL: a GPU */
    double network;       /* bytes per second of each GPU, between machines */
    int ranks;
};

/* The device of this name, such as cpu, h100, A100 or a100-80gb.  s->cpu is
 * where the rates of a CPU will be; it becomes NULL for others. */
int plan_step_device(struct plan_step *, const char *name, struct err *);
/* Whether the device can compute what the settings ask for. */
int plan_step_check(const struct plan_step *, const struct settings *,
                    struct err *);
/* "400Gb": bits per second, for each GPU. */
int plan_step_network(struct plan_step *, const char *rate, struct err *);

/* For each parameter, the gradient, the weight and the moments are read; the
 * last two are also written, and the 16-bit weight. */
double plan_step_update_bytes(const struct settings *, const struct graph *);

/* A row for each value of parallel.mode. */
void plan_step_columns(const struct plan_step *, struct table *);
void plan_step_add(const struct plan_step *, struct settings *, struct gpt *,
                   const char *file, struct table *);

/* What limits a kernel, if not its bytes. */
enum plan_rate { RATE_PRODUCTS, RATE_FP8, RATE_ATTENTION };
double plan_step_seconds(const struct plan_step *, const struct settings *,
                         enum plan_rate, double flops, double bytes);

/* The work of an operation, and a list of these. */
struct plan_work {
    const char *name;
    int calls;
    double flops, bytes, seconds;
    bool backward;
};
struct plan_works {
    struct plan_work *all;
    int n, room;
};

/* Add to the work with this name. */
void plan_works_add(struct plan_works *, const struct plan_work *);
/* A row for each, and the sum. */
void plan_works_rows(const struct plan_works *, const char *file,
                     struct table *);

/* A row for each operation of a micro-step and of the update, and the sum. */
void plan_step_operation_columns(struct table *);
void plan_step_add_operations(const struct plan_step *, struct settings *,
                              struct gpt *, const char *file, struct table *);

#endif
