#ifndef TRACK_SWEEP_CELLS_H
#define TRACK_SWEEP_CELLS_H

#include "sweep/sweep_run.h"

/*
 * sweep_cells - a command that is run with the values of each cell
 *
 *      struct sweep_cells cells = { .command = words, .n = 3 };
 *      struct sweep_run s = SWEEP_RUN_INIT(&sweep_cells_program);
 *
 *      s.arg = &cells;
 *
 * In each word of the command, {key} stands for the cell's value of an axis or
 * a setting, and {sweep.cell}, {sweep.folder} and {sweep.steps} for the cell's
 * id, the folder for its files, and the step to which it trains; {{key}} is the
 * text {key}.  The environment has the same values as GTRACK_VALUE_KEY, in
 * capital letters and with _ for other characters, and all of them as JSON in
 * GTRACK_SWEEP_VALUES.
 *
 * The run of a cell is created before its command starts, which takes it over
 * (run_take_handed()).  When a cell is tried again, the points of its run are
 * retracted, unless sweep.resume is set.  When the command has ended, a run
 * that it left open ends as the command did.
 */
struct sweep_cells {
    const char *root, *experiment; /* or NULL */
    const char *file;              /* of the sweep, or NULL */
    const char *const *command;
    size_t n;
};

extern const struct sweep_run_program sweep_cells_program;

#endif
