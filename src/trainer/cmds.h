#ifndef TRAINER_CMDS_H
#define TRAINER_CMDS_H

#include "common/opt.h"

/* cmds - the commands of gtrain, one a file */
extern const struct opt cmd_train_opts[];

int cmd_train(int argc, char **argv, struct err *);

#endif
