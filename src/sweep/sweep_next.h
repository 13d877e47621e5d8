#pragma once

#include "sweep/sweep_run.h"

/*
 * sweep_next - which cell of a sweep runs next, and up to which step
 *
 *      struct sweep_next n = { .run = s };
 *
 *      while (sweep_next_choose(&n, &cell, e) > 0) {
 *          ... run the cell up to sweep_next_stop(&n, cell); 0: to its end
 *          sweep_next_ended(&n, cell, false);
 *      }
 *      sweep_next_clear(&n);
 *
 * Without halving, these are the cells that are missing or have failed, each
 * once.  With halving, a cell runs to the end of a rung, as gtrain(1), SWEEPS,
 * and Li et al., "A system for massively parallel hyperparameter tuning" (2020)
 * describe.  Nobody waits for a rung, but as the cells are known, those of low
 * rungs run first: fewer go on that others are better than in the end.
 *
 * Several processes may run one sweep: each claims a cell in a rung by a file
 * in the folder `claims`.
 */
struct sweep_next {
    struct sweep_run *run;
    struct sweep_group *group;
    size_t n_groups;  /* that it has seen */
    int64_t told;     /* rungs whose end was reported */
    const char *what; /* groups are */
    bool complete;    /* no group can come to a rung later */
};

/* 1, or 0 if no cell can run until another one has ended; -1 for errors. */
int sweep_next_choose(struct sweep_next *, size_t *cell, struct err *);
/* Run this cell alone, to its end, whatever its state is. */
int sweep_next_take(struct sweep_next *, size_t cell, struct err *);
int64_t sweep_next_stop(const struct sweep_next *, size_t cell);
/* A cell that was stopped may be run again by any process. */
void sweep_next_ended(struct sweep_next *, size_t cell, bool stopped);
void sweep_next_clear(struct sweep_next *);
