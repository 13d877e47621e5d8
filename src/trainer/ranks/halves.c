#include "config.h"
#include "trainer/ranks/halves.h"

#include <string.h>

#include "kernels/half.h"

enum { BLOCK = 64 }; /* floats that are rounded together */

static int64_t in_block(int64_t n, int64_t at)
{
    return n - at < BLOCK ? n - at : BLOCK;
}

void halves_pack(float *x, int64_t n)
{
    uint16_t half[BLOCK];

    for (int64_t at = 0; at < n; at += BLOCK) {
        const int64_t now = in_block(n, at);

        for (int64_t i = 0; i < now; i++)
            half[i] = bf16_from_float(x[at + i]);
        memcpy((char *)x + (size_t)at * sizeof *half, half,
               (size_t)now * sizeof *half);
    }
}

void halves_unpack(float *x, int64_t n)
{
    uint16_t half[BLOCK];

    for (int64_t at = (n - 1) / BLOCK * BLOCK; n > 0 && at >= 0; at -= BLOCK) {
        const int64_t now = in_block(n, at);

        memcpy(half, (const char *)x + (size_t)at * sizeof *half,
               (size_t)now * sizeof *half);
        for (int64_t i = 0; i < now; i++)
            x[at + i] = float_from_bf16(half[i]);
    }
}

void halves_put(struct dev *dev, void *to, const float *x, int64_t n)
{
    float block[4096];
    const int64_t most = sizeof block / sizeof *block;

    for (int64_t at = 0; at < n; at += most) {
        const int64_t now = n - at < most ? n - at : most;

        memcpy(block, x + at, (size_t)now * sizeof *block);
        halves_pack(block, now);
        dev->type->put(dev, (char *)to + (size_t)at * 2, block,
                       (size_t)now * 2);
    }
}
