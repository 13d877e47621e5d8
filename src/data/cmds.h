#ifndef DATA_CMDS_H
#define DATA_CMDS_H

#include "common/opt.h"

/*
 * cmds - the commands of gdata, one file each: cmd_NAME.c
 *
 * To add one: write cmd_NAME.c, declare its two names here, list it in
 * gdata.c and local.mk, describe it in man/gdata.1.
 */
extern const struct opt bpe_opts[];
extern const struct opt decode_opts[];
extern const struct opt encode_opts[];
extern const struct opt fetch_opts[];
extern const struct opt gather_opts[];
extern const struct opt info_opts[];
extern const struct opt dedup_opts[];
extern const struct opt leak_opts[];
extern const struct opt lock_opts[];
extern const struct opt verify_opts[];
extern const struct opt ngram_opts[];
extern const struct opt vocab_opts[];

int cmd_bpe(int argc, char **argv, struct err *);
int cmd_decode(int argc, char **argv, struct err *);
int cmd_encode(int argc, char **argv, struct err *);
int cmd_fetch(int argc, char **argv, struct err *);
int cmd_gather(int argc, char **argv, struct err *);
int cmd_dedup(int argc, char **argv, struct err *);
int cmd_leak(int argc, char **argv, struct err *);
int cmd_lock(int argc, char **argv, struct err *);
int cmd_verify(int argc, char **argv, struct err *);
int cmd_ngram(int argc, char **argv, struct err *);
int cmd_info(int argc, char **argv, struct err *);
int cmd_vocab(int argc, char **argv, struct err *);

#endif
