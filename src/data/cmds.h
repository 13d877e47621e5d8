#ifndef DATA_CMDS_H
#define DATA_CMDS_H

#include "common/opt.h"

/*
 * cmds - the commands of gdata in the order of the help text, each defined in
 * its own file cmd_NAME.c
 */
#define DATA_CMDS(X)                                                           \
    X(bpe) X(decode) X(encode) X(dedup) X(fetch) X(gather) X(info) X(leak)     \
    X(lock) X(verify) X(vocab)
DATA_CMDS(CMD_DECLARE)

#endif
