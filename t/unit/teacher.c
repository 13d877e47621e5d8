/*
 * teacher - the loss with a teacher, against PyTorch's.  The numbers are in
 * t/reference/teacher.txt, made by t/reference/teacher.py.
 */
#include "config.h"
#include "common/mem.h"
#include "kernels/dev.h"
#include "kernels/ref.h"
#include "t/lib/tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The same as hashed() of teacher.py. */
static double hashed(int64_t i, int64_t salt)
{
    uint32_t x = (uint32_t)(i + salt * 1000003) * 2654435761u;

    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (double)x / 4294967296.0 - 0.5;
}

enum { RESULTS = 5 };

struct line {
    int64_t N, C, V, K;
    double cap, weight, want[RESULTS];
};

static struct tensor matrix(enum dtype type, int64_t rows, int64_t cols,
                            int64_t salt)
{
    struct tensor t = {
        .type = type, .rank = 2, .dim = { rows, cols }, .overwrite = true
    };

    t.data = xcalloc((size_t)(rows * cols), dtype_size(type));
    for (int64_t i = 0; salt && i < rows * cols; i++)
        ref_set(&t, i, hashed(i, salt));
    return t;
}

static void summarise(const struct tensor *t, int64_t salt, double out[2])
{
    double square = 0;

    out[1] = 0;
    for (int64_t i = 0; i < tensor_count(t); i++) {
        square += ref_get(t, i) * ref_get(t, i);
        out[1] += ref_get(t, i) * hashed(i, salt);
    }
    out[0] = sqrt(square);
}

/* The largest difference of the results, relative to 1 or more. */
static double compare(const struct line *c, const struct ops *ops,
                      struct dev *dev, enum dtype type)
{
    struct tensor x = matrix(type, c->N, c->C, 1), dx = x, dw;
    struct tensor w = matrix(type, c->V, c->C, 2);
    struct tensor loss = matrix(type, c->N, 1, 0);
    struct tensor target = matrix(DT_I32, c->N, 1, 0);
    struct tensor words = matrix(DT_I32, c->N, 1 + c->K, 0);
    const struct head_teacher teacher = { &words, c->weight };
    double is[RESULTS] = { 0 }, off = 0;

    dx = matrix(type, c->N, c->C, 0);
    dw = matrix(type, c->V, c->C, 0);
    for (int64_t n = 0; n < c->N; n++) {
        ref_set(&target, n, (double)(n * 7 % c->V));
        for (int64_t k = 0; k < c->K; k++) {
            const double units = floor((hashed(n * c->K + k, 3) + 0.5) * 4000);

            ((int32_t *)words.data)[n * (1 + c->K) + 1 + k] =
                (int32_t)((n + 3 * k) % c->V + HEAD_IDS * (int64_t)units);
        }
    }
    ops->head(dev, &loss, &dx, &dw, &x, &w, &target, &teacher, c->V,
              (float)c->cap, 1.0f);
    for (int64_t n = 0; n < c->N; n++)
        is[0] += ref_get(&loss, n);
    summarise(&dx, 4, is + 1);
    summarise(&dw, 5, is + 3);
    for (int i = 0; i < RESULTS; i++)
        off = fmax(off, fabs(is[i] - c->want[i]) / fmax(1, fabs(c->want[i])));
    FREE(x.data, w.data, loss.data, target.data, words.data, dx.data, dw.data);
    return off;
}

int main(void)
{
    const char *top = getenv("top_srcdir");
    char *path = xasprintf("%s/t/reference/teacher.txt", top ? top : "..");
    FILE *fp = fopen(path, "r");
    struct dev cpu = { .threads = 1 };
    struct err e = { 0 };
    struct line c;
    int cases = 0;

    if (!ok(fp != NULL && dev_open(&cpu, "cpu", &e) == 0,
            "the reference file and the CPU can be opened"))
        return done_testing();
    while (fscanf(fp, "%ld %ld %ld %ld %lf %lf %lf %lf %lf %lf %lf", &c.N, &c.C,
                  &c.V, &c.K, &c.cap, &c.weight, &c.want[0], &c.want[1],
                  &c.want[2], &c.want[3], &c.want[4]) == 6 + RESULTS) {
        const double ref = compare(&c, &ref_ops, NULL, DT_F64);
        const double own = compare(&c, cpu.ops, &cpu, DT_F32);

        /* the cap is a float */
        ok(ref < (c.cap > 0 ? 1e-7 : 1e-12),
           "the reference agrees with PyTorch with %ld ids of a teacher", c.K);
        ok(own < 1e-5, "the CPU agrees with PyTorch with %ld ids of a teacher",
           c.K);
        diag("K %ld: reference %.1e, CPU %.1e", c.K, ref, own);
        cases++;
    }
    ok(cases == 5, "the reference file has %d cases", cases);
    fclose(fp);
    dev_close(&cpu);
    free(path);
    return done_testing();
}
