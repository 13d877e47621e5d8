/*
 * kernels - every operation, on every device, against its reference
 *
 * One case is an operation, a shape, a type and a variant of its arguments.  A
 * device that this machine does not have is skipped, by name.  The judge itself
 * is tested with planted errors.  KERNELS_ONLY=NAME judges one operation;
 * --bench [NAME] times the calls.
 */
#include "config.h"
#include "common/clock.h"
#include "common/mem.h"
#include "kernels/ref.h"
#include "t/lib/tap.h"
#include "t/unit/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- planted errors ------------------------------------------------------ */

static act_fwd_fn wrong_constant, one_left_out, one_too_many, input_changed;
static accum_fn never_overwrite, always_overwrite;

static void wrong_constant(struct dev *dev, struct tensor *y,
                           const struct tensor *x, enum act kind)
{
    ref_act_fwd(dev, y, x, kind);
    for (int64_t i = 0; i < tensor_count(y); i++)
        ref_set(y, i, 1.01 * ref_get(y, i));
}

static void one_left_out(struct dev *dev, struct tensor *y,
                         const struct tensor *x, enum act kind)
{
    const double last = ref_get(y, tensor_count(y) - 1);

    ref_act_fwd(dev, y, x, kind);
    ref_set(y, tensor_count(y) - 1, last);
}

static void one_too_many(struct dev *dev, struct tensor *y,
                         const struct tensor *x, enum act kind)
{
    ref_act_fwd(dev, y, x, kind);
    ref_set(y, tensor_count(y), 1.0);
}

static void input_changed(struct dev *dev, struct tensor *y,
                          const struct tensor *x, enum act kind)
{
    struct tensor writable = *x;

    ref_act_fwd(dev, y, x, kind);
    ref_set(&writable, 0, 17.0);
}

static void never_overwrite(struct dev *dev, struct tensor *y,
                            const struct tensor *x)
{
    struct tensor old = *y;

    old.overwrite = false;
    ref_accum(dev, &old, x);
}

static void always_overwrite(struct dev *dev, struct tensor *y,
                             const struct tensor *x)
{
    struct tensor old = *y;

    old.overwrite = true;
    ref_accum(dev, &old, x);
}

static void check_judge(struct dev *dev)
{
    static const struct {
        const char *what;
        act_fwd_fn *act;
        accum_fn *accum;
    } plants[] = {
        { "a wrong constant", wrong_constant, NULL },
        { "an element left out", one_left_out, NULL },
        { "a write past the end", one_too_many, NULL },
        { "a changed input", input_changed, NULL },
        { "a sum into what should be overwritten", NULL, never_overwrite },
        { "a gradient that forgets", NULL, always_overwrite },
    };

    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        struct ops bad = ref_ops;
        const struct op_test *t = plants[i].act ? &act_fwd_test : &accum_test;

        if (plants[i].act)
            bad.act_fwd = plants[i].act;
        else
            bad.accum = plants[i].accum;
        ok(judge_shape(dev, &ref_ops, t, t->shape[1], false) == 0 &&
               judge_shape(dev, &bad, t, t->shape[1], true) > 0,
           "the judge finds %s", plants[i].what);
    }
}

/* The devices take turns, so that the references are asked once for a shape. */
static void check_ops(struct dev *dev, int devices)
{
    const char *only = getenv("KERNELS_ONLY");

    for (int k = 0; op_tests[k]; k++) {
        const struct op_test *t = op_tests[k];
        const bool fewer = t->cpu_from && dev->type != &cpu_dev;
        const int end = fewer ? t->cpu_from : MAX_SHAPES;

        if (only && strcmp(t->name, only) != 0)
            continue;
        for (int i = 0; i < end && t->shape[i][0]; i++) {
            const int64_t *s = t->shape[i];

            for (int d = 0; d < devices; d++)
                ok(judge_shape(&dev[d], dev[d].ops, t, s, false) == 0,
                   "%s %s: %s agrees with the reference, %lldx%lldx%lldx%lld/"
                   "%lld/%lld",
                   dev[d].type->name, dev[d].ops->name, t->name,
                   (long long)s[0], (long long)s[1], (long long)s[2],
                   (long long)s[3], (long long)s[4], (long long)s[5]);
        }
    }
}

static bool open_device(struct dev *dev, const char *name)
{
    struct err e = { 0 };

    *dev = (struct dev){ .threads = 0 };
    if (dev_open(dev, name, &e) == 0)
        return true;
    skip(e.text, "each operation of %s agrees with its reference", name);
    return false;
}

static void check_device(const char *name)
{
    struct dev dev;

    if (!open_device(&dev, name))
        return;
    check_ops(&dev, 1);
    dev_close(&dev);
}

/* The CPU with each of its instruction sets, or with the one in GTRAIN_ISA. */
static void check_cpu(void)
{
    static const char *const isas[] = {
        "avx512bf16", "avx512", "avx2", "sve512", "sve256", "neon", "c",
    };
    enum { ISAS = sizeof isas / sizeof *isas };
    const bool asked = getenv("GTRAIN_ISA") != NULL;
    struct dev dev[ISAS];
    int n = 0;

    for (int i = 0; i < (asked ? 1 : ISAS); i++) {
        if (!asked)
            setenv("GTRAIN_ISA", isas[i], 1);
        n += open_device(&dev[n], "cpu");
    }
    for (int i = 0; i < n; i++)
        check_judge(&dev[i]);
    if (n > 0)
        check_ops(dev, n);
    for (int i = 0; i < n; i++)
        dev_close(&dev[i]);
}

/* ---- times --------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Processor time of all threads so far: what waiting for a core is not in. */
static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Print the median and the best of several calls, and the processor time. */
static void time_case(struct dev *dev, const struct op_test *test,
                      const int64_t *shape, enum dtype type)
{
    struct op_case c = { .test = test,
                         .shape = shape,
                         .seed = 42,
                         .v = {
                             .type = type, .overwrite = true, .absent = -1 } };
    struct err e = { 0 };
    double t[21], cpu[21], bytes = 0.0, start = clock_mono();
    int n = 0;

    op_case_make(&c, dev);
    op_case_put(&c, dev);
    for (int i = 0; i < c.n; i++)
        bytes += (double)c.buf[i].bytes;
    op_case_call(&c, dev->ops, dev);
    dev_sync(dev, &e);
    while (n < 21 && (n < 5 || clock_mono() - start < 1.0)) {
        const double from = clock_mono(), cpu_from = cpu_seconds();

        op_case_call(&c, dev->ops, dev);
        dev_sync(dev, &e);
        cpu[n] = cpu_seconds() - cpu_from;
        t[n++] = clock_mono() - from;
    }
    qsort(t, (size_t)n, sizeof *t, by_size);
    qsort(cpu, (size_t)n, sizeof *cpu, by_size);
    printf(
        "%-15s %6lld %6lld %6lld %5lld %4lld %9.3f %9.3f %9.3f %8.1f %7.1f\n",
        test->name, (long long)shape[0], (long long)shape[1],
        (long long)shape[2], (long long)shape[3], (long long)shape[4],
        t[n / 2] * 1e3, t[0] * 1e3, cpu[n / 2] * 1e3,
        test->flops ? test->flops(shape) / t[0] * 1e-9 : 0.0,
        bytes / t[0] * 1e-9);
    fflush(stdout);
    op_case_free(&c, dev);
}

static void time_ops(struct dev *dev, const char *only, enum dtype type)
{
    char line[128];

    printf("%s, activations of %zu bytes\n",
           dev->type->describe(dev, line, sizeof line), dtype_size(type));
    printf("%-15s %34s %9s %9s  %8s  %8s\n", "operation", "shape", "ms", "best",
           "GFLOP/s", "GB/s");
    for (int k = 0; op_tests[k]; k++) {
        const struct op_test *t = op_tests[k];

        if (only && !strstr(t->name, only))
            continue;
        for (int i = 0; i < MAX_BENCH && t->bench[i][0]; i++)
            time_case(dev, t, t->bench[i], type);
    }
}

/* KERNELS_TYPE=bf16 or f16 times activations of that type; KERNELS_THREADS. */
static void time_device(const char *name, const char *only)
{
    const char *type = getenv("KERNELS_TYPE");
    const char *threads = getenv("KERNELS_THREADS");
    struct err e = { 0 };
    struct dev dev = { .threads =
                           threads ? (int)strtol(threads, NULL, 10) : 0 };

    if (dev_open(&dev, name, &e) < 0) {
        printf("%s: %s\n", name, e.text);
        return;
    }
    time_ops(&dev, only,
             type && strcmp(type, "bf16") == 0  ? DT_BF16
             : type && strcmp(type, "f16") == 0 ? DT_F16
                                                : DT_F32);
    dev_close(&dev);
}

static void report_gradient(const char *name, const char *input, double off)
{
    if (!ok(off < 1e-6, "%s of the reference is right in %s", name, input))
        diag("off by %g", off);
}

int main(int argc, char **argv)
{
    const bool timing = argc > 1 && strcmp(argv[1], "--bench") == 0;
    const char *only = getenv("GT_TEST_DEVICE");

    if (!timing && !only) {
        check_gradients(report_gradient);
    }
    for (const struct dev_type *const *type = dev_types; *type; type++) {
        if (only && strcmp(only, (*type)->name) != 0)
            continue;
        if (timing)
            time_device((*type)->name, argc > 2 ? argv[2] : NULL);
        else if (*type == &cpu_dev)
            check_cpu();
        else
            check_device((*type)->name);
    }
    return timing ? 0 : done_testing();
}
