#ifndef TRAINER_SEARCH_CHILD_POOL_H
#define TRAINER_SEARCH_CHILD_POOL_H

#include <stddef.h>

#include "common/err.h"

/*
 * child_pool - run gtrain many times, several at a time
 *
 *      struct child_pool p = { .n = cells, .parallel = 2, .words = words,
 *                              .ended = ended, .arg = my };
 *      if (child_pool_run(&p, e) < 0) ...
 *
 * words() returns the arguments of child i (without the program's name, NULL
 * at the end) and the file that its output is appended to; child_pool_run()
 * frees the array, the arguments and the name of the file.  ended() gets the
 * exit status, or 128 plus the signal that killed it.
 *
 * Each child gets its share of the cores (OMP_NUM_THREADS) unless the
 * environment sets that variable, and with gpus above 0 as many devices of its
 * own (CUDA_VISIBLE_DEVICES), out of those that this process sees.
 *
 * A signal that asks this process to stop is passed on as SIGTERM, so that
 * every child writes a checkpoint.  No more are started then, and
 * child_pool_run() fails with ERR_STOPPED when all have ended.
 */
struct child_pool {
    size_t n;
    int parallel, gpus;
    char **(*words)(void *arg, size_t i, char **log);
    void (*ended)(void *arg, size_t i, int status);
    void *arg;
};

int child_pool_run(const struct child_pool *, struct err *);

#endif
