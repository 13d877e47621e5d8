#ifndef TRAINER_CMDS_H
#define TRAINER_CMDS_H

#include "common/opt.h"

/*
 * cmds - the commands of gtrain, each in a file of its own
 */
#define TRAINER_CMDS(X)                                                        \
    X(train) X(plan) X(eval) X(sample) X(export) X(import) X(bench)            \
    X(devices) X(sweep)
TRAINER_CMDS(CMD_DECLARE)

#endif
