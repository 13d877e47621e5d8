#pragma once

#include <stdint.h>

/*
 * rng - random numbers by counting
 *
 * Number i of stream s under a seed is a function of the three and of nothing
 * else, so it does not matter who draws it, in what order, on which device or
 * thread.  The function is Philox4x32-10 (Salmon et al., "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011), the same here and in CUDA kernels.
 *
 *      rng_bits(seed, stream, i, out)    four 32-bit words, of block i
 *      rng_word(seed, stream, i)         word i: block i / 4, word i % 4
 *      rng_uniform(seed, stream, i)      [0, 1), 24 bits
 *
 * A stream is made from what the numbers are for and from where they are:
 * rng_stream(RNG_DROPOUT, step, layer).
 */
#if defined(__CUDACC__)
#define RNG_FN static __host__ __device__ inline
#else
#define RNG_FN static inline
#endif

enum rng_use {
    RNG_INIT = 1, /* parameters */
    RNG_DATA,     /* order of documents and windows */
    RNG_DROPOUT,
    RNG_SAMPLE, /* text from the model */
    RNG_ROUND,  /* stochastic rounding */
    RNG_SWEEP,
};

RNG_FN uint64_t rng_stream(uint32_t use, uint64_t a, uint64_t b)
{
    uint64_t x = ((uint64_t)use << 56) ^ (a << 16) ^ b;

    /* splitmix64's finalizer: near streams have unrelated keys */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

RNG_FN void rng_bits(uint64_t seed, uint64_t stream, uint64_t i,
                     uint32_t out[4])
{
    uint32_t c0 = (uint32_t)i, c1 = (uint32_t)(i >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

    for (int round = 0; round < 10; round++) {
        const uint64_t p = (uint64_t)0xd2511f53u * c0;
        const uint64_t q = (uint64_t)0xcd9e8d57u * c2;

        c0 = (uint32_t)(q >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)q;
        c2 = (uint32_t)(p >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

RNG_FN uint32_t rng_word(uint64_t seed, uint64_t stream, uint64_t i)
{
    uint32_t w[4];

    rng_bits(seed, stream, i >> 2, w);
    return w[i & 3];
}

RNG_FN float rng_uniform(uint64_t seed, uint64_t stream, uint64_t i)
{
    return (float)(rng_word(seed, stream, i) >> 8) * 0x1p-24f;
}
