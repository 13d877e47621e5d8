#ifndef DATA_CMDS_H
#define DATA_CMDS_H

#include "common/opt.h"

/*
 * cmds - the commands of gdata, each defined in cmd_NAME.c
 */
extern const struct cmd cmd_bpe, cmd_decode, cmd_dedup, cmd_encode, cmd_fetch,
    cmd_gather, cmd_info, cmd_leak, cmd_lock, cmd_ngram, cmd_verify,
    cmd_vocab;

#endif
