#ifndef DATA_TOKEN_PRETOKENIZE_H
#define DATA_TOKEN_PRETOKENIZE_H

#include <stddef.h>
#include <stdint.h>

/*
 * split - cut text into the pieces that BPE works on
 *
 * What a regular expression does elsewhere, done by hand.  As state machines
 * over four classes of characters (classes.h); "begins" means that a match
 * starts there:
 *
 *   GPT-2   's 't 're 've 'm 'll 'd where they begin; else a run of letters,
 *           of numbers or of others, with the one space before it; else white
 *           space: all but its last character when something follows, which
 *           the last character then belongs to if it is a space.
 *   cl100k  the same in either case; any one character but a line break, a
 *           letter or a number joins the letters after it; numbers in threes;
 *           line breaks join the others before them; white space up to its
 *           last line break is one piece.
 *   Llama 3 as cl100k, but white space at the end of the text is divided
 *           after its last line break too (cl100k as Hugging Face writes it).
 *   o200k   as Llama 3, but a word is capitals and then small letters, where
 *           letters without case, and marks, are both; 's and the like belong
 *           to the word before them; slashes join the others as breaks do.
 *
 * The pieces cover the text.  Bytes that are not UTF-8 count as others, one by
 * one.
 *
 *      split_fn *next = split_by(SPLIT_GPT2);
 *
 *      while (text < end) {
 *          n = next(text, end, stop, SPLIT_BATCH);
 *          piece i is text + stop[i - 1] .. text + stop[i]
 *          text += stop[n - 1];
 *      }
 *
 * The end of the text matters (white space is treated otherwise there), so a
 * text may be continued only where boundary.h allows it.
 */
enum split { SPLIT_GPT2, SPLIT_CL100K, SPLIT_LLAMA3, SPLIT_O200K, SPLIT_COUNT };

enum { SPLIT_BATCH = 512, SPLIT_SPARE = 64 };

/* A text that one call is given may not be longer. */
#define SPLIT_MAX ((size_t)1 << 31)

/*
 * Store where the first pieces of text .. end end, counted from text; returns
 * how many, at least 1 and at most max, which is at least SPLIT_SPARE.  All of
 * stop[0..max) may be written.
 */
typedef size_t split_fn(const uint8_t *text, const uint8_t *end, uint32_t *stop,
                        size_t max);

split_fn *split_by(enum split); /* the fastest here */

/* GPT-2's by the loop called "plain", "sse2", "avx2" or "avx512"; NULL if this
 * processor does not have it. */
split_fn *split_gpt2_by(const char *name);

const char *split_name(enum split);    /* "gpt2", "cl100k", ... */
int split_from_name(const char *name); /* or -1 */

/* The pattern as Hugging Face's files have it; and back, or -1. */
const char *split_pattern(enum split);
int split_from_pattern(const char *pattern);

#endif
