#pragma once

#include "data/token/bpe.h"
#include "data/token/pretokenize.h"
#include "data/token/words.h"

/*
 * bpe_train - learn merges from counted words
 *
 * The most frequent pair of neighbouring symbols inside words becomes a symbol
 * wherever it occurs, from left to right.  This is repeated until there are as
 * many ids as wanted, or no pair occurs `least` times.  Overlapping pairs all
 * count: "aaa" has two pairs (a, a).
 *
 * Of equally frequent pairs the first to be merged is
 *
 *      BPE_TIES_HF     the one with the smallest ids (left, then right), as in
 *                      Hugging Face's trainer and rustbpe
 *      BPE_TIES_CS336  the one with the greatest bytes (left, then right), as
 *                      Stanford's course CS336 requires
 *
 * Ids are numbered as in GPT-2: the bytes in the order of the characters that
 * stand for them, the merges in the order they were made, then the special
 * tokens.  If two merges make the same bytes, the second gets no id of its own.
 */
enum bpe_ties { BPE_TIES_HF, BPE_TIES_CS336 };

struct bpe_train_conf {
    int64_t vocab; /* ids, special tokens included */
    enum pretokenizer pretokenizer;
    enum bpe_ties ties;
    int64_t least; /* least occurrences of a pair; 1 or more */
    const struct boundary_word *special;
    size_t n_specials;
};

/* Returns a tokenizer that is ready to use; it may have fewer ids than wanted.
 */
struct tokenizer *bpe_train(const struct word_list *,
                            const struct bpe_train_conf *, struct err *);
