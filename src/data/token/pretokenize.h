#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * pretokenize - divide text into the pieces that BPE works on
 *
 * Other programs do this with regular expressions.  Here the rules are written
 * out over four classes of characters (unicode.h: letters, numbers, spaces,
 * others), and a piece is
 *
 *   GPT-2   one of 's 't 're 've 'm 'll 'd; or a sequence of letters, of
 *           numbers or of others, with one space before it; or white space,
 *           without its last character if something follows.
 *   cl100k  as GPT-2, but 's and the like may be capitals; any one character
 *           except a line break, a letter or a number may precede letters;
 *           numbers come in groups of up to three; others take the line breaks
 *           after them; white space up to its last line break is one piece.
 *   Llama 3 as cl100k, but white space at the end of the text is divided after
 *           its last line break, too (Hugging Face's form of cl100k).
 *   Qwen 2  as Llama 3, but each number is a piece.
 *   digits  as GPT-2, but each number is a piece, and white space before it is
 *           not divided (Hugging Face's Digits before ByteLevel, as SmolLM).
 *   o200k   as Llama 3, but a word is upper-case letters followed by lower-case
 *           letters, where letters without case and marks count as both; 's
 *           and the like belong to the word before them; others take slashes
 *           like line breaks.
 *
 * The tokenizers of SentencePiece (sentencepiece.h) have other rules:
 *
 *   none    the text is one piece.
 *   words   a piece begins at each sequence of spaces (U+0020).
 *   spaces  a piece begins at each space.
 *
 * The pieces cover the text.  Each byte that is not valid UTF-8 counts as one
 * of the others.
 *
 *      pretokenize_fn *next = pretokenize_by(PRETOKENIZE_GPT2);
 *
 *      while (text < end) {
 *          n = next(text, end, stop, PRETOKENIZE_BATCH);
 *          piece i is text + stop[i - 1] .. text + stop[i]
 *          text += stop[n - 1];
 *      }
 *
 * White space is treated differently at the end of the text, so a long text may
 * be divided only where boundary.h allows it.
 */
enum pretokenizer {
    PRETOKENIZE_GPT2,
    PRETOKENIZE_CL100K,
    PRETOKENIZE_LLAMA3,
    PRETOKENIZE_O200K,
    PRETOKENIZE_QWEN2,
    PRETOKENIZE_DIGITS,
    PRETOKENIZE_COUNT, /* of the rules above, for byte-level BPE */
    PRETOKENIZE_NONE = PRETOKENIZE_COUNT,
    PRETOKENIZE_WORDS,
    PRETOKENIZE_SPACES,
    PRETOKENIZE_ALL
};

enum { PRETOKENIZE_BATCH = 512, PRETOKENIZE_SPARE = 64 };

/*
 * Store the ends of the first pieces of text .. end, of up to 2 GiB, as offsets
 * from text.  Returns their number, at least 1 and at most max.  max must be at
 * least PRETOKENIZE_SPARE, and all of stop[0..max) may be overwritten.
 */
typedef size_t pretokenize_fn(const uint8_t *text, const uint8_t *end,
                              uint32_t *stop, size_t max);

pretokenize_fn *pretokenize_by(enum pretokenizer); /* the fastest available */

/* GPT-2's rules with the loop "plain" or "avx2"; NULL if this processor does
 * not support it. */
pretokenize_fn *pretokenize_gpt2_by(const char *name);

/* "gpt2", "cl100k", ... in the order of the enum, ended by NULL. */
extern const char *const pretokenize_names[];

/* The regular expression in Hugging Face's files; and back, or -1. */
const char *pretokenize_pattern(enum pretokenizer);
int pretokenize_from_pattern(const char *pattern);
