#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

/*
 * rehearse_child - a program that is disturbed while it runs
 *
 *      if (rehearse_start(&c, argv, "train.log", 0, e) < 0)
 *          return -1;
 *      while (!condition)
 *          if (!rehearse_wait(&c))
 *              break;
 *      rehearse_signal(&c, REHEARSE_PROGRAM, SIGTERM);
 *      status = rehearse_end(&c);
 *
 * The program and its own children, which are the ranks of a job, become
 * children of this process if their parent dies, so that rehearse_end() can
 * wait for all of them.  One that takes longer than two minutes is killed.
 */
struct rehearse_child {
    pid_t pid;
    double start;
};

enum rehearse_target { REHEARSE_PROGRAM, REHEARSE_RANK /* 1 */, REHEARSE_ALL };

/* The output goes to the file `log`.  The program's files may have at most so
 * many bytes; 0 is no limit. */
int rehearse_start(struct rehearse_child *, const char *const *argv,
                   const char *log, int64_t most, struct err *);

/* Wait for a moment; false if the program has ended or takes too long. */
bool rehearse_wait(const struct rehearse_child *);

void rehearse_signal(const struct rehearse_child *, enum rehearse_target,
                     int sig);

/* The exit status of the program, or 128 plus the signal that ended it, when
 * all its processes have ended. */
int rehearse_end(const struct rehearse_child *);
