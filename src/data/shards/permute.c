#include "config.h"
#include "data/shards/permute.h"

#include "common/rng.h"

void permute_init(struct permute *p, uint64_t n, uint64_t seed, uint64_t stream)
{
    p->n = n;
    p->half = 1;
    while (p->half < 32 && (uint64_t)1 << (2 * p->half) < n)
        p->half++;
    for (int i = 0; i < PERMUTE_ROUNDS; i++)
        p->key[i] = rng_word(seed, stream, (uint64_t)i);
}

/* Any function would do; a good one needs few rounds. */
static uint64_t mix_half(uint64_t x, uint32_t key)
{
    x = (x + key) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 29)) * 0x94d049bb133111ebu;
    return x ^ (x >> 32);
}

static uint64_t permute_once(const struct permute *p, uint64_t i)
{
    const uint64_t mask = ((uint64_t)1 << p->half) - 1;
    uint64_t left = i >> p->half, right = i & mask;

    for (int r = 0; r < PERMUTE_ROUNDS; r++) {
        const uint64_t next = left ^ (mix_half(right, p->key[r]) & mask);

        left = right;
        right = next;
    }
    return left << p->half | right;
}

uint64_t permute(const struct permute *p, uint64_t i)
{
    do {
        i = permute_once(p, i);
    } while (i >= p->n);
    return i;
}
