#ifndef TRACK_CMDS_H
#define TRACK_CMDS_H

#include "common/opt.h"

/* The commands of gtrack, each in a file cmd_NAME.c; closely related ones
 * share a file. */
extern const struct cmd cmd_ls, cmd_show, cmd_compare, cmd_metrics, cmd_best,
    cmd_tail, cmd_watch, cmd_diff, cmd_cmd, cmd_hours, cmd_artifacts, cmd_tag,
    cmd_note, cmd_mv, cmd_rm, cmd_restore, cmd_gc, cmd_export, cmd_import,
    cmd_push, cmd_fsck, cmd_du, cmd_where, cmd_completion, cmd_run, cmd_log,
    cmd_exec;

/* All of them, in the order of the help text; ends with NULL. */
extern const struct cmd *const track_cmds[];

#endif
