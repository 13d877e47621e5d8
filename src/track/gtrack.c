/*
 * gtrack - list, compare, export and push training runs
 */
#include "config.h"

#include <jansson.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/program.h"
#include "track/cmds.h"

const struct cmd *const track_cmds[] = { TRACK_CMDS(CMD_ADDRESS) NULL };

static const struct program program = {
    .name = "gtrack",
    .summary = "List, compare, export and push training runs.",
    .cmds = track_cmds,
};

int main(int argc, char **argv)
{
    json_set_alloc_funcs(xmalloc, free);
    return program_main(&program, argc, argv);
}
