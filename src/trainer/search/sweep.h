#ifndef TRAINER_SEARCH_SWEEP_H
#define TRAINER_SEARCH_SWEEP_H

#include <stdint.h>

#include "common/conf.h"
#include "common/err.h"
#include "common/mem.h"

/*
 * sweep - a search over settings, as a list of cells
 *
 *      struct sweep s;
 *
 *      sweep_init(&s);
 *      if (sweep_read(&s, "conf/sweep-lr.ini", e) < 0 ||
 *          sweep_grid(&s, "optim.lr=1e-2,1e-3", "--grid", e) < 0 ||
 *          sweep_expand(&s, e) < 0)
 *          return -1;
 *      for (i = 0; i < s.n_cells; i++)
 *          ... s.cell[i].value[k] of axis s.axis[k]
 *      sweep_clear(&s);
 *
 * A file is a configuration of gtrain with up to three sections more:
 *
 *      [sweep]     what follows in struct sweep
 *      [grid]      optim.lr = 1e-2, 1e-3, 1e-4
 *                  model.width = 256, 512
 *      [random]    optim.lr = loguniform(1e-4, 1e-2)
 *
 * An axis of [grid] is a list of values, or logspace(low, high, n) or
 * linspace(low, high, n); the cells are all combinations.  An axis of [random]
 * is loguniform(low, high), uniform(low, high), integer(low, high) or
 * choice(a, b, ...); `samples` draws are made, each axis from numbers of its
 * own, so that adding an axis or a sample changes no other.  With both, each
 * draw is made for each combination.  With seeds = n each of these is a cell
 * for every train.seed from the configuration's own up.
 *
 * Random draws are for searches of many axes, whose grid is too large: a budget
 * of n trainings then tries n values of every axis.  Halving trains all cells
 * for a part of the steps and only the best to the end: 9 cells in 3 rungs of
 * eta 3 take the steps of 2.3 trainings, since those that continue are resumed.
 *
 * A cell's id is made from its assignments alone: the same values have the
 * same id whatever else the sweep holds.
 */
enum sweep_method { SWEEP_ALL, SWEEP_HALVING };
enum sweep_goal { SWEEP_MIN, SWEEP_MAX };

/* A setting of every cell, and where it stands: "sweep.ini:12", "--set". */
struct sweep_set {
    const char *key, *value, *where;
};

struct sweep_axis {
    const char *key;            /* "optim.lr" */
    const char *where;
    bool random;
    const char *text;           /* as it was written */
    size_t n;                   /* of [grid]: its values */
    const char **value;
};

struct sweep_cell {
    char id[9];
    const char **value;         /* one for each axis, then the seed if any */
};

struct sweep {
    struct arena mem;
    struct conf conf;           /* of the settings below */
    const char *name;           /* folder and tag; default the file's name */
    const char *base;           /* configuration to start from, or NULL */
    const char *metric;         /* "val/loss" */
    enum sweep_goal goal;
    enum sweep_method method;
    int64_t samples, seeds, parallel, gpus;
    int64_t rungs, eta;         /* halving: each rung keeps 1 of eta */
    int64_t seed;               /* of [random] */
    struct sweep_set *set;      /* the file's own, then the caller's */
    size_t n_sets, room_sets;
    const char *account, *partition, *time, *gres, *extra;     /* Slurm */
    int64_t cpus;

    struct sweep_axis *axis;    /* a seed axis is the last, if there is one */
    size_t n_axes, room_axes;
    struct sweep_cell *cell;
    size_t n_cells;
};

enum { SWEEP_MAX_CELLS = 100000 };

void sweep_init(struct sweep *);
int sweep_read(struct sweep *, const char *path, struct err *);
/* "key=value,value"; where says who asked, for the error. */
int sweep_grid(struct sweep *, const char *assignment, const char *where,
               struct err *);
int sweep_random(struct sweep *, const char *assignment, const char *where,
                 struct err *);
int sweep_set(struct sweep *, const char *assignment, const char *where,
              struct err *);
int sweep_expand(struct sweep *, struct err *);
void sweep_clear(struct sweep *);

#endif
