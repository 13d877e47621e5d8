/*
 * gdata - corpora to files of tokens
 */
#include "config.h"
#include "common/prog.h"
#include "data/cmds.h"

static const struct cmd cmds[] = { { "info", "FILE...",
                                     "say what files of tokens or text hold",
                                     info_opts, cmd_info },
                                   { 0 } };

static const struct prog prog = {
    .name = "gdata",
    .summary = "Turn text into files of tokens to train on.",
    .cmds = cmds,
};

int main(int argc, char **argv)
{
    return prog_main(&prog, argc, argv);
}
