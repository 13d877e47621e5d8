#pragma once

#include <stdint.h>

#include "common/buf.h"
#include "common/conf.h"
#include "common/err.h"
#include "common/mem.h"

/*
 * sweep - combinations of settings, as a list of cells
 *
 *      struct sweep s;
 *
 *      sweep_init(&s, "train.seed");
 *      if (sweep_read(&s, "conf/sweep-lr.ini", e) < 0 ||
 *          sweep_assign(&s, SWEEP_GRID, "lr=1e-2,1e-3", "--grid", e) < 0 ||
 *          sweep_expand(&s, e) < 0)
 *          return -1;
 *      for (i = 0; i < s.n_cells; i++)
 *          ... s.cell[i].value[k] of axis s.axis[k]
 *      sweep_clear(&s);
 *
 * gtrain(1), SWEEPS, describes the file, the axes of [grid] and [random], and
 * the cells that follow from them; the settings of [sweep] and [slurm] are
 * members of struct sweep.  Each axis of [random] has a stream of numbers of
 * its own, so that adding an axis or a sample changes no other value.  With
 * sampler = tpe, cells are added while the sweep runs (sweep_tpe.c); with
 * halving, only the best groups are trained to the end (sweep_next.h).
 *
 * A file whose name ends in .yaml or .yml is a sweep of W&B (sweep_wandb.c).
 *
 * A cell's id depends on its values alone, so it stays the same when other
 * cells are added.
 */
enum sweep_method { SWEEP_ALL, SWEEP_HALVING };
enum sweep_sampler { SAMPLER_RANDOM, SAMPLER_TPE };
enum sweep_goal { SWEEP_MIN, SWEEP_MAX };

/* A setting of every cell, and where it was set: "sweep.ini:12", "--set". */
struct sweep_set {
    const char *key, *value, *where;
};

/* Of a random axis; the last two have a limited number of values. */
enum sweep_range { RANGE_LOG, RANGE_UNIFORM, RANGE_INTEGER, RANGE_CHOICE };

struct sweep_axis {
    const char *key; /* "optim.lr" */
    const char *where;
    bool random;
    const char *range; /* "uniform"; "" for a list */
    size_t n_args;
    const char **arg; /* of the range */
    enum sweep_range kind;
    double low, high; /* of the values, or of the indices of choices */
    size_t n;
    const char **value; /* of a random axis: the samples */
    size_t when;        /* the axis that this one depends on */
    size_t n_when;      /* 0: it does not */
    const char **when_value;
};

struct sweep_cell {
    char id[9];
    const char **value; /* one for each axis; "": it has none */
    size_t group;
    uint64_t hash; /* of the values but the seed */
    int64_t tried; /* the rungs that it has been tried in */
    bool busy;     /* this process runs it */
    bool ended;    /* the last try has ended, as its claim says */
};

struct sweep {
    struct arena mem;
    struct conf conf;   /* of the settings below */
    const char *name;   /* of the file, unless it is set */
    const char *base;   /* configuration to start from, or "" */
    const char *metric; /* "val/loss" */
    enum sweep_goal goal;
    enum sweep_method method;
    enum sweep_sampler sampler;
    int64_t samples, seeds, parallel, gpus, ranks;
    int64_t rungs, eta;    /* halving: one cell of eta continues */
    int64_t steps;         /* halving: those of a whole training, or 0 */
    bool resume;           /* a cell that is tried again continues */
    double drop;           /* or the groups not worse, but for this error */
    int64_t seed;          /* of [random] */
    struct sweep_set *set; /* those of the file come first */
    size_t n_sets, room_sets;
    const char *account, *partition, *time, *gres, *extra; /* Slurm */
    int64_t cpus, signal;

    const char **command; /* of W&B's file, with {key} for a value */
    size_t n_command;
    const char *seed_key; /* the setting that seeds are values of */

    struct sweep_axis *axis; /* that of the seed, if any, is the last */
    size_t n_axes, room_axes;
    const char *keys; /* of the axes, with spaces between them */
    struct sweep_cell *cell;
    size_t n_cells, n_groups;
    size_t *slot, n_slots, n_placed; /* cells by hash, counted from 1 */
    size_t most_cells;               /* when all values are chosen */
};

/* With sampler = tpe: the groups before the first choice. */
enum { SWEEP_MAX_CELLS = 100000, SWEEP_FIRST_SAMPLES = 10 };

void sweep_init(struct sweep *, const char *seed_key);
int sweep_read(struct sweep *, const char *path, struct err *);
/* Add "key=value,value" to [grid] or [random], or change a setting by
 * "key=value"; `where` is the file and line, or the option, for errors. */
enum sweep_part { SWEEP_GRID, SWEEP_RANDOM, SWEEP_SET };
int sweep_assign(struct sweep *, enum sweep_part, const char *assignment,
                 const char *where, struct err *);
/* Add what a file or an option says: an axis, of the grid or random as the new
 * axis says, or a setting. */
int sweep_axis_add(struct sweep *, const struct sweep_axis *, struct err *);
int sweep_put(struct sweep *, const char *key, const char *value,
              const char *where, struct err *);
/* The file of a sweep of W&B. */
int sweep_read_wandb(struct sweep *, const char *path, struct err *);
int sweep_expand(struct sweep *, struct err *);
/* Add cells with these values of the axes, one for each seed, unless there are
 * such. */
void sweep_add_group(struct sweep *, const char **value);
/* Add the cells of another sweep over the same axes, and take its memory. */
int sweep_add(struct sweep *, struct sweep *more, struct err *);
/* The value at a place in the range of a random axis, from 0 to below 1. */
const char *sweep_value_at(struct sweep *, const struct sweep_axis *,
                           double place);
/* Choose the values of a group by those of n groups, the best first, of which
 * each is named by one of its cells.  The choice depends on these, the seed and
 * the number of the group alone. */
void sweep_tpe_draw(struct sweep *, const size_t *cell, size_t n,
                    uint64_t number, const char **value);
/* The value of an axis, or else of a setting of all cells; NULL if there is no
 * such key. */
const char *sweep_value(const struct sweep *, size_t cell, const char *key);
/* Append a text, in which {key} stands for a value that a function appends, and
 * {{key}} for {key}; the function returns false if there is no such key. */
typedef bool sweep_value_fn(void *arg, const char *key, size_t n,
                            struct buf *out);
int sweep_fill(struct buf *out, const char *text, sweep_value_fn *, void *arg,
               struct err *);
/* "grid-lr=0.01-width=64", which begins with a text and has the keys of several
 * values; the caller frees it. */
char *sweep_cell_name(const struct sweep *, size_t cell, const char *begin);
void sweep_clear(struct sweep *);
