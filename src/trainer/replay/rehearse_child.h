#ifndef TRAINER_REPLAY_REHEARSE_CHILD_H
#define TRAINER_REPLAY_REHEARSE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

/*
 * rehearse_child - a program that is disturbed while it runs
 *
 *      if (rehearse_start(&c, argv, "train.log", 0, e) < 0)
 *          return -1;
 *      if (rehearse_wait(&c, has_checkpoint, folder))
 *          rehearse_signal(&c, SIGTERM);
 *      status = rehearse_end(&c);
 *
 * The program and its own children, which are the ranks of a job, become
 * children of this process if their parent dies, so that rehearse_end() can
 * wait for all of them.  One that takes longer than two minutes is killed.
 */
struct rehearse_child {
    pid_t pid;
    double seconds; /* from the signal to the end */
    double signalled;
    const char *log; /* borrowed: the file with its output */
};

/* Its files may have at most so many bytes; 0 is no limit. */
int rehearse_start(struct rehearse_child *, const char *const *argv,
                   const char *log, int64_t most, struct err *);

/* Wait until a condition holds; false if the program has ended before that. */
typedef bool rehearse_cond_fn(const void *arg);
bool rehearse_wait(const struct rehearse_child *, rehearse_cond_fn *,
                   const void *arg);

/* Send a signal to the program alone, to rank 1, or to all its processes. */
void rehearse_signal(struct rehearse_child *, int sig);
bool rehearse_signal_rank(struct rehearse_child *, int sig);
void rehearse_signal_all(struct rehearse_child *, int sig);

/* The exit status of the program, or 128 plus the signal that ended it, when
 * all its processes have ended. */
int rehearse_end(struct rehearse_child *);

#endif
