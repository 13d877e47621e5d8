#ifndef TRAINER_SEARCH_CHILD_POOL_H
#define TRAINER_SEARCH_CHILD_POOL_H

#include <stddef.h>

#include "common/err.h"

/*
 * queue - run gtrain many times, some at a time
 *
 *      struct queue q = { .n = cells, .parallel = 2, .start = start,
 *                         .ended = ended, .arg = my };
 *      if (queue_run(&q, e) < 0) ...
 *
 * start() is asked for the words of job i's command line (without the
 * program, NULL at the end; the queue frees the array and the words) and for
 * the file that its output is appended to.  ended() hears how it ended: an
 * exit status, or 128 and the signal.
 *
 * Each job has its share of the cores (OMP_NUM_THREADS) unless the environment
 * says otherwise, and with gpus above 0 as many devices of its own
 * (CUDA_VISIBLE_DEVICES), out of those that this process sees.
 *
 * A signal that asks this process to stop is passed on as SIGTERM, so that
 * every job writes a checkpoint; no more are started, and the queue ends with
 * ERR_STOPPED when all are done.
 */
struct queue {
    size_t n;
    int parallel, gpus;
    char **(*start)(void *arg, size_t i, char **log);
    void (*ended)(void *arg, size_t i, int status);
    void *arg;
};

int queue_run(const struct queue *, struct err *);

#endif
