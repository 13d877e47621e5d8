/*
 * gdata - prepare text for training
 */
#include "config.h"
#include "common/program.h"
#include "data/cmds.h"

static const struct cmd *const cmds[] = { &cmd_bpe,   &cmd_decode, &cmd_encode,
                                          &cmd_dedup, &cmd_fetch,  &cmd_gather,
                                          &cmd_info,  &cmd_leak,   &cmd_lock,
                                          &cmd_ngram, &cmd_verify, &cmd_vocab,
                                          NULL };

static const struct program program = {
    .name = "gdata",
    .summary = "Prepare text for training.",
    .cmds = cmds,
};

int main(int argc, char **argv)
{
    return program_main(&program, argc, argv);
}
