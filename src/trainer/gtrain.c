#include "config.h"

#include "common/prog.h"
#include "trainer/cmds.h"

static const struct cmd cmds[] = {
    { "train", "", "train a model; the command when none is given",
      cmd_train_opts, cmd_train },
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
