/*
 * gtrack sweep - run a command for each combination of values
 */
#include "config.h"

#include "common/opt.h"
#include "sweep/sweep_command.h"
#include "track/runs/track.h"
#include "track/sweep_cells.h"

static const char *file, *experiment;
static struct sweep_command command = SWEEP_COMMAND_INIT;

static const struct opt sweep_opts[] = {
    TRACK_OPT_ROOT,
    { 'c', "config", "file", OPT_STRING, &file,
      "read the sweep from FILE, which may be one of W&B" },
    { 'e', "experiment", "name", OPT_STRING, &experiment,
      "create the runs in this experiment (default: Default)" },
    SWEEP_OPTS(command),
    SWEEP_OPT_RANDOM(command, 0),
    { 0 }
};

static int sweep_main(int argc, char **argv, struct err *e)
{
    const char *action = sweep_command_action(argc, argv);
    const int at = action[0] != '\0';
    struct sweep_cells cells = {
        .root = track_store(),
        .experiment = experiment,
        .file = file,
        .command = (const char *const *)argv + at,
        .n = (size_t)(argc - at),
    };
    struct sweep_run s = SWEEP_RUN_INIT(&sweep_cells_program);
    int ret;

    s.arg = &cells;
    sweep_init(&s.sweep, "seed");
    ret = sweep_command_read(&s, &command, file, e);
    if (cells.n == 0) {
        cells.command = s.sweep.command;
        cells.n = s.sweep.n_command;
    }
    if (ret == 0)
        ret = sweep_command_run(&s, &command, action, e);
    sweep_run_close(&s);
    return ret;
}

const struct cmd cmd_sweep = {
    .name = "sweep",
    .args = "[status|report] [-- COMMAND...]",
    .help = "run a command for each combination of values",
    .opts = sweep_opts,
    .run = sweep_main,
};
