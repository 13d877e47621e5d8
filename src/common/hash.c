#include "config.h"
#include "common/hash.h"

#include <string.h>

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

static const uint64_t murmur1 = 0x87c37b91114253d5u;
static const uint64_t murmur2 = 0x4cf5ad432745937fu;

static uint64_t mix1(uint64_t k)
{
    return rotate(k * murmur1, 31) * murmur2;
}

static uint64_t mix2(uint64_t k)
{
    return rotate(k * murmur2, 33) * murmur1;
}

struct hash128 hash128(const void *data, size_t n, uint64_t seed)
{
    const unsigned char *at = data;
    uint64_t h1 = seed, h2 = seed, last[2] = { 0, 0 };
    size_t left = n;

    for (; left >= 16; at += 16, left -= 16) {
        uint64_t k[2];

        memcpy(k, at, sizeof k);
        h1 = (rotate(h1 ^ mix1(k[0]), 27) + h2) * 5 + 0x52dce729;
        h2 = (rotate(h2 ^ mix2(k[1]), 31) + h1) * 5 + 0x38495ab5;
    }
    if (left)
        memcpy(last, at, left);
    h2 ^= mix2(last[1]) ^ n;
    h1 ^= mix1(last[0]) ^ n;
    h1 += h2;
    h2 += h1;
    h1 = mix(h1);
    h2 = mix(h2);
    h1 += h2;
    h2 += h1;
    return (struct hash128){ h1, h2 };
}

uint64_t hash_name(const char *s)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

uint32_t hash_name32(const char *s)
{
    uint32_t h = 0x811c9dc5u;

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x01000193u;
    return h;
}
