/*
 * gdata - prepare text for training
 */
#include "config.h"

#include <jansson.h>

#include "common/mem.h"
#include "common/program.h"

static const struct program program = {
    .name = "gdata",
    .summary = "Prepare text for training.",
    .cmds = program_cmds,
};

int main(int argc, char **argv)
{
    json_set_alloc_funcs(xmalloc, free);
    return program_main(&program, argc, argv);
}
