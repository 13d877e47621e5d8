#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/mem.h"
#include "plot/draw/figure.h"
#include "store/read/runs.h"

/*
 * run_set - the runs of a figure, with the colour and the name that each has in
 * every panel
 *
 * Up to eight runs have a colour each: the one that the run was given when it
 * began, unless an older run of the figure has that colour.  More runs are
 * coloured by the number in which they differ, such as the learning rate, if
 * there is one; a ramp says which colour stands for which number.  Long names
 * lose the part that is the same for all runs, and cells of sweeps are shown by
 * what was swept.
 */
struct run_set {
    const struct run_info *run;
    size_t n;
    int *slot;          /* colours */
    const char **name;  /* names, followed by the id if two are equal */
    const char **shown; /* the names in labels */
    bool labelled;      /* these are cells of sweeps: "lr 0.01, width 64" */
    struct ramp *ramp;  /* or NULL: a colour for each run, or value */
    const char **value; /* what the colours stand for: "adamw"; or NULL */
};

/* The value of a parameter or a tag, or of "name", the run's own name; "seed"
 * stands for a seed in any section if nothing has just this name. */
const char *run_set_value(const struct run_info *, const char *param);

/* Of each run, the first one with the same values of some parameters; the
 * caller frees the list. */
size_t *run_set_alike(const struct run_info *, size_t n,
                      const char *const *param, size_t n_params);
/* Do runs that are alike differ in this parameter, which is not a seed? */
bool run_set_apart(const struct run_info *, size_t n, const size_t *alike,
                   const char *key);
/* The parameters in which runs with the same values of others differ, "a, b",
 * or NULL. */
const char *run_set_mixed(const struct run_info *, size_t n,
                          const char *const *param, size_t n_params,
                          struct arena *);

/* Has one of the runs such a value? */
bool run_set_has(const struct run_set *, const char *param);

/* The arrays belong to the arena. */
void run_set_init(struct run_set *, const struct run_info *, size_t n,
                  struct arena *);

/* Colour the runs by the value of a parameter: numbers on a ramp, if there are
 * three or more, other values each by one.  ERR_MISSING if no run has it. */
int run_set_colour_by(struct run_set *, const char *param, struct arena *,
                      struct err *);

/* The one or two parameters, except seeds, of the sweep or of all, in which the
 * runs have the most different numbers; returns how many. */
size_t run_set_numbers(const struct run_set *, const char *key[2]);
