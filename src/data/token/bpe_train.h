#ifndef DATA_TOKEN_BPE_TRAIN_H
#define DATA_TOKEN_BPE_TRAIN_H

#include "data/token/bpe.h"
#include "data/token/words.h"

/*
 * bpe_train - merges from counts
 *
 * Of all pairs of neighbouring symbols inside words, the most frequent becomes
 * a symbol, wherever it is, from left to right; this is repeated until there
 * are as many ids as wanted, or no pair occurs `least` times.  Overlapping
 * pairs count each: "aaa" has two of (a, a).
 *
 * Among equally frequent pairs
 *
 *      TIES_HF         the one of the smallest ids (left, then right), as
 *                      Hugging Face's trainer and rustbpe take it
 *      TIES_GREATEST   the one of the greatest bytes (left, then right), as
 *                      Stanford's CS336 asks for
 *
 * Ids are GPT-2's: the bytes in the order of the characters that stand for
 * them, the merges by age, then the special tokens.  When two merges make the
 * same bytes, the second gets no id of its own.
 */
enum ties { TIES_HF, TIES_GREATEST };

struct bpe_train_conf {
    int64_t vocab; /* ids, special tokens included */
    enum split split;
    enum ties ties;
    int64_t least; /* occurrences of a pair; at least 1 */
    const char *const *special;
    size_t n_specials;
};

/* Returns a tokenizer that is ready; it may have fewer ids than wanted. */
struct tokenizer *bpe_train(const struct word_list *,
                            const struct bpe_train_conf *, struct err *);

#endif
