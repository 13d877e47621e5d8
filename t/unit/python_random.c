/*
 * python_random - random numbers and samples as Python's
 *
 * The expected values are those of Python 3.11: of random.Random(seed), then
 * randrange(n) for each n, or the sum of sample(range(n), k), to which each
 * element is added after a multiplication by 31.
 */
#include "config.h"
#include "trainer/engine/python_random.h"
#include "t/lib/tap.h"

#include <stdlib.h>

static const size_t range[] = { 1, 2, 10, 1000, 4294967295, 2147483648, 7 };

static const struct {
    uint32_t seed;
    size_t drawn[7];
} numbers[] = {
    { 0, { 0, 1, 0, 265, 4146640122, 2087043557, 3 } },
    { 1234, { 0, 0, 0, 92, 3912611952, 150006740, 5 } },
    { 1337, { 0, 0, 5, 392, 2726762725, 1545524063, 2 } },
    { 4294967295, { 0, 0, 9, 534, 1251276551, 1460408326, 3 } },
};

static const struct {
    uint32_t seed;
    size_t n, k;
    uint32_t sum;
} samples[] = {
    { 1234, 5, 5, 2774470 },
    { 1234, 21, 3, 13547 },
    { 1234, 22, 3, 13547 },
    { 1235, 85, 10, 353124636 },
    { 1235, 86, 10, 353151466 },
    { 99, 20320, 10, 3729567246 },
    { 7, 300, 100, 4146664911 },
    { 7, 1045, 100, 254120115 },
    { 7, 1046, 100, 2627938623 },
    { 3, 1, 1, 0 },
    { 3, 4, 0, 0 },
};

static uint32_t add(uint32_t sum, size_t x)
{
    return sum * 31 + (uint32_t)x;
}

int main(void)
{
    struct python_random r;
    uint32_t sum = 0;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        bool same = true;

        python_random_seed(&r, numbers[i].seed);
        for (int k = 0; k < 7; k++)
            same = same &&
                   python_random_below(&r, range[k]) == numbers[i].drawn[k];
        ok(same, "numbers below several bounds are Python's, with seed %u",
           numbers[i].seed);
    }
    python_random_seed(&r, 5);
    for (int i = 0; i < 2000; i++)
        sum = add(sum, python_random_below(&r, 1000));
    ok(sum == 131556816, "two thousand numbers are Python's");
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        const size_t n = samples[i].n, k = samples[i].k;
        size_t *out = calloc(k + 1, sizeof *out);

        python_random_seed(&r, samples[i].seed);
        python_random_sample(&r, n, k, out);
        sum = 0;
        for (size_t at = 0; at < k; at++)
            sum = add(sum, out[at]);
        ok(sum == samples[i].sum, "a sample of %zu from %zu is Python's", k, n);
        free(out);
    }
    return done_testing();
}
