#include "config.h"
#include "common/random.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* A step of SplitMix64, from where this process is and what time it is. */
static uint64_t guess(uint64_t n)
{
    struct timespec now;
    uint64_t x;

    clock_gettime(CLOCK_MONOTONIC, &now);
    x = (uint64_t)now.tv_nsec + ((uint64_t)now.tv_sec << 30) +
        (uint64_t)(uintptr_t)&now + (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

void random_bytes(void *out, size_t n)
{
    unsigned char *at = out;

    if (getrandom(at, n, 0) == (ssize_t)n)
        return;
    for (size_t i = 0; i < n; i++)
        at[i] = (unsigned char)guess(i);
}

void random_word(char out[RANDOM_WORD])
{
    uint64_t bits;

    random_bytes(&bits, sizeof bits);
    snprintf(out, RANDOM_WORD, "%016" PRIx64, bits);
}
