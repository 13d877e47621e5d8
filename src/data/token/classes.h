#ifndef DATA_TOKEN_CLASSES_H
#define DATA_TOKEN_CLASSES_H

#include <stdint.h>

/*
 * classes - the classes of characters that pre-tokenizers distinguish
 *
 * Letters are Unicode's general category L, numbers are N (which includes
 * superscripts, fractions and Roman numerals), spaces have the property
 * White_Space, and all other code points, unassigned ones included, are
 * "other".  This is Unicode 16.0, independent of the C library and the locale.
 * scripts/classes generates classes.c.
 *
 * o200k also distinguishes the case of letters (Lu and Lt are upper, Ll is
 * lower, Lm and Lo have no case) and the marks (M) among the others.
 */
enum { CLASS_OTHER, CLASS_LETTER, CLASS_NUMBER, CLASS_SPACE };
enum { CASE_NONE, CASE_UPPER, CASE_LOWER, CASE_MARK };

enum { CLASS_WORDS = 0x110000 / 16 };

/* The index of the word of 16 code points; a word has class | case << 2 of each
 * in four bits, from the lowest on. */
extern const uint16_t class_index[CLASS_WORDS];
extern const uint64_t class_word[];
extern const uint8_t class_ascii[128]; /* the classes of ASCII */

/* c must lie below 0x110000. */
static inline int class_and_case(uint32_t c)
{
    return class_word[class_index[c >> 4]] >> (c & 15) * 4 & 15;
}

static inline int class_of(uint32_t c)
{
    return class_and_case(c) & 3;
}

static inline int case_of(uint32_t c)
{
    return class_and_case(c) >> 2;
}

#endif
