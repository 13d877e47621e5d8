#ifndef TRAINER_CMDS_H
#define TRAINER_CMDS_H

#include "common/opt.h"

/*
 * cmds - the commands of gtrain, each in a file of its own
 */
#define TRAINER_CMDS(X)                                                        \
 X(train)                                                                      \
 X(plan)                                                                       \
 X(eval)                                                                       \
 X(replay)                                                                     \
 X(bisect)                                                                     \
 X(rehearse)                                                                   \
 X(batch) X(sample) X(export) X(import) X(bench) X(devices) X(sweep) X(init)
TRAINER_CMDS(CMD_DECLARE)

/* clang-format off */
#define CONFIG_OPTS(config, sets) \
    { 'c', "config", "file", OPT_STRING, &(config), \
      "read settings from FILE" }, \
    { 's', "set", "section.key=value", OPT_LIST, &(sets), \
      "change one setting (may be given many times)" }
/* clang-format on */

#endif
