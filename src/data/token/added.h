#pragma once

#include "data/token/bpe.h"

/*
 * added - find added tokens in a text
 *
 *      struct added_scan s = { 0 };
 *
 *      added_set_up(&a, t, flags, 0);
 *      while (a.any && added_next(&a, text, n, &s))
 *          ... the token s.id stands for the bytes from s.from to s.to
 *
 * As in Hugging Face's tokenizers: first the tokens that are not normalized are
 * found in the text, then the others (SPECIAL_NORMALIZED) in what is between
 * them, after it was normalized.  If several tokens begin at one position, the
 * longest is found; it hides the tokens that begin inside it, even if it is not
 * recognised itself.
 */
struct added_finder {
    const struct tokenizer *t;
    int flags;          /* ENCODER_SPECIAL: recognise special tokens */
    int normalized;     /* SPECIAL_NORMALIZED or 0: the tokens to find */
    bool any;           /* some of the tokens are recognised */
    uint8_t first[256]; /* 1 for the first byte of each token */
};

/* The token that was found, and the position to continue at. */
struct added_scan {
    size_t from, to, at;
    int32_t id;
};

void added_set_up(struct added_finder *, const struct tokenizer *, int flags,
                  int normalized);
bool added_next(const struct added_finder *, const uint8_t *text, size_t n,
                struct added_scan *);
