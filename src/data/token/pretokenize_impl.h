#ifndef DATA_TOKEN_PRETOKENIZE_IMPL_H
#define DATA_TOKEN_PRETOKENIZE_IMPL_H

#include "common/utf8.h"
#include "data/token/classes.h"
#include "data/token/pretokenize.h"

/*
 * split_impl - how GPT-2's pieces are found 64 bytes at a time
 *
 * A vector instruction set contributes two functions: one that turns 64 bytes
 * into masks, a bit a byte, and one that turns the mask of where pieces begin
 * into offsets.  The rest is arithmetic on masks, written once:
 * split_bounds().  A block always starts where a piece begins, so nothing is
 * carried from block to block.
 */
struct split_masks {
    uint64_t letter, number, space; /* by class; of ASCII only, at first */
    uint64_t blank;                 /* U+0020 */
    uint64_t apostrophe;
    uint64_t high; /* not ASCII */
};

/* Where the piece that begins at p ends; the slow truth. */
const uint8_t *split_gpt2_piece(const uint8_t *p, const uint8_t *end);

split_fn split_gpt2_plain, split_gpt2_sse2, split_gpt2_avx2, split_gpt2_avx512;

#define SPLIT_INLINE static inline __attribute__((always_inline))

/*
 * Sort the characters beyond ASCII into the masks, all bytes of one alike.
 * Returns how many bytes of the block are sorted: up to 64, fewer when a
 * character is cut by the block's end or is white space of several bytes,
 * where the arithmetic, which knows one byte per blank, does not hold.
 */
SPLIT_INLINE int split_high(const uint8_t *p, struct split_masks *m)
{
    uint64_t high = m->high;

    while (high) {
        const int i = __builtin_ctzll(high);
        uint32_t c;
        const size_t n = utf8_decode(p + i, p + 64, &c);
        const uint64_t bits = (((uint64_t)1 << n) - 1) << i;
        int class = CLASS_OTHER;

        if (c != UTF8_BAD)
            class = class_of(c);
        else if (i > 60)
            return i;
        if (class == CLASS_SPACE)
            return i;
        if (class == CLASS_LETTER)
            m->letter |= bits;
        else if (class == CLASS_NUMBER)
            m->number |= bits;
        high &= ~bits;
    }
    return 64;
}

/* How long the contraction is that an apostrophe before a, b begins, or 0. */
SPLIT_INLINE size_t split_contraction(uint8_t a, uint8_t b)
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
 * Bit i of the result: a piece begins at p + i.  Bit 0, where one does, is left
 * out; so is what cannot be known from this block.
 */
SPLIT_INLINE uint64_t split_bounds(const uint8_t *p, struct split_masks *m)
{
    const int known = m->high ? split_high(p, m) : 64;
    const uint64_t letter = m->letter, number = m->number, space = m->space;
    const uint64_t other = ~(letter | number | space);
    uint64_t begins, maybe;

    if (known < 3)
        return 0;
    /* a change of class; after a blank there is none, it belongs to what
     * follows; white space begins anew at its last character */
    begins = (letter & ((number | other) << 1)) |
             (number & ((letter | other) << 1)) |
             (other & ((letter | number) << 1)) |
             (~space & ((space & ~m->blank) << 1)) |
             (space & (~(space << 1) | ~(space >> 1)));
    maybe = m->apostrophe & (begins | 1) & (letter >> 1);
    while (__builtin_expect(maybe != 0, 0)) {
        const int i = __builtin_ctzll(maybe);

        maybe &= maybe - 1;
        if (i < 62) {
            const size_t n = split_contraction(p[i + 1], p[i + 2]);

            if (n > 0) {
                begins &= ~((uint64_t)2 << i);
                begins |= (uint64_t)2 << ((size_t)i + n - 1);
            }
        }
    }
    /* the last sorted byte may be white space that goes on */
    return begins & (((uint64_t)1 << (known - 1)) - 1) & ~(uint64_t)1;
}

/*
 * The loop.  masks() fills in the six masks of the 64 bytes at p; put() stores
 * base + i for each bit i and may write SPLIT_SPARE entries.
 */
typedef void split_masks_fn(const uint8_t *p, struct split_masks *);
typedef void split_put_fn(uint32_t *stop, uint64_t bits, uint32_t base);

SPLIT_INLINE size_t split_loop(const uint8_t *text, const uint8_t *end,
                               uint32_t *stop, size_t max,
                               split_masks_fn *masks, split_put_fn *put)
{
    const uint8_t *p = text;
    size_t n = 0;

    max -= SPLIT_SPARE - 1;
    while (p < end && n < max) {
        if (end - p >= 64) {
            struct split_masks m;
            uint64_t begins;

            masks(p, &m);
            begins = split_bounds(p, &m);
            if (begins) {
                put(stop + n, begins, (uint32_t)(p - text));
                n += (size_t)__builtin_popcountll(begins);
                p += 63 - __builtin_clzll(begins);
                continue;
            }
        }
        p = split_gpt2_piece(p, end);
        stop[n++] = (uint32_t)(p - text);
    }
    return n;
}

#endif
