#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/output/table.h"
#include "store/read/runs.h"
#include "store/write/run.h"
#include "sweep/sweep.h"

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

/*
 * sweep_run - the files of a sweep, and the progress of its cells
 *
 *      struct sweep_run s = SWEEP_RUN_INIT(&program);
 *
 *      ... fill s.sweep, sweep_expand(&s.sweep, e), s.folder = ...
 *      if (sweep_run_open(&s, e) < 0 ||
 *          sweep_run_begin(&s, true, e) < 0 ||    checked, written, running
 *          sweep_run_look(&s, e) < 0)
 *          return -1;
 *      ... s.outcome[i].state is the state of cell i
 *      sweep_run_end(&s, stopped, e);             record it in the parent
 *      sweep_run_close(&s);
 *
 * The folder of a sweep holds
 *
 *      manifest.tsv    one line for each cell
 *      cells/ID.ini    the configuration of a cell of gtrain
 *      cells/ID.log    its output
 *      cells/ID/       its own files, such as checkpoints
 *      claims/         which cells processes have begun (sweep_next.h)
 *      draws/          values that were chosen by results
 *      parent          the id of the run that the cells are children of
 *
 * The state of a cell is not kept there, but read from the store, where the
 * cell is a run with the tags sweep and sweep.cell.
 *
 * sweep_run_begin() checks all cells before the first one starts.  If one of
 * them cannot run, nothing is written.  It is ERR_BUSY if another process runs
 * the same sweep: then that one's parent is being written.
 *
 * The parent is RUNNING while the sweep runs on this machine, and SCHEDULED
 * while its cells wait for other processes to run them.  Then it is FINISHED if
 * all cells are done, FAILED if one has failed, and KILLED if the sweep was
 * stopped.
 */
enum cell_state { CELL_MISSING, CELL_FAILED, CELL_RUNNING, CELL_DONE };

/* The run of a cell, as it is in the store. */
struct outcome {
    enum cell_state state;
    const struct run_info *run; /* NULL: none */
    double best;                /* value of the metric, or NaN */
    int64_t step;               /* the last one */
};

struct sweep_run;

/* The functions of a program that know its cells; arg is sweep_run.arg. */
struct sweep_run_program {
    /* Set sweep_run.root and sweep_run.experiment. */
    int (*open)(struct sweep_run *, struct err *);
    /* Check the cells from a number on, and set most_steps if the sweep is one
     * by halving. */
    int (*check)(struct sweep_run *, size_t from, struct err *);
    /* Write the files that a cell needs; or NULL. */
    int (*write)(struct sweep_run *, size_t cell, struct err *);
    /* How to run a cell up to a step; 0: to its end. */
    int (*start)(struct sweep_run *, size_t cell, int64_t stop_at,
                 struct child *, struct err *);
    /* It has ended; or NULL. */
    int (*ended)(struct sweep_run *, size_t cell, int64_t stop_at, int status,
                 struct err *);
    /* The program's own arguments that describe this sweep. */
    void (*describe)(const struct sweep_run *, struct buf *words);
};

struct sweep_run {
    const struct sweep_run_program *program;
    void *arg; /* the program's own */
    struct sweep sweep;
    char *folder, *root, *experiment;
    int64_t began_ms;
    char *parent;    /* id of the run, or NULL */
    struct run *own; /* the same run, while this process runs cells */
    struct runs runs;
    bool looked;
    struct outcome *outcome;     /* one for each cell */
    size_t count[CELL_DONE + 1]; /* cells of each state */
    int64_t most_steps;          /* of a cell; set by sweep_run_begin() */
    uint64_t draws;              /* groups that were chosen by results */
};

#define SWEEP_RUN_INIT(p) ((struct sweep_run){ .program = (p) })

/* The path of a cell's file, such as ".log"; the caller frees it. */
char *sweep_run_cell_path(const struct sweep_run *, size_t cell,
                          const char *end);

/* Find the store of an expanded sweep, and its parent if there is one. */
int sweep_run_open(struct sweep_run *, struct err *);
/* Check every cell, write the folder, and find or create the parent.  `runs`:
 * this process will run the cells, and others only those that they claim. */
int sweep_run_begin(struct sweep_run *, bool runs, struct err *);
/* Read the outcome of each cell from the store. */
int sweep_run_look(struct sweep_run *, struct err *);
/* Set the status of the parent from these outcomes. */
int sweep_run_end(struct sweep_run *, bool stopped, struct err *);
void sweep_run_close(struct sweep_run *);

/* Are there groups to choose by the results?  Add the next one, chosen by those
 * of n groups (sweep_tpe_draw()) unless an earlier command has chosen it. */
bool sweep_run_may_draw(const struct sweep_run *);
int sweep_run_draw(struct sweep_run *, const size_t *cell, size_t n,
                   struct err *);
/* Check the cells that were added, from a number on, and write their files. */
int sweep_run_add(struct sweep_run *, size_t from, struct err *);

/* Is a better than b?  A number is better than NaN. */
bool sweep_run_better(const struct sweep *, double a, double b);
