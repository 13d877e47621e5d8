#ifndef TRACK_CMDS_H
#define TRACK_CMDS_H

#include "common/program.h"

/* The commands of gtrack in the order of the help text, each in its own file
 * cmd_NAME.c. */
/* clang-format off */
#define TRACK_CMDS(X) \
    X(ls) X(show) X(compare) X(metrics) X(best) X(tail) X(watch) X(serve) \
    X(diff) X(cmd) X(hours) X(forecast) X(artifacts) X(claims) X(bundle) \
    X(verify) X(tag) X(note) X(mv) X(rm) \
    X(restore) X(gc) X(export) X(import) X(push) X(fsck) X(du) X(where) \
    X(completion) X(run) X(log) X(exec) X(sweep) X(alert)
/* clang-format on */
TRACK_CMDS(CMD_DECLARE)

extern const struct program track_program;

#endif
