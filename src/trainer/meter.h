#ifndef TRAINER_METER_H
#define TRAINER_METER_H

#include <pthread.h>
#include <stdatomic.h>

#include "store/run.h"
#include "trainer/job.h"

/*
 * meter - how much of the machine is used
 *
 * A thread of its own wakes every few seconds, reads memory and utilisation
 * from /proc (and of GPUs from NVML, where there is one) and stores them under
 * the step that training has reached.  It takes well under a millisecond each
 * time, and training does not wait for it.
 */
struct meter {
    struct run *run;
    int rank, size;
    double every;
    size_t allocated;  /* bytes of the regions */
    double peak_flops; /* of the device; 0: unknown */
    double flops_per_token;
    atomic_llong step;
    bool running, stop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct nvml *nvml; /* or NULL */
};

void meter_open(struct meter *, struct job *, struct run *);
void meter_step(struct meter *, int64_t step);
void meter_close(struct meter *);

/* Part of the device's peak that so many tokens a second are, or NaN. */
double meter_mfu(const struct meter *, double tokens_per_second);

/* The rate of a large matrix product, in operations a second. */
double meter_measure_peak(struct dev *, enum dtype);

#endif
