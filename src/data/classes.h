#ifndef DATA_CLASSES_H
#define DATA_CLASSES_H

#include <stdint.h>

/*
 * classes - what a code point is to a pre-tokenizer
 *
 * Letters are Unicode's general category L, numbers N (so superscripts,
 * fractions and Roman numerals too), space its property White_Space; other is
 * the rest, unassigned code points included.  Unicode 16.0, whatever the C
 * library and the locale think.  classes.c is made by scripts/classes.
 */
enum { CLASS_OTHER, CLASS_LETTER, CLASS_NUMBER, CLASS_SPACE };

enum { CLASS_BLOCKS = 0x110000 / 128 };

extern const uint8_t class_block[CLASS_BLOCKS];
extern const uint8_t class_bits[][32]; /* two bits a code point, low first */
extern const uint8_t class_ascii[128]; /* the same, of ASCII */

/* c must lie below 0x110000. */
static inline int class_of(uint32_t c)
{
    return class_bits[class_block[c >> 7]][c >> 2 & 31] >> (c & 3) * 2 & 3;
}

#endif
