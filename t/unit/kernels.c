/*
 * kernels - every operation, on every device, against its reference
 *
 * One case is an operation, a shape, a type and a variant of its arguments.
 * The same bytes go to the reference on the host and to the device under test;
 * what comes back is compared, inputs must be as they were, and so must the
 * guards on either side of each buffer.  What an operation must set holds NaN
 * before, so a place left out is seen, and so is one that is read.
 *
 * A device this machine lacks is skipped, by name.  The judge itself is tried
 * on operations with planted errors.  With --bench [NAME] the calls are timed.
 */
#include "config.h"
#include "common/clock.h"
#include "common/mem.h"
#include "kernels/half.h"
#include "kernels/ref.h"
#include "t/lib/tap.h"
#include "t/unit/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GUARD = 128 }; /* bytes before and after each buffer */

/* One way to call an operation. */
struct variant {
    enum dtype type; /* of activations */
    bool fresh;
    bool whole; /* fill with whole numbers, tolerance 0 */
    bool in_place;
    int absent; /* the argument left out, or -1 */
};

struct buffer {
    struct tensor host, got; /* the reference's and the device's view */
    unsigned char *before, *want, *back;
    void *mem;
    size_t bytes; /* without the guards */
    bool present;
};

struct run {
    const struct op_test *test;
    const int64_t *shape;
    struct variant v;
    struct arg arg[MAX_ARGS];
    struct buffer buf[MAX_ARGS];
    int n;
    uint64_t seed;
    bool gpu;
    char why[160]; /* the first thing that was wrong */
};

/* ---- what goes in ------------------------------------------------------- */

static double uniform(struct run *r)
{
    r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(r->seed >> 40) / (1 << 24);
}

static enum dtype element(const struct run *r, enum content c)
{
    switch (c) {
    case NUMBERS:
        return r->v.type;
    case DOUBLE:
        return DT_F64;
    case HALVES:
        return DT_BF16;
    case TOKENS:
    case TARGETS:
        return DT_I32;
    case FLOATS:
    case POSITIVE:
        break;
    }
    return DT_F32;
}

static double draw(struct run *r, const struct arg *a)
{
    const double range = r->test->range > 0.0 ? r->test->range : 4.0;
    const double u = range * (2.0 * uniform(r) - 1.0);

    if (a->content == TOKENS || a->content == TARGETS) {
        if (a->content == TARGETS && u > 0.75 * range)
            return -1.0;
        return floor(uniform(r) * (double)a->limit);
    }
    if (r->v.whole)
        return a->content == POSITIVE ? fabs(rint(u)) : rint(u);
    return a->content == POSITIVE ? fabs(u) + 0.01 : u;
}

/* An input is drawn; what is to be set holds NaN. */
static void fill(struct run *r, const struct arg *a, struct tensor *t)
{
    const bool set =
        a->role == OUT || a->role == SCRATCH || (a->role == GRAD && r->v.fresh);

    for (int64_t i = 0; i < tensor_count(t); i++)
        ref_set(t, i, set ? (double)NAN : draw(r, a));
    t->fresh = a->role == GRAD && r->v.fresh;
}

static void make(struct run *r, struct dev *dev)
{
    struct err e = ERR_INIT;

    r->test->args(r->arg, r->shape);
    for (r->n = 0; r->n < MAX_ARGS && r->arg[r->n].name; r->n++) {
        const struct arg *a = &r->arg[r->n];
        struct buffer *b = &r->buf[r->n];
        struct tensor *t = &b->host;

        *t = (struct tensor){ .type = element(r, a->content) };
        while (t->rank < 4 && a->dim[t->rank] > 0) {
            t->dim[t->rank] = a->dim[t->rank];
            t->rank++;
        }
        b->present = r->n != r->v.absent;
        b->bytes = tensor_bytes(t);
        b->before = xmalloc(b->bytes + 2 * GUARD);
        b->want = xmalloc(b->bytes + 2 * GUARD);
        b->back = xmalloc(b->bytes + 2 * GUARD);
        b->mem = dev->type->alloc(dev, b->bytes + 2 * GUARD, &e);
        if (!b->mem)
            abort();
        memset(b->before, 0xa5, b->bytes + 2 * GUARD);
        t->data = b->before + GUARD;
        fill(r, a, t);
        b->got = *t;
        b->got.data = (char *)b->mem + GUARD;
    }
}

static void release(struct run *r, struct dev *dev)
{
    for (int i = 0; i < r->n; i++) {
        free(r->buf[i].before);
        free(r->buf[i].want);
        free(r->buf[i].back);
        dev->type->free(dev, r->buf[i].mem);
    }
}

/* ---- what comes out ------------------------------------------------------ */

/* How far a number of this type may be from the reference's. */
static double allowed(const struct run *r, enum dtype type, double want,
                      double typical)
{
    static const double step[DT_COUNT] = { [DT_BF16] = 0x1p-7,
                                           [DT_F16] = 0x1p-10 };
    const double roundings = r->gpu ? r->test->inner : r->test->inner_cpu;
    const double inner = roundings * step[r->v.type];

    if (r->v.whole)
        return 0.0;
    return (r->test->tolerance + inner) * (fabs(want) + typical) +
           step[type] * fabs(want) +
           (type == DT_F16 ? 0x1p-24 : 0.0);
}

static void complain(struct run *r, const char *arg, const char *what)
{
    if (!r->why[0])
        snprintf(r->why, sizeof r->why, "%s: %s", arg, what);
}

static void compare(struct run *r, int i)
{
    struct tensor want = r->buf[i].host, got = want;
    const int64_t n = tensor_count(&want);
    double typical = 0.0;
    char text[96];

    want.data = r->buf[i].want + GUARD;
    got.data = r->buf[i].back + GUARD;
    for (int64_t j = 0; j < n; j++)
        typical += fabs(ref_get(&want, j)) / (double)n;
    if (!isfinite(typical))
        typical = 0.0;
    for (int64_t j = 0; j < n; j++) {
        const double w = ref_get(&want, j), g = ref_get(&got, j);
        const double room = allowed(r, want.type, w, typical);

        if (w == g || fabs(w - g) <= room) /* never true of a NaN */
            continue;
        snprintf(text, sizeof text, "[%lld] is %.9g, not %.9g (%.2g allowed)",
                 (long long)j, g, w, room);
        complain(r, r->arg[i].name, text);
        return;
    }
}

static void check_buffer(struct run *r, int i)
{
    const struct buffer *b = &r->buf[i];
    const enum role role = r->arg[i].role;
    const bool shared = r->v.in_place && i == r->test->alias;

    for (size_t j = 0; j < GUARD; j++) {
        if (b->back[j] != 0xa5 || b->back[GUARD + b->bytes + j] != 0xa5) {
            complain(r, r->arg[i].name, "written outside its bounds");
            break;
        }
    }
    if (role == IN || !b->present) {
        if (!shared && memcmp(b->back, b->before, b->bytes + 2 * GUARD) != 0)
            complain(r, r->arg[i].name, "an input was changed");
    } else if (role != SCRATCH) {
        compare(r, i);
    }
}

/* Call with the views that `which` names; absent arguments are NULL. */
static void call(struct run *r, const struct ops *ops, struct dev *dev)
{
    struct tensor view[MAX_ARGS], *a[MAX_ARGS] = { NULL };

    for (int i = 0; i < r->n; i++) {
        view[i] = dev ? r->buf[i].got : r->buf[i].host;
        if (!dev)
            view[i].data = r->buf[i].want + GUARD;
        if (r->buf[i].present)
            a[i] = &view[i];
    }
    if (dev && r->v.in_place)
        a[0]->data = a[r->test->alias]->data;
    r->test->call(ops, dev, a, r->shape);
}

/* Inputs that follow from others; the device gets what the reference has. */
static void prepare(struct run *r)
{
    struct tensor *a[MAX_ARGS] = { NULL };

    for (int i = 0; i < r->n; i++) {
        if (r->buf[i].present)
            a[i] = &r->buf[i].host;
    }
    if (r->test->prepare)
        r->test->prepare(a, r->shape);
}

/* One case; returns whether it passed, with r.why saying what did not. */
static bool judge(struct dev *dev, const struct ops *ops, struct run *r)
{
    struct err e = ERR_INIT;

    r->gpu = dev->type != &cpu_dev;
    make(r, dev);
    prepare(r);
    for (int i = 0; i < r->n; i++) {
        struct buffer *b = &r->buf[i];

        memcpy(b->want, b->before, b->bytes + 2 * GUARD);
        dev->type->put(dev, b->mem, b->before, b->bytes + 2 * GUARD);
    }
    call(r, &ref_ops, NULL);
    call(r, ops, dev);
    for (int i = 0; i < r->n; i++) {
        const bool shared = r->v.in_place && i == 0;
        const struct buffer *from = &r->buf[shared ? r->test->alias : i];

        dev->type->get(dev, r->buf[i].back, from->mem,
                       r->buf[i].bytes + 2 * GUARD);
    }
    if (dev_sync(dev, &e) < 0)
        complain(r, "device", e.text);
    for (int i = 0; i < r->n; i++)
        check_buffer(r, i);
    release(r, dev);
    return !r->why[0];
}

/* ---- all variants of an operation ---------------------------------------- */

static bool has_gradient(const struct run *r)
{
    for (int i = 0; i < MAX_ARGS && r->arg[i].name; i++) {
        if (r->arg[i].role == GRAD)
            return true;
    }
    return false;
}

/* Judge one variant; a failure is described by a diag unless quiet. */
static bool one(struct dev *dev, const struct ops *ops,
                const struct op_test *test, const int64_t *shape,
                struct variant v, bool quiet)
{
    static const char *const types[] = {
        [DT_F32] = "f32", [DT_BF16] = "bf16", [DT_F16] = "f16"
    };
    struct run r = { .test = test, .shape = shape, .v = v, .seed = 42 };
    const bool good = judge(dev, ops, &r);

    if (!good && !quiet)
        diag("%s%s%s%s, argument %d absent: %s", types[v.type],
             v.fresh ? ", fresh" : "", v.whole ? ", whole numbers" : "",
             v.in_place ? ", in place" : "", v.absent, r.why);
    return good;
}

/* Every variant of one shape; how many failed. */
static int variants(struct dev *dev, const struct ops *ops,
                    const struct op_test *test, const int64_t *shape,
                    bool quiet)
{
    struct run r = { .test = test };
    int failed = 0;

    test->args(r.arg, shape);
    for (int i = -1; i < MAX_ARGS; i++) {
        if (i >= 0 && (!r.arg[i].name || !r.arg[i].optional))
            continue;
        for (int fresh = 0; fresh <= has_gradient(&r); fresh++) {
            for (int t = DT_F32; t <= (i < 0 ? DT_F16 : DT_F32); t++) {
                struct variant v = { .type = (enum dtype)t,
                                     .fresh = fresh != 0,
                                     .absent = i };

                failed += !one(dev, ops, test, shape, v, quiet);
                v.whole = true;
                if (test->whole)
                    failed += !one(dev, ops, test, shape, v, quiet);
                v.whole = false;
                v.in_place = true;
                if (test->alias && (fresh || !has_gradient(&r)))
                    failed += !one(dev, ops, test, shape, v, quiet);
            }
        }
    }
    return failed;
}

/* ---- planted errors ------------------------------------------------------ */

static act_fwd_fn wrong_constant, one_left_out, one_too_many, input_changed;
static accum_fn never_fresh, always_fresh;

static void wrong_constant(struct dev *dev, struct tensor *y,
                           const struct tensor *x, enum act kind)
{
    ref_act_fwd(dev, y, x, kind);
    ref_scale(dev, y, 1.01f);
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

static void never_fresh(struct dev *dev, struct tensor *y,
                        const struct tensor *x)
{
    struct tensor old = *y;

    old.fresh = false;
    ref_accum(dev, &old, x);
}

static void always_fresh(struct dev *dev, struct tensor *y,
                         const struct tensor *x)
{
    struct tensor old = *y;

    old.fresh = true;
    ref_accum(dev, &old, x);
}

static const struct op_test *find_test(const char *name)
{
    const struct op_test *t = op_tests;

    while (t->name && strcmp(t->name, name) != 0)
        t++;
    return t;
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
        { "a sum into what is fresh", NULL, never_fresh },
        { "a gradient that forgets", NULL, always_fresh },
    };

    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        struct ops bad = ref_ops;
        const struct op_test *t =
            find_test(plants[i].act ? "act_fwd" : "accum");

        if (plants[i].act)
            bad.act_fwd = plants[i].act;
        else
            bad.accum = plants[i].accum;
        ok(variants(dev, &ref_ops, t, t->shape[1], false) == 0 &&
               variants(dev, &bad, t, t->shape[1], true) > 0,
           "the judge sees %s", plants[i].what);
    }
}

static void check_ops(struct dev *dev)
{
    for (const struct op_test *t = op_tests; t->name; t++) {
        for (int i = 0; i < MAX_SHAPES && t->shape[i][0]; i++) {
            const int64_t *s = t->shape[i];

            ok(variants(dev, dev->ops, t, s, false) == 0,
               "%s %s %s %lldx%lldx%lldx%lld/%lld/%lld", dev->type->name,
               dev->ops->name, t->name, (long long)s[0], (long long)s[1],
               (long long)s[2], (long long)s[3], (long long)s[4],
               (long long)s[5]);
        }
    }
}

static void check_device(const char *name)
{
    struct err e = ERR_INIT;
    struct dev dev = { .threads = 0 };

    if (dev_open(&dev, name, &e) < 0) {
        skip(name, e.text);
        return;
    }
    if (dev.type == &cpu_dev)
        check_judge(&dev);
    check_ops(&dev);
    dev_close(&dev);
}

/* The CPU once for each instruction set it has, or the one that is asked. */
static void check_cpu(void)
{
    static const char *const isas[] = {
        "amx", "amx-c", "avx512bf16", "avx512", "avx2", "c", NULL,
    };
    const char *asked = getenv("GTRAIN_ISA");

    for (int i = 0; !asked && isas[i]; i++) {
        setenv("GTRAIN_ISA", isas[i], 1);
        check_device("cpu");
    }
    if (asked)
        check_device("cpu");
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

/* Median and best of several calls, each waited for; processor time too. */
static void time_case(struct dev *dev, const struct op_test *test,
                      const int64_t *shape, enum dtype type)
{
    struct run r = { .test = test,
                     .shape = shape,
                     .seed = 42,
                     .v = { .type = type, .fresh = true, .absent = -1 } };
    struct err e = ERR_INIT;
    double t[21], cpu[21], bytes = 0.0, start = clock_mono();
    int n = 0;

    make(&r, dev);
    for (int i = 0; i < r.n; i++) {
        dev->type->put(dev, r.buf[i].mem, r.buf[i].before,
                       r.buf[i].bytes + 2 * GUARD);
        bytes += (double)r.buf[i].bytes;
    }
    call(&r, dev->ops, dev);
    dev_sync(dev, &e);
    while (n < 21 && (n < 5 || clock_mono() - start < 1.0)) {
        const double from = clock_mono(), cpu_from = cpu_seconds();

        call(&r, dev->ops, dev);
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
    release(&r, dev);
}

static void bench(struct dev *dev, const char *only, enum dtype type)
{
    char line[128];

    printf("%s, activations of %zu bytes\n",
           dev->type->describe(dev, line, sizeof line), dtype_size(type));
    printf("%-15s %34s %9s %9s  %8s  %8s\n", "operation", "shape", "ms", "best",
           "GFLOP/s", "GB/s");
    for (const struct op_test *t = op_tests; t->name; t++) {
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
    struct err e = ERR_INIT;
    struct dev dev = { .threads =
                           threads ? (int)strtol(threads, NULL, 10) : 0 };

    if (dev_open(&dev, name, &e) < 0) {
        printf("%s: %s\n", name, e.text);
        return;
    }
    bench(&dev, only,
          type && strcmp(type, "bf16") == 0  ? DT_BF16
          : type && strcmp(type, "f16") == 0 ? DT_F16
                                             : DT_F32);
    dev_close(&dev);
}

static void tell_gradient(const char *name, int kind, double off)
{
    if (!ok(off < 1e-6, "gradient of ref %s, kind %d", name, kind))
        diag("off by %g", off);
}

int main(int argc, char **argv)
{
    const bool timing = argc > 1 && strcmp(argv[1], "--bench") == 0;
    const char *only = getenv("GT_TEST_DEVICE");

    if (!timing && !only)
        check_gradients(tell_gradient);
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
