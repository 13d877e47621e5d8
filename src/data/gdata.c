/*
 * gdata - prepare text for training
 */
#include "config.h"
#include "common/program.h"
#include "data/cmds.h"

static const struct cmd *const cmds[] = { DATA_CMDS(CMD_ADDRESS) NULL };

static const struct program program = {
    .name = "gdata",
    .summary = "Prepare text for training.",
    .cmds = cmds,
};

int main(int argc, char **argv)
{
    return program_main(&program, argc, argv);
}
