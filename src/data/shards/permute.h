#pragma once

#include <stdint.h>

/*
 * permute - a permutation of 0 .. n-1 that needs no memory
 *
 *      permute_init(&p, n, seed, stream);
 *      for (i = 0; i < n; i++)
 *          use(permute(&p, i));
 *
 * A Feistel network permutes the numbers below the smallest 4^k >= n.  It is
 * applied again while the result is n or more, which gives a permutation of the
 * numbers below n (J. Black and P. Rogaway, "Ciphers with arbitrary finite
 * domains", CT-RSA 2002).
 */
enum { PERMUTE_ROUNDS = 8 };

struct permute {
    uint64_t n;
    int half; /* bits of one half */
    uint32_t key[PERMUTE_ROUNDS];
};

void permute_init(struct permute *, uint64_t n, uint64_t seed, uint64_t stream);
uint64_t permute(const struct permute *, uint64_t i);
