#ifndef TRAINER_SEARCH_CHILD_POOL_H
#define TRAINER_SEARCH_CHILD_POOL_H

#include <stddef.h>

#include "common/err.h"

/*
 * child_pool - run gtrain many times, several at a time
 *
 *      struct child_pool p = { .n = cells, .parallel = 2, .argv = cell_argv,
 *                              .ended = cell_ended, .arg = my };
 *      if (child_pool_run(&p, e) < 0) ...
 *
 * argv() returns the name and the arguments of child i, ended by NULL, and the
 * file that its output is appended to; child_pool_run() frees the strings and
 * the array.  ended() gets the exit status, or 128 plus the signal that killed
 * the child.
 *
 * Each child gets its share of the cores (OMP_NUM_THREADS), unless the
 * environment sets that variable.  If gpus is above 0, each child gets as many
 * of the devices that this process sees (CUDA_VISIBLE_DEVICES).
 *
 * A signal that asks this process to stop is passed on as SIGTERM, so that
 * every child writes a checkpoint.  No more are started then, and
 * child_pool_run() fails with ERR_STOPPED when all have ended.
 */
struct child_pool {
    size_t n;
    int parallel, gpus;
    char **(*argv)(void *arg, size_t i, char **log);
    void (*ended)(void *arg, size_t i, int status);
    void *arg;
};

int child_pool_run(const struct child_pool *, struct err *);

#endif
