#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * unicode - the classes of characters
 *
 * Letters are Unicode's general category L, numbers are N (which includes
 * superscripts, fractions and Roman numerals), spaces have the property
 * White_Space, and all other code points, unassigned ones included, are
 * "other".  This is Unicode 16.0, independent of the C library and the locale.
 * The build makes the tables of scripts/unicode.txt with scripts/unicode.
 *
 * Pre-tokenizers divide text by them, and the name of a metric may have letters
 * and numbers.  The pre-tokenizer o200k also distinguishes the case of letters
 * (Lu and Lt are upper, Ll is lower, Lm and Lo have no case) and the marks (M)
 * among the others.
 */
enum { UNICODE_OTHER, UNICODE_LETTER, UNICODE_NUMBER, UNICODE_SPACE };
enum { UNICODE_NO_CASE, UNICODE_UPPER, UNICODE_LOWER, UNICODE_MARK };
enum { UNICODE_IN_WORDS = UNICODE_LOWER }; /* of a number or another */

enum { UNICODE_WORDS = 0x110000 / 16 };

/* The index of the word of 16 code points; a word has class | case << 2 of each
 * in four bits, from the lowest on. */
extern const uint16_t unicode_index[UNICODE_WORDS];
extern const uint64_t unicode_word[];
extern const uint8_t unicode_ascii[128]; /* the classes of ASCII */

/* The first and last of each range of what ends sentences, and of other
 * punctuation that is not ASCII; { 0, 0 } ends both. */
extern const uint32_t unicode_terminal[][2], unicode_punctuation[][2];

/* c must lie below 0x110000. */
static inline int unicode_class_and_case(uint32_t c)
{
    return unicode_word[unicode_index[c >> 4]] >> (c & 15) * 4 & 15;
}

static inline int unicode_class(uint32_t c)
{
    return unicode_class_and_case(c) & 3;
}

static inline int unicode_case(uint32_t c)
{
    return unicode_class_and_case(c) >> 2;
}

/* Is this \w of regular expressions?  Connectors and letters in circles are,
 * but numbers that are neither decimal digits nor letters (No) are not. */
static inline bool unicode_is_word(uint32_t c)
{
    return unicode_class(c) == UNICODE_LETTER ||
           unicode_case(c) >= UNICODE_IN_WORDS;
}
