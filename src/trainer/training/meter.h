#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "common/machine/nvml.h"
#include "store/write/run.h"
#include "trainer/engine/engine.h"

/*
 * meter - record the utilisation of the machine
 *
 * Every few seconds a thread reads memory and utilisation from /proc, and those
 * of a GPU from NVML, and stores them as metrics of the current step.  It takes
 * well under a millisecond each time, and training does not wait for it.  Ranks
 * above 0 keep their readings until rank 0 takes them, which stores them with
 * their own step and time.  Of more than METER_RANKS ranks, it stores the
 * least, the mean and the largest of the other ranks' values instead.
 */
enum meter_value {
    METER_CPU_UTIL,
    METER_RSS,
    METER_ALLOCATED,
    METER_RESERVED,
    METER_PEAK,
    METER_GPU,                            /* enum nvml_value */
    METER_USES = METER_GPU + NVML_VALUES, /* enum dev_use: memory, by its use */
    METER_VALUES = METER_USES + DEV_USES
};

struct meter_reading {
    double age; /* seconds; while the meter keeps it, clock_mono() */
    double step;
    double value[METER_VALUES]; /* NaN: none */
};

enum { METER_RANKS = 16 };

/* In a long step, every second reading is dropped until this many are left. */
enum { METER_KEPT = 128 };

struct meter {
    struct run *run; /* of rank 0; NULL elsewhere */
    double every;
    struct dev *dev;
    struct dev_memory memory; /* as the last step left it; under the lock */
    double peak_flops;        /* of all ranks' devices; 0: unknown */
    bool measured;            /* here, not by a data sheet or a setting */
    enum dtype type;          /* of the products */
    int ranks;
    double flops_per_token;
    atomic_llong step;
    bool running, stop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct nvml *nvml;          /* or NULL */
    struct meter_reading *kept; /* under the lock; of ranks above 0 */
    int n_kept;
};

void meter_open(struct meter *, struct engine *, struct run *);
void meter_step(struct meter *, int64_t step);
/* The readings since the last call, at most METER_KEPT: returns how many. */
int meter_take(struct meter *, struct meter_reading *out);
/* On rank 0: store the readings of the other ranks; r has `each` of every rank,
 * rank 0 included, and those whose age is NaN do not count. */
void meter_store(struct meter *, int ranks, const struct meter_reading *r,
                 int64_t each);
/* Take the last reading; what is kept can still be taken. */
void meter_stop(struct meter *);
void meter_close(struct meter *);

/* The fraction of the peak that a number of tokens a second uses, or NaN. */
double meter_mfu(const struct meter *, double tokens_per_second);
/* If that is more than all of it, other work has disturbed the measurement:
 * measure again.  The peak is at least what training reaches. */
void meter_correct_peak(struct meter *, double tokens_per_second);
