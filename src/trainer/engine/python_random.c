#include "config.h"
#include "trainer/engine/python_random.h"

#include <stdbool.h>

#include "common/mem.h"

enum { WORDS = 624, MIDDLE = 397 };

void python_random_seed(struct python_random *r, uint32_t seed)
{
    uint32_t *x = r->word;

    x[0] = 19650218;
    for (uint32_t i = 1; i < WORDS; i++)
        x[i] = 1812433253 * (x[i - 1] ^ x[i - 1] >> 30) + i;
    for (uint32_t k = 0, i = 1; k < 2 * WORDS - 1; k++) {
        const uint32_t last = x[i - 1] ^ x[i - 1] >> 30;

        x[i] = k < WORDS ? (x[i] ^ last * 1664525) + seed
                         : (x[i] ^ last * 1566083941) - i;
        if (++i == WORDS) {
            x[0] = x[WORDS - 1];
            i = 1;
        }
    }
    x[0] = 1U << 31;
    r->used = WORDS;
}

static uint32_t draw_word(struct python_random *r)
{
    uint32_t *x = r->word, y;

    for (int i = 0; i < WORDS && r->used == WORDS; i++) {
        y = (x[i] & 1U << 31) | (x[(i + 1) % WORDS] & ~(1U << 31));
        x[i] = x[(i + MIDDLE) % WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0df : 0);
    }
    r->used %= WORDS;
    y = x[r->used++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680;
    y ^= y << 15 & 0xefc60000;
    return y ^ y >> 18;
}

size_t python_random_below(struct python_random *r, size_t n)
{
    const int unused = __builtin_clz((uint32_t)n);
    size_t drawn;

    do
        drawn = draw_word(r) >> unused;
    while (drawn >= n);
    return drawn;
}

static bool is_among(const size_t *all, size_t n, size_t x)
{
    for (size_t i = 0; i < n; i++)
        if (all[i] == x)
            return true;
    return false;
}

/* Of few, the last takes the place of the one drawn; of many, one that was
 * drawn is drawn again. */
void python_random_sample(struct python_random *r, size_t n, size_t k,
                          size_t *out)
{
    size_t few = 1, *left;

    while (k > 5 && few < 3 * k)
        few *= 4;
    few = k > 5 ? few + 21 : 21;
    left = xcalloc(few, sizeof *left);
    for (size_t i = 0; i < n && n <= few; i++)
        left[i] = i;
    for (size_t i = 0; i < k; i++) {
        if (n <= few) {
            const size_t at = python_random_below(r, n - i);

            out[i] = left[at];
            left[at] = left[n - i - 1];
            continue;
        }
        do
            out[i] = python_random_below(r, n);
        while (is_among(out, i, out[i]));
    }
    free(left);
}
