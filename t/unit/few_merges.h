#pragma once

/*
 * few_merges - tokenizers for tests, from files and from a few merges, and what
 * merges mean
 */
#include <string.h>

#include "data/token/bpe.h"
#include "data/token/tokfile.h"
#include "t/lib/tap.h"

/* The tokenizer in a file, or NULL after saying why. */
static inline struct tokenizer *load(const char *path)
{
    struct tokenizer *t;
    struct err e = { 0 };

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

/* BPE as it is defined: merge the pair of the lowest rank anywhere, the
 * leftmost of equals, until there is none.  Returns how many of the n ids are
 * left. */
static inline size_t merge_slowly(const struct tokenizer *t, int32_t *id,
                                  size_t n)
{
    for (;;) {
        uint32_t best = NO_RANK;
        size_t at = 0;

        for (size_t i = 0; i + 1 < n; i++) {
            const uint32_t rank =
                bpe_rank(t, (uint32_t)id[i], (uint32_t)id[i + 1]);

            if (rank < best) {
                best = rank;
                at = i;
            }
        }
        if (best == NO_RANK)
            return n;
        id[at] = t->merge[best].into;
        memmove(id + at + 1, id + at + 2, (n - at - 2) * sizeof *id);
        n--;
    }
}
