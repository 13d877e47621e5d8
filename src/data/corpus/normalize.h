#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/format/unicode.h"
#include "common/utf8.h"

/*
 * normalize - compare texts regardless of case and typography
 *
 *      for (; p < end; p += n)
 *          if ((c = normalize_next(p, end, &n)) < 0)
 *              ... a word ends here
 *
 * Letters, their marks, and numbers remain, in lower case.  All other
 * characters, such as spaces, quotes and dashes, separate words.
 */
enum { NORMALIZE_BYTE = 0x110000 }; /* + a byte that is not UTF-8 */

/* The character at p in lower case, or -1 for a separator; *n is its length. */
static inline int32_t normalize_next(const uint8_t *p, const uint8_t *end,
                                     size_t *n)
{
    const uint8_t lower = *p | 0x20;
    uint32_t c;
    int class;

    *n = 1;
    if (*p < 0x80) {
        if (lower >= 'a' && lower <= 'z')
            return lower;
        return *p >= '0' && *p <= '9' ? *p : -1;
    }
    *n = utf8_decode(p, end, &c);
    if (c == UTF8_BAD) {
        *n = 1;
        return NORMALIZE_BYTE | *p;
    }
    class = unicode_class_and_case(c);
    if (class >> 2 == UNICODE_UPPER)
        return utf8_fold((int32_t)c);
    return (class & 3) == UNICODE_LETTER || (class & 3) == UNICODE_NUMBER ||
                   class >> 2 == UNICODE_MARK
               ? (int32_t)c
               : -1;
}
