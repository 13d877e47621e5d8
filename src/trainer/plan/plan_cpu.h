#ifndef TRAINER_PLAN_PLAN_CPU_H
#define TRAINER_PLAN_PLAN_CPU_H

#include <stdbool.h>

#include "common/err.h"
#include "trainer/device/hardware.h"
#include "trainer/model/graph.h"
#include "trainer/settings/settings.h"

/*
 * plan_cpu - the rates of a CPU, and what they become with many threads
 *
 *      if (plan_cpu_open(&c, s, type, e) < 0)
 *          return -1;
 *      for (int i = 0; plan_cpu_use(&c, s, ranks, i); i++)
 *          ...
 *
 * Eight rates of one thread or of two are measured, or plan.cpu_rates has them.
 * All others follow:
 *
 *   - n threads compute n / 2 times as fast as two, so what a second thread
 *     costs the first, in clock rate for example, is paid once.
 *   - The memory's rate B saturates: 1 / B(n) = 1 / (n b) + 1 / S, where b and
 *     S follow from B(1) and B(2).
 *   - A parallel region takes n / 2 times as long as with two threads, which
 *     count themselves at its end one after another.
 *   - What cannot be divided evenly among the threads waits for the last piece.
 *   - Ranks divide the rates of all cores that they use.
 */
enum plan_cpu_rate {
    CPU_PRODUCT,   /* a large product of matrices, FLOP/s */
    CPU_PRODUCT_2, /* the same of two threads */
    CPU_PACK,      /* operands of products copied to their order, numbers/s */
    CPU_VECTOR,    /* activations in the cache, numbers/s */
    CPU_MEMORY,    /* bytes/s read and written */
    CPU_MEMORY_2,  /* the same of two threads */
    CPU_REGION_2,  /* parallel regions of two threads, 1/s */
    CPU_SEND,      /* bytes/s sent and received between two ranks */
    CPU_RATES
};

enum { CPU_COUNTS = 16 };

struct plan_cpu {
    double rate[CPU_RATES];
    int counts[CPU_COUNTS]; /* the numbers of threads to calculate for */
    int n_counts;           /* 0: what training would use on this machine */
    int threads;            /* of a rank: one of these */
    /* What a rank has of them all: */
    double product, pack, vector, region;
    struct hardware hardware;
};

/* The rates that plan.cpu_rates gives, or those of this machine for products of
 * this type. */
int plan_cpu_open(struct plan_cpu *, const struct settings *, enum dtype,
                  struct err *);
/* "1,2,4,64": calculate for these numbers of threads of each rank. */
int plan_cpu_threads(struct plan_cpu *, const char *list, struct err *);
/* Set what follows from the rates for the i-th number of threads, on a machine
 * with as many cores as all ranks have threads, or, if no numbers are given, on
 * this one; false if there are fewer numbers. */
bool plan_cpu_use(struct plan_cpu *, const struct settings *, int ranks, int i);
/* The seconds of a call besides those of its floating-point operations, or of
 * its bytes, at the rates of c->hardware. */
double plan_cpu_more(const struct plan_cpu *, const struct graph *, int call);

#endif
