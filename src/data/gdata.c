/*
 * gdata - corpora to files of tokens
 */
#include "config.h"
#include "common/program.h"
#include "data/cmds.h"

/* clang-format off */
static const struct cmd cmds[] = {
    { "bpe", "-o FOLDER INPUT...", "learn a tokenizer from text",
      bpe_opts, cmd_bpe },
    { "decode", "-T TOKENIZER FILE...", "turn files of tokens back into text",
      decode_opts, cmd_decode },
    { "encode", "-T TOKENIZER -o PREFIX INPUT...",
      "turn text into files of tokens", encode_opts, cmd_encode },
    { "dedup", "PATH...", "leave out documents that were there before",
      dedup_opts, cmd_dedup },
    { "fetch", "NAME|URL...", "get corpora from servers", fetch_opts,
      cmd_fetch },
    { "gather", "-o FOLDER", "collect text that this machine has",
      gather_opts, cmd_gather },
    { "info", "FILE...", "say what files of tokens or text hold",
      info_opts, cmd_info },
    { "leak", "--train PATH --eval PATH",
      "find evaluation text in the training text", leak_opts, cmd_leak },
    { "lock", "FILE...", "write down what the data are, by hash", lock_opts,
      cmd_lock },
    { "ngram", "--train PATH --val PATH", "predict a text by runs of 3 bytes",
      ngram_opts, cmd_ngram },
    { "verify", "FILE...", "compare files with a data.lock; check tokens",
      verify_opts, cmd_verify },
    { "vocab", "TOKENIZER", "look at a tokenizer, write it in other forms",
      vocab_opts, cmd_vocab },
    { 0 }
};
/* clang-format on */

static const struct prog prog = {
    .name = "gdata",
    .summary = "Turn text into files of tokens to train on.",
    .cmds = cmds,
};

int main(int argc, char **argv)
{
    return prog_main(&prog, argc, argv);
}
