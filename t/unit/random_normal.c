/*
 * random_normal - normal numbers in each instruction set
 */
#include "config.h"
#include "kernels/dev.h"
#include "t/lib/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 200001 };

static float want[MOST + 1], got[MOST + 1];

static struct tensor vector(float *data, int64_t n)
{
    return (
        struct tensor){ .data = data, .type = DT_F32, .rank = 1, .dim = { n } };
}

/* The largest difference from the reference; 9 if it wrote too far. */
static double difference(struct dev *dev, int64_t first, int64_t n)
{
    struct tensor y = vector(got, n), r = vector(want, n);
    double most = 0.0;

    memset(got, 0xa5, sizeof got);
    ref_normal(dev, &r, 7, 11, first, 1.0f);
    dev->ops->normal(dev, &y, 7, 11, first, 1.0f);
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)got[i] - (double)want[i]));
    return memcmp(&got[n], "\xa5\xa5\xa5\xa5", 4) == 0 ? most : 9.0;
}

static void check(const char *isa)
{
    static const int64_t sizes[] = { 1, 2, 7, 31, 33, 129, 8192, 8195, MOST };
    struct dev dev = { .threads = 3 };
    struct err e = { 0 };
    struct tensor all = vector(want, MOST), part;

    setenv("GTRAIN_ISA", isa, 1);
    if (dev_open(&dev, "cpu", &e) < 0) {
        skip(e.text, "normal numbers of %s agree with the reference", isa);
        return;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const double off = difference(&dev, 0, sizes[i]);

        if (!ok(off < 2e-6, "%s draws %lld numbers as the reference does", isa,
                (long long)sizes[i]))
            diag("off by %g", off);
    }
    dev.threads = 1;
    dev.ops->normal(&dev, &all, 7, 11, 0, 1.0f);
    ok(memcmp(want, got, MOST * sizeof *want) == 0,
       "%s draws the same bits on one thread as on three", isa);
    part = vector(got, 8193);
    dev.ops->normal(&dev, &part, 7, 11, 10006, 1.0f);
    ok(memcmp(want + 10006, got, 8193 * sizeof *want) == 0,
       "%s draws the same bits in a part as in the whole", isa);
    dev_close(&dev);
}

int main(void)
{
    check("avx512");
    check("avx2");
    check("sve512");
    check("sve256");
    check("neon");
    check("c");
    return done_testing();
}
