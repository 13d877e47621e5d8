#pragma once

#include <stdbool.h>
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
 * The tokenizers of SentencePiece (bpe.h) have other rules:
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
 * be divided only where the functions below allow it.
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

/* GPT-2's rules with the loop "plain", "avx2" or "avx512"; NULL if this
 * processor does not support it.  With NULL as the name, the fastest. */
pretokenize_fn *pretokenize_gpt2_by(const char *name);

/* "gpt2", "cl100k", ... in the order of the enum, ended by NULL. */
extern const char *const pretokenize_names[];

/* The regular expression in Hugging Face's files; and back, or -1. */
const char *pretokenize_pattern(enum pretokenizer);
int pretokenize_from_pattern(const char *pattern);

/*
 * boundary - where a text may be divided
 *
 * The first three functions return the last position in text[least..n) before
 * which a document may be divided without changing its tokens (corpus.h has the
 * rules), or 0 if there is none: before a blank; only before a space, never
 * before a newline; or, for text without blanks, before white space or Chinese
 * punctuation that follows a letter of any script.
 */
typedef size_t boundary_fn(const char *text, size_t n, size_t least);

boundary_fn boundary_before_blank, boundary_before_space, boundary_after_letter;

/* The character that ends at n > 0, or UTF8_BAD, and its length in bytes. */
uint32_t boundary_last_char(const uint8_t *text, size_t n, size_t *len);

/* The last position where a UTF-8 character begins; at least 1, if n > 1. */
size_t boundary_between_characters(const char *text, size_t n);

/* The last occurrence of a word in text[0..n), or NULL. */
const char *boundary_last_word(const char *text, size_t n, const char *word,
                               size_t len);

int64_t boundary_count_lines(const char *text, size_t n);

/* Where the text of a tokenizer may be divided. */
enum boundary_kind {
    BOUNDARY_ANY,   /* at all of these boundaries */
    BOUNDARY_SPACE, /* only at those of boundary_before_space() */
    BOUNDARY_NONE   /* nowhere: any characters may be one token */
};

/* Text that must not be divided, for example a special token. */
struct boundary_word {
    const char *text;
    size_t len;
};

/* Is text + at inside an occurrence of one of the words, or directly after it?
 * An occurrence that continues beyond the end of the text counts, too. */
bool boundary_inside_words(const struct boundary_word *, size_t n_words,
                           const char *text, size_t n, size_t at);
