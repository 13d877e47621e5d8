#pragma once

#include <stddef.h>

#include "common/err.h"
#include "common/mem.h"

/*
 * child_pool - run many commands, several at a time
 *
 *      struct child_pool p = { .parallel = 2, .start = start_cell,
 *                              .ended = cell_ended, .arg = my };
 *      if (child_pool_run(&p, e) < 0) ...
 *
 * start() describes the next child: its number, the file that it executes, its
 * arguments and variables, and the file that its output is appended to.  It is
 * asked again when a child has ended, or now and then, if it answers that there
 * is none at present; the pool ends when it says so while no child runs.
 * ended() gets the exit status, or 128 plus the signal that killed the child;
 * the status of a program that does not exist is 127.  If either fails, no more
 * children are started, and the others are asked to stop.
 *
 * Each child gets its share of the cores (OMP_NUM_THREADS), and on a machine
 * with several NUMA nodes its nodes (OMP_PLACES, see cores_place()), unless the
 * environment sets these variables.  If gpus is above 0, each child gets as
 * many of the devices that this process sees (CUDA_VISIBLE_DEVICES).
 * While a child lives, the file `beats` is touched every `beat_secs`.
 *
 * A signal that asks this process to stop is passed on as SIGTERM, so that
 * every child can save its state, and what is left after `grace` seconds is
 * killed.  No more are started then, and child_pool_run() fails with
 * ERR_STOPPED when all have ended.
 */
struct child {
    struct arena mem;    /* of all that follows */
    const char *program; /* a path, or a name to look up in PATH */
    char **arg;
    char **env; /* "NAME=value" */
    size_t n_args, n_env;
    const char *log;
    const char *beats;     /* or NULL */
    double beat_secs, due; /* due is set by the pool */
    size_t number;
};

/* With CHILD_LATER, there may be more also if none runs. */
enum { CHILD_STARTS, CHILD_NONE, CHILD_LATER };

/* Add an argument, the first of which is the program's name, or a
 * variable; the text is copied. */
void child_arg(struct child *, const char *text);
void child_env(struct child *, const char *text);

struct child_pool {
    int parallel, gpus;
    double grace;
    /* One of the answers above, or -1. */
    int (*start)(void *arg, struct child *, struct err *);
    int (*ended)(void *arg, size_t i, int status, struct err *);
    void *arg;
};

int child_pool_run(const struct child_pool *, struct err *);
