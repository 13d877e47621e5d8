/*
 * gtrack - list, compare, export and push training runs
 */
#include "config.h"
#include "track/runs/track.h"

#include <jansson.h>

#include "common/mem.h"

const struct program track_program = {
    .name = "gtrack",
    .summary = "List, compare, export and push training runs.",
    .cmds = program_cmds,
};

int main(int argc, char **argv)
{
    json_set_alloc_funcs(xmalloc, free);
    return program_main(&track_program, argc, argv);
}
