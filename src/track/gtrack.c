#include "config.h"
#include "common/program.h"

#include "track/runs/track.h"

#define ENTRY(name, args, help) { #name, args, help, opts_##name, cmd_##name },

static const struct cmd cmds[] = { TRACK_COMMANDS(ENTRY){ 0 } };

static const struct prog prog = {
    .name = "gtrack",
    .summary = "Lists, compares, exports and pushes training runs.",
    .cmds = cmds,
};

int main(int argc, char **argv)
{
    return prog_main(&prog, argc, argv);
}
