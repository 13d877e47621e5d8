/*
 * gtrack - list, compare, export and push training runs
 */
#include "config.h"
#include "common/program.h"
#include "track/cmds.h"

const struct cmd *const track_cmds[] = {
    &cmd_ls,
    &cmd_show,
    &cmd_compare,
    &cmd_metrics,
    &cmd_best,
    &cmd_tail,
    &cmd_watch,
    &cmd_diff,
    &cmd_cmd,
    &cmd_hours,
    &cmd_artifacts,
    &cmd_tag,
    &cmd_note,
    &cmd_mv,
    &cmd_rm,
    &cmd_restore,
    &cmd_gc,
    &cmd_export,
    &cmd_import,
    &cmd_push,
    &cmd_fsck,
    &cmd_du,
    &cmd_where,
    &cmd_completion,
    &cmd_run,
    &cmd_log,
    &cmd_exec,
    NULL
};

static const struct program program = {
    .name = "gtrack",
    .summary = "List, compare, export and push training runs.",
    .cmds = track_cmds,
};

int main(int argc, char **argv)
{
    return program_main(&program, argc, argv);
}
