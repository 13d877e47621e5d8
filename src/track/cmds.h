#ifndef TRACK_CMDS_H
#define TRACK_CMDS_H

#include "common/opt.h"

/* The commands of gtrack, each in its own file cmd_NAME.c. */
extern const struct cmd cmd_artifacts, cmd_best, cmd_cmd, cmd_compare,
    cmd_completion, cmd_diff, cmd_du, cmd_exec, cmd_export, cmd_fsck, cmd_gc,
    cmd_hours, cmd_import, cmd_log, cmd_ls, cmd_metrics, cmd_mv, cmd_note,
    cmd_push, cmd_restore, cmd_rm, cmd_run, cmd_show, cmd_tag, cmd_tail,
    cmd_watch, cmd_where;

/* All of them, in the order of the help text, ended by NULL. */
extern const struct cmd *const track_cmds[];

#endif
