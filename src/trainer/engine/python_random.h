#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * python_random - what Python's random.Random(seed) draws
 *
 *      struct python_random r;
 *
 *      python_random_seed(&r, 1234);
 *      python_random_sample(&r, n, k, out);
 *
 * The words are those of the Mersenne twister MT19937.
 */
struct python_random {
    uint32_t word[624];
    size_t used;
};

void python_random_seed(struct python_random *, uint32_t seed);
/* randrange(n), of 1 to 2^32 - 1. */
size_t python_random_below(struct python_random *, size_t n);
/* sample(range(n), k), where k is at most n. */
void python_random_sample(struct python_random *, size_t n, size_t k,
                          size_t *out);
