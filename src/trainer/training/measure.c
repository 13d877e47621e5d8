#include "config.h"
#include "trainer/training/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/rng.h"
#include "kernels/half.h"

/* A GPU, but not an emulated one. */
static bool is_large(const struct dev *dev)
{
    return dev->memory.total > (size_t)6 << 30;
}

/* Fill with numbers in (-1, 1): a product of zeros takes less power, and so is
 * faster than others. */
static void fill_random(struct dev *dev, char *to, size_t bytes,
                        enum dtype type)
{
    enum { NUMBERS = 1 << 16 };
    char *host = xmalloc((size_t)NUMBERS * sizeof(float));
    size_t done = (size_t)NUMBERS * dtype_size(type);

    for (size_t i = 0; i < NUMBERS; i++) {
        const float x = 2 * rng_uniform(1, 1, i) - 1;
        const uint16_t half =
            type == DT_BF16 ? bf16_from_float(x) : f16_from_float(x);

        if (type == DT_F32)
            memcpy(host + 4 * i, &x, sizeof x);
        else
            memcpy(host + 2 * i, &half, sizeof half);
    }
    done = done < bytes ? done : bytes;
    dev->type->put(dev, to, host, done);
    for (size_t n; done < bytes; done += n) {
        n = done < bytes - done ? done : bytes - done;
        dev->type->copy(dev, to + done, to, n);
    }
    free(host);
}

/* The best rate of several products of n x n matrices, each of which takes a
 * few milliseconds.  On a CPU there are more, as other work may interfere. */
double measure_matmul(struct dev *dev, enum dtype type)
{
    const int64_t n = is_large(dev) ? 8192 : 768;
    const int tries = is_large(dev) ? 4 : 12;
    const size_t bytes = (size_t)(n * n) * dtype_size(type);
    struct tensor t[3];
    struct err e = ERR_INIT;
    double best = 0;
    char *block;

    if (dev->ops == &ref_ops)
        return 0;
    block = dev_alloc(dev, 3 * bytes, DEV_TRIALS, &e);
    if (!block)
        return 0;
    fill_random(dev, block, 2 * bytes, type);
    for (int i = 0; i < 3; i++) {
        t[i] = (struct tensor){ .data = block + (size_t)i * bytes,
                                .type = type,
                                .rank = 2 };
        t[i].dim[0] = t[i].dim[1] = n;
    }
    for (int i = 0; i < tries && dev_sync(dev, &e) == 0; i++) {
        const double before = clock_mono();
        double rate;

        dev->ops->linear_fwd(dev, &t[2], &t[0], &t[1], NULL);
        if (dev_sync(dev, &e) < 0)
            break;
        rate = 2 * pow((double)n, 3) / (clock_mono() - before);
        best = i > 0 && rate > best ? rate : best;
    }
    dev_free(dev, block);
    return best;
}

double measure_copy(struct dev *dev)
{
    const size_t bytes = (size_t)(is_large(dev) ? 1024 : 64) << 20;
    struct err e = ERR_INIT;
    char *block = dev_alloc(dev, 2 * bytes, DEV_TRIALS, &e);
    double best = 0;

    if (!block)
        return 0;
    dev->type->zero(dev, block, 2 * bytes);
    for (int i = 0; i < 4 && dev_sync(dev, &e) == 0; i++) {
        const double before = clock_mono();
        double rate;

        dev->type->copy(dev, block + bytes, block, bytes);
        if (dev_sync(dev, &e) < 0)
            break;
        rate = 2 * (double)bytes / (clock_mono() - before);
        best = i > 0 && rate > best ? rate : best;
    }
    dev_free(dev, block);
    return best;
}
