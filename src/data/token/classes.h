#ifndef DATA_TOKEN_CLASSES_H
#define DATA_TOKEN_CLASSES_H

#include <stdint.h>

/*
 * classes - what a code point is to a pre-tokenizer
 *
 * Letters are Unicode's general category L, numbers N (so superscripts,
 * fractions and Roman numerals too), space its property White_Space; other is
 * the rest, unassigned code points included.  Unicode 16.0, whatever the C
 * library and the locale think.  classes.c is made by scripts/classes.
 *
 * o200k also asks for the case of a letter (upper is Lu and Lt, lower Ll; Lm
 * and Lo have none) and whether one of the others is a mark (M).
 */
enum { CLASS_OTHER, CLASS_LETTER, CLASS_NUMBER, CLASS_SPACE };
enum { CASE_NONE, CASE_UPPER, CASE_LOWER, CASE_MARK };

enum { CLASS_BLOCKS = 0x110000 / 128 };

extern const uint8_t class_block[CLASS_BLOCKS];
/* class | case << 2 of each code point, in four bits, low first */
extern const uint8_t class_bits[][64];
extern const uint8_t class_ascii[128]; /* the same, of ASCII */

/* c must lie below 0x110000. */
static inline int class_and_case(uint32_t c)
{
    return class_bits[class_block[c >> 7]][c >> 1 & 63] >> (c & 1) * 4 & 15;
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
