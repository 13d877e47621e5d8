#pragma once

#include "common/format/unicode.h"
#include "common/utf8.h"
#include "data/token/pretokenize.h"

/*
 * pretokenize_impl - find GPT-2's pieces 64 bytes at a time
 *
 * A vector instruction set contributes two functions: one turns 64 bytes into
 * masks with a bit for each byte, the other turns the mask of the beginnings of
 * pieces into offsets.  pretokenize_bounds(), the arithmetic on masks, is
 * common to all.
 *
 * Whether a piece begins at a byte depends on the four bytes before it, where a
 * contraction may be, and on the one after it.  So blocks overlap: each decides
 * the bytes from PRETOKENIZE_BEFORE to PRETOKENIZE_BOUND, and the next block
 * continues there.  Its position does not depend on the pieces, which lets the
 * processor work on several blocks at a time.  A block that would decide fewer
 * than PRETOKENIZE_LEAST bytes is left to the plain rules.
 */
enum { PRETOKENIZE_BEFORE = 4, PRETOKENIZE_LEAST = 16, PRETOKENIZE_BOUND = 60 };

struct pretokenize_masks {
    uint64_t letter, number, space; /* classes; first those of ASCII only */
    uint64_t blank;                 /* U+0020 */
    uint64_t apostrophe;
    uint64_t high; /* not ASCII */
};

/* The end of the piece that begins at p: the plain reference. */
const uint8_t *pretokenize_gpt2_piece(const uint8_t *p, const uint8_t *end);

pretokenize_fn pretokenize_gpt2_avx2, pretokenize_gpt2_avx512;

#define PRETOKENIZE_INLINE static inline __attribute__((always_inline))

/*
 * Add the characters beyond ASCII to the masks, all bytes of each.  Returns the
 * number of bytes that are classified: 64, or fewer if a character continues
 * beyond the block or is white space of several bytes, because the arithmetic
 * assumes that white space has one byte.
 */
PRETOKENIZE_INLINE int pretokenize_high(const uint8_t *p,
                                        struct pretokenize_masks *m)
{
    uint64_t high = m->high;

    while (high) {
        const int i = __builtin_ctzll(high);
        uint32_t c;
        const size_t n = utf8_decode(p + i, p + 64, &c);
        const uint64_t bits = (((uint64_t)1 << n) - 1) << i;
        int class = UNICODE_OTHER;

        if (c != UTF8_BAD)
            class = unicode_class(c);
        else if (i > 60)
            return i;
        if (class == UNICODE_SPACE)
            return i;
        if (class == UNICODE_LETTER)
            m->letter |= bits;
        else if (class == UNICODE_NUMBER)
            m->number |= bits;
        high &= ~bits;
    }
    return 64;
}

/* The length of the contraction of an apostrophe and a, b, or 0. */
PRETOKENIZE_INLINE size_t pretokenize_contraction(uint8_t a, uint8_t b)
{
    switch (a) {
    case 's':
    case 't':
    case 'm':
    case 'd':
        return 2;
    case 'l':
        return b == 'l' ? 3 : 0;
    case 'r':
    case 'v':
        return b == 'e' ? 3 : 0;
    default:
        return 0;
    }
}

/*
 * Bit i of the result is set if a piece begins at p + i, for i from `from` to
 * *bound; the result is 0 if *bound is below PRETOKENIZE_LEAST.  If `from` is
 * 1, a piece begins at p.
 */
PRETOKENIZE_INLINE uint64_t pretokenize_bounds(const uint8_t *p,
                                               struct pretokenize_masks *m,
                                               int from, int *bound)
{
    const int known = m->high ? pretokenize_high(p, m) : 64;
    const uint64_t letter = m->letter, number = m->number, space = m->space;
    const uint64_t other = ~(letter | number | space);
    uint64_t begins, maybe, told;

    /* the last classified byte may be white space that continues */
    *bound = known > PRETOKENIZE_BOUND ? PRETOKENIZE_BOUND : known - 1;
    if (*bound < PRETOKENIZE_LEAST)
        return 0;
    told = (((uint64_t)1 << *bound) - 1) & ~(uint64_t)0 << from;
    /* a change of class, but not after a blank, which belongs to what follows;
     * and the last character of white space */
    begins = (letter & ((number | other) << 1)) |
             (number & ((letter | other) << 1)) |
             (other & ((letter | number) << 1)) |
             (~space & ((space & ~m->blank) << 1)) |
             (space & (~(space << 1) | ~(space >> 1)));
    maybe = m->apostrophe & (begins | (from == 1)) & (letter >> 1) &
            (((uint64_t)1 << *bound) - 1);
    while (__builtin_expect(maybe != 0, 0)) {
        const int i = __builtin_ctzll(maybe);
        const size_t n = pretokenize_contraction(p[i + 1], p[i + 2]);

        maybe &= maybe - 1;
        if (n > 0) {
            begins &= ~((uint64_t)2 << i);
            begins |= (uint64_t)2 << ((size_t)i + n - 1);
        }
    }
    return begins & told;
}

/*
 * The loop.  masks() computes the six masks of the 64 bytes at p; store()
 * stores base + i for each bit i and may write PRETOKENIZE_SPARE entries.
 */
typedef void pretokenize_masks_fn(const uint8_t *p, struct pretokenize_masks *);
typedef void pretokenize_store_fn(uint32_t *stop, uint64_t bits, uint32_t base);

PRETOKENIZE_INLINE size_t pretokenize_loop(const uint8_t *text,
                                           const uint8_t *end, uint32_t *stop,
                                           size_t max,
                                           pretokenize_masks_fn *masks,
                                           pretokenize_store_fn *store)
{
    const uint8_t *p = text;
    size_t n = 0;
    int from = 1;

    max -= PRETOKENIZE_SPARE - 1;
    while (p < end && n < max) {
        if (end - p >= 64) {
            struct pretokenize_masks m;
            uint64_t begins;
            int bound;

            masks(p, &m);
            begins = pretokenize_bounds(p, &m, from, &bound);
            if (bound >= PRETOKENIZE_LEAST) {
                store(stop + n, begins, (uint32_t)(p - text));
                n += (size_t)__builtin_popcountll(begins);
                p += bound - PRETOKENIZE_BEFORE;
                from = PRETOKENIZE_BEFORE;
                /* a block begins with a character, of at most 4 bytes */
                while (m.high && (*p & 0xC0) == 0x80 &&
                       from < PRETOKENIZE_BEFORE + 3) {
                    p--;
                    from++;
                }
                continue;
            }
        }
        p = pretokenize_gpt2_piece(n > 0 ? text + stop[n - 1] : text, end);
        stop[n++] = (uint32_t)(p - text);
        from = 1;
    }
    return n;
}
