#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/*
 * utf8 - code points from any bytes, and text for terminals
 *
 * Well-formed is what table 3-7 of the Unicode standard says: no overlong
 * forms, no surrogates, nothing above U+10FFFF.
 *
 * Names come from files and may contain anything; what is printed to a terminal
 * goes through utf8_visible() first, so that nothing in the name of a run can
 * move the cursor or change a colour.
 */
enum { UTF8_BAD = 0xFFFFFFFF, UTF8_REPLACEMENT = 0xFFFD, UTF8_MAX = 4 };

/*
 * The character at p < end goes to *c; returns its length in bytes.  For bytes
 * that are not well-formed *c is UTF8_BAD and the length that of the "maximal
 * subpart": what a decoder replaces by one U+FFFD.
 */
static inline size_t utf8_decode(const uint8_t *p, const uint8_t *end,
                                 uint32_t *c)
{
    const uint8_t a = p[0];
    uint8_t low = 0x80, high = 0xBF;
    uint32_t code;
    size_t n;

    if (a < 0x80) {
        *c = a;
        return 1;
    }
    *c = UTF8_BAD;
    if (a < 0xC2 || a > 0xF4)
        return 1;
    if (a < 0xE0) {
        n = 2;
        code = a & 0x1F;
    } else if (a < 0xF0) {
        n = 3;
        code = a & 0x0F;
        low = a == 0xE0 ? 0xA0 : low;
        high = a == 0xED ? 0x9F : high;
    } else {
        n = 4;
        code = a & 0x07;
        low = a == 0xF0 ? 0x90 : low;
        high = a == 0xF4 ? 0x8F : high;
    }
    for (size_t i = 1; i < n; i++) {
        if (end - p <= (ptrdiff_t)i || p[i] < low || p[i] > high)
            return i;
        code = code << 6 | (p[i] & 0x3F);
        low = 0x80;
        high = 0xBF;
    }
    *c = code;
    return n;
}

/* Write a code point; returns how many bytes that took. */
static inline size_t utf8_encode(uint8_t out[UTF8_MAX], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xC0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xE0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (c & 0x3F));
    return 4;
}

/* The code point at *s, and step over it; -1 and one byte for bad UTF-8. */
int32_t utf8_next(const char **s);

/* Append a code point. */
void utf8_add(struct buf *, int32_t code);

/* Fold the case of Latin, Greek, Cyrillic and Armenian letters; any other code
 * point is returned as it is. */
int32_t utf8_fold(int32_t code);

/* Columns a string takes on a terminal. */
size_t utf8_width(const char *s);

/* Append s with control characters as ^X, those that hide or reorder text as
 * <U+202E>, bad bytes as U+FFFD. */
void utf8_visible(struct buf *, const char *s);
/* utf8_visible() for n bytes of lines: tabs and ends of lines stay, and a space
 * stands for a NUL. */
void utf8_visible_lines(struct buf *, const char *s, size_t n);

/* What stands for text that is left out: an ellipsis, or a tilde in ASCII. */
const char *utf8_mark(void);

/* Append what fits into width columns, the last of them the mark. */
void utf8_cut(struct buf *, const char *s, size_t width);

/* The number of code points, each bad byte being one; and is none bad? */
size_t utf8_count(const char *s);
bool utf8_valid(const char *s);

/* The number of bytes before the first one that is not well-formed; fast. */
size_t utf8_good(const uint8_t *s, size_t n);

/* Append s with every bad byte replaced by U+FFFD. */
void utf8_clean(struct buf *, const char *s, size_t n);

/* Does the locale of the environment use UTF-8? */
bool utf8_locale(void);
