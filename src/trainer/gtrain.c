#include "config.h"

#include "common/prog.h"
#include "trainer/cmds.h"

static const struct cmd cmds[] = {
    { "train", "", "train a model; the command when none is given",
      cmd_train_opts, cmd_train },
    { "plan", "[FILE]", "count parameters, steps, memory and hours",
      cmd_plan_opts, cmd_plan },
    { "eval", "[MODEL]", "score text or questions with a trained model",
      cmd_eval_opts, cmd_eval },
    { "sample", "[MODEL]", "write text with a trained model",
      cmd_sample_opts, cmd_sample },
    { "export", "[MODEL]", "write a model for other programs",
      cmd_export_opts, cmd_export },
    { "import", "MODEL", "read a model of other programs", cmd_import_opts,
      cmd_import },
    { "bench", "[FILE]", "time steps of training, and every operation",
      cmd_bench_opts, cmd_bench },
    { "devices", "", "list what can compute here", cmd_devices_opts,
      cmd_devices },
    { "sweep", "[status] [FILE]",
      "search over settings: grids, random draws, halving", cmd_sweep_opts,
      cmd_sweep },
    { 0 }
};

static const struct prog prog = {
    .name = "gtrain",
    .summary = "Train GPTs on CPUs and GPUs, from one settings file.",
    .cmds = cmds,
    .bare = "train",
};

int main(int argc, char **argv)
{
    return prog_main(&prog, argc, argv);
}
