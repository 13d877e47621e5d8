#pragma once

#include "common/opt.h"
#include "sweep/sweep_run.h"

/*
 * sweep_command - what the commands named sweep have in common
 *
 *      static struct sweep_command command = SWEEP_COMMAND_INIT;
 *      static const struct opt sweep_opts[] = {
 *          SWEEP_OPTS(command),
 *          SWEEP_OPT_RANDOM(command, 'r'),
 *          { 0 }
 *      };
 *      struct sweep_run s = SWEEP_RUN_INIT(&program);
 *
 *      sweep_init(&s.sweep, "seed");
 *      if (sweep_command_read(&s, &command, e) == 0)
 *          ret = sweep_command_run(&s, &command, action, e);
 *      sweep_run_close(&s);
 *
 * The action is "status", "report", or "" to run the cells that are missing or
 * have failed.
 */
struct sweep_command {
    const char *file, *folder, *by;
    struct opt_list part[SWEEP_SET + 1]; /* by enum sweep_part */
    int64_t seeds, parallel, cell;
    bool dry_run, to_slurm, join;
    struct table_style style;
};

/* clang-format off */
#define SWEEP_COMMAND_INIT ((struct sweep_command){ .cell = -1 })

/* The letter is 0 where it stands for another option. */
#define SWEEP_OPT_RANDOM(c, letter) \
    { letter, "random", "key=range", OPT_LIST, &(c).part[SWEEP_RANDOM], \
      "add an axis with random values (may be given many times)" }
#define SWEEP_OPTS(c) \
    { 'g', "grid", "key=a,b", OPT_LIST, &(c).part[SWEEP_GRID], \
      "add an axis of the grid (may be given many times)" }, \
    { 's', "set", "key=value", OPT_LIST, &(c).part[SWEEP_SET], \
      "change a setting of every cell, or of [sweep] and [slurm]" }, \
    { 'n', "seeds", "count", OPT_LONG, &(c).seeds, \
      "run each cell with COUNT different seeds" }, \
    { 'j', "parallel", "count", OPT_LONG, &(c).parallel, \
      "run COUNT cells at the same time" }, \
    { 'o', "folder", "dir", OPT_STRING, &(c).folder, \
      "keep the cells' files in DIR (default: sweeps/NAME)" }, \
    { 0, "slurm", NULL, OPT_FLAG, &(c).to_slurm, \
      "submit the cells to Slurm as one array job" }, \
    { 0, "cell", "number", OPT_LONG, &(c).cell, \
      "run only the cell with this number" }, \
    { 0, "join", NULL, OPT_FLAG, &(c).join, \
      "run cells beside other processes that run this sweep" }, \
    { 0, "by", "key", OPT_STRING, &(c).by, \
      "with report, use this axis (default: optim.lr, or the first)" }, \
    { 0, "dry-run", NULL, OPT_FLAG, &(c).dry_run, \
      "print the table of the cells and run nothing" }, \
    TABLE_OPTS((c).style)
/* clang-format on */

/* Which of the actions the first argument is; "" if it is none of them. */
const char *sweep_command_action(int argc, char **argv);
/* Read the file, if there is one, and the options. */
int sweep_command_read(struct sweep_run *, const struct sweep_command *,
                       struct err *);
int sweep_command_run(struct sweep_run *, const struct sweep_command *,
                      const char *action, struct err *);
