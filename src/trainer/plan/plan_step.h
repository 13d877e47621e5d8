#pragma once

#include <stdbool.h>

#include "common/err.h"
#include "trainer/device/hardware.h"
#include "trainer/model/gpt.h"
#include "trainer/model/graph.h"
#include "trainer/ranks/parallel.h"

/*
 * plan_device - the rates of a device, looked up or measured
 *
 *      struct plan_device d;
 *      struct plan_rates r;
 *
 *      if (plan_device_find(&d, "h100", e) < 0 ||
 *          plan_device_network(&d, "400Gb", e) < 0 ||
 *          plan_device_open(&d, settings, type, e) < 0)
 *          return -1;
 *      for (int i = 0; plan_device_rates(&d, settings, ranks, i, &r); i++)
 *          ...
 *
 * The rates of a GPU are shares of those in its data sheet (hardware.h);
 * machines have eight GPUs.  Eight rates of a CPU, with one or two threads, are
 * measured or given by plan.cpu_rates, and all others follow from them:
 *
 *   - n threads compute n / 2 times as fast as two, so what a second thread
 *     costs the first, in clock rate for example, is paid once.
 *   - The memory's rate B saturates: 1 / B(n) = 1 / (n b) + 1 / S, where b and
 *     S follow from B(1) and B(2).
 *   - A parallel region takes n / 2 times as long as with two threads, which
 *     count themselves at its end one after another.
 *   - Ranks divide the rates of all cores that they use.
 */
enum { PLAN_CPU_RATES = 8, PLAN_CPU_COUNTS = 16 };

struct plan_device {
    struct hardware gpu;          /* without a name: this CPU */
    double network;               /* bytes/s of each rank, between machines */
    double cpu[PLAN_CPU_RATES];   /* as in plan.cpu_rates */
    int threads[PLAN_CPU_COUNTS]; /* the numbers of threads to calculate for */
    int n_threads;                /* 0: as many as training would use here */
};

enum plan_limit { LIMIT_PRODUCTS, LIMIT_FP8, LIMIT_ATTENTION, LIMIT_COUNT };

/* The rates of a rank. */
struct plan_rates {
    const char *name;
    bool is_cpu;
    int threads;               /* of a GPU 1 */
    double gib;                /* of memory */
    double peak;               /* FLOP/s at an MFU of 1 */
    double flops[LIMIT_COUNT]; /* FLOP/s */
    double memory, link;       /* bytes/s; to another rank */
    /* Only of a CPU: numbers/s that are packed for products, and that an
     * activation is applied to; seconds of a parallel region. */
    double pack, vector, region;
};

/* The device of this name, such as cpu, h100, A100 or a100-80gb. */
int plan_device_find(struct plan_device *, const char *name, struct err *);
/* "400Gb": bits per second. */
int plan_device_network(struct plan_device *, const char *rate, struct err *);
/* "1,2,4,64": calculate for these numbers of threads of each rank. */
int plan_device_threads(struct plan_device *, const char *list, struct err *);
/* Check that the device can compute what the settings ask for, and measure the
 * CPU with products of this type, unless the settings have its rates. */
int plan_device_open(struct plan_device *, const struct settings *, enum dtype,
                     struct err *);
/* The rates with the i-th number of threads, on a machine with a core for each
 * thread of all ranks, or, if no numbers are given, on this one; false if there
 * are fewer numbers. */
bool plan_device_rates(const struct plan_device *, const struct settings *,
                       int ranks, int i, struct plan_rates *);

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
 * at these rates; the last three lines are 0 on a GPU.  What ranks send takes
 * its bytes at the rate of the link.  On a GPU it overlaps with the passes
 * during which parallel.h sends it; the rest, and the embedding, which is
 * finished last, is exposed.  On a CPU it takes the time of one of the threads
 * that compute.
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

/* The row of an operation, which is added if there is none. */
struct plan_work *plan_works_find(struct plan_works *, const char *name);

/* `part` is the share of the parameters that is updated.  The caller frees
 * work. */
void plan_step_list(struct plan_works *, const struct plan_rates *,
                    const struct settings *, const struct graph *, double part);
