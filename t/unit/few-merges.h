#ifndef T_FEW_MERGES_H
#define T_FEW_MERGES_H

/*
 * few-merges - tokenizers for tests, from files and from a few merges
 */
#include <string.h>

#include "data/token/bpe.h"
#include "data/token/tokfile.h"
#include "t/lib/tap.h"

/* The tokenizer in a file, or NULL after saying why. */
static inline struct tokenizer *load(const char *path)
{
    struct tokenizer *t;
    struct err e = ERR_INIT;

    if (tokenizer_load(&t, path, &e) < 0)
        diag("%s", e.text);
    return t;
}

/* A tokenizer of a few merges: no file needed. */
static const char few_merges[] = "#version: 0.2\n"
                                 "a b\n"
                                 "ab c\n"
                                 "# #\n"
                                 "x x\n"
                                 "xx xx\n"
                                 "xxxx xxxx\n"
                                 "xxxxxxxx xxxxxxxx\n"
                                 "\xC4\xA0 abc\n";

static inline struct tokenizer *parse_merges(const char *text, struct err *e)
{
    struct tokenizer *t = tokenizer_new(TOKENIZER_BPE, PRETOKENIZE_GPT2);

    if (tokfile_parse_merges(t, text, strlen(text), e) < 0 ||
        tokenizer_ready(t, e) < 0) {
        tokenizer_free(t);
        return NULL;
    }
    return t;
}

#endif
