/*
 * random_normal - normal numbers from counted uniform ones
 */
#include "config.h"
#include "common/rng.h"
#include "kernels/ref.h"

#include <math.h>

void ref_normal(struct dev *dev, struct tensor *y, uint64_t seed,
                uint64_t stream, int64_t first, float std)
{
    const int64_t n = tensor_count(y);

    (void)dev;
    for (int64_t i = 0; i < n; i += 2) {
        uint32_t w[4];
        double radius, angle;

        rng_bits(seed, stream, (uint64_t)(first + i) / 2, w);
        radius = sqrt(-2.0 * log(((double)w[0] + 0.5) * 0x1p-32));
        angle = 2.0 * M_PI * ((double)w[1] + 0.5) * 0x1p-32;
        ref_set(y, i, (double)std * radius * cos(angle));
        if (i + 1 < n)
            ref_set(y, i + 1, (double)std * radius * sin(angle));
    }
}
