/*
 * kernels_judge - compare one call of an operation with its reference
 *
 * The same bytes are given to the reference on the host and to the device under
 * test.  The outputs are compared; inputs must be unchanged, and so must the
 * guards on either side of each buffer.  An output holds NaN before, so an
 * element that is not written is found, and so is one that is read.
 *
 * The references say the same for each device and on each machine, and they
 * take most of the time: what a shape is given and what is wanted of it, for
 * each variant in its order, is kept for the next call with this shape, or in
 * a file of the folder KERNELS_ANSWERS, which several processes may use.
 */
#include "config.h"
#include "common/mem.h"
#include "kernels/ref.h"
#include "t/lib/tap.h"
#include "t/unit/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GUARD = 128 }; /* bytes before and after each buffer */

static FILE *answers; /* of this shape */
static bool known;    /* to be read; else to be written */

/* ---- what goes in ------------------------------------------------------- */

static double uniform(struct op_case *c)
{
    c->seed = c->seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(c->seed >> 40) / (1 << 24);
}

static enum dtype element_type(const struct op_case *c, enum content of)
{
    switch (of) {
    case NUMBERS:
        return c->v.type;
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

static double draw_number(struct op_case *c, const struct arg *a)
{
    const double range = c->test->range > 0.0 ? c->test->range : 4.0;
    const double u = range * (2.0 * uniform(c) - 1.0);

    if (a->content == TOKENS || a->content == TARGETS) {
        if (a->content == TARGETS && u > 0.75 * range)
            return -1.0;
        return floor(uniform(c) * (double)a->limit);
    }
    if (c->v.whole)
        return a->content == POSITIVE ? fabs(rint(u)) : rint(u);
    return a->content == POSITIVE ? fabs(u) + 0.01 : u;
}

/* Inputs are random numbers; what the operation must set holds NaN.  What is
 * known need not be drawn: the answers begin with it. */
static void fill_argument(struct op_case *c, const struct arg *a,
                          struct tensor *t)
{
    const bool set = a->role == OUT || a->role == SCRATCH ||
                     (a->role == GRAD && c->v.overwrite);

    for (int64_t i = 0; !known && i < tensor_count(t); i++)
        ref_set(t, i, set ? (double)NAN : draw_number(c, a));
    t->overwrite = a->role == GRAD && c->v.overwrite;
}

void op_case_make(struct op_case *c, struct dev *dev)
{
    struct err e = { 0 };

    c->test->args(c->arg, c->shape);
    for (c->n = 0; c->n < MAX_ARGS && c->arg[c->n].name; c->n++) {
        const struct arg *a = &c->arg[c->n];
        struct buffer *b = &c->buf[c->n];
        struct tensor *t = &b->host;

        *t = (struct tensor){ .type = element_type(c, a->content) };
        while (t->rank < 4 && a->dim[t->rank] > 0) {
            t->dim[t->rank] = a->dim[t->rank];
            t->rank++;
        }
        b->present = c->n != c->v.absent;
        b->bytes = tensor_bytes(t);
        b->before = xmalloc(b->bytes + 2 * GUARD);
        b->want = xmalloc(b->bytes + 2 * GUARD);
        b->back = xmalloc(b->bytes + 2 * GUARD);
        b->mem = dev->type->alloc(dev, b->bytes + 2 * GUARD, &e);
        if (!b->mem)
            abort();
        memset(b->before, 0xa5, b->bytes + 2 * GUARD);
        t->data = b->before + GUARD;
        fill_argument(c, a, t);
        b->got = *t;
        b->got.data = (char *)b->mem + GUARD;
    }
}

void op_case_put(struct op_case *c, struct dev *dev)
{
    for (int i = 0; i < c->n; i++)
        dev->type->put(dev, c->buf[i].mem, c->buf[i].before,
                       c->buf[i].bytes + 2 * GUARD);
}

void op_case_free(struct op_case *c, struct dev *dev)
{
    for (int i = 0; i < c->n; i++) {
        free(c->buf[i].before);
        free(c->buf[i].want);
        free(c->buf[i].back);
        dev->type->free(dev, c->buf[i].mem);
    }
}

/* ---- what comes out ------------------------------------------------------ */

/* How far a number of this type may be from the reference's. */
static double allowed(const struct op_case *c, enum dtype type, double want,
                      double typical)
{
    static const double step[DT_COUNT] = {
        [DT_BF16] = 0x1p-7, [DT_F16] = 0x1p-10
    };
    const double roundings = c->gpu ? c->test->inner : c->test->inner_cpu;
    const double inner = roundings * step[c->v.type] +
                         (c->v.fp8 ? c->test->inner_fp8 * 0x1p-2 : 0.0);

    if (c->v.whole)
        return 0.0;
    return (c->test->tolerance + inner) * (fabs(want) + typical) +
           step[type] * fabs(want) + (type == DT_F16 ? 0x1p-24 : 0.0);
}

static void note_failure(struct op_case *c, const char *arg, const char *what)
{
    if (!c->why[0])
        snprintf(c->why, sizeof c->why, "%.50s: %.95s", arg, what);
}

/* The mean of absolute values; 0 if it is not finite. */
static double mean_size(const struct tensor *t)
{
    const int64_t n = tensor_count(t);
    double mean = 0.0;

    for (int64_t j = 0; j < n; j++)
        mean += fabs(ref_get(t, j)) / (double)n;
    return isfinite(mean) ? mean : 0.0;
}

static void compare(struct op_case *c, int i)
{
    struct tensor want = c->buf[i].host, got = want;
    double typical = -1.0; /* not computed yet */
    char text[96];

    want.data = c->buf[i].want + GUARD;
    got.data = c->buf[i].back + GUARD;
    for (int64_t j = 0; j < tensor_count(&want); j++) {
        const double w = ref_get(&want, j), g = ref_get(&got, j);
        double room;

        if (w == g) /* never true of a NaN */
            continue;
        if (typical < 0.0)
            typical = mean_size(&want);
        room = allowed(c, want.type, w, typical);
        if (fabs(w - g) <= room)
            continue;
        snprintf(text, sizeof text, "[%lld] is %.9g, not %.9g (%.2g allowed)",
                 (long long)j, g, w, room);
        note_failure(c, c->arg[i].name, text);
        return;
    }
}

static void check_buffer(struct op_case *c, int i)
{
    const struct buffer *b = &c->buf[i];
    const enum role role = c->arg[i].role;
    const bool shared = c->v.in_place && i == c->test->alias;

    for (size_t j = 0; j < GUARD; j++) {
        if (b->back[j] != 0xa5 || b->back[GUARD + b->bytes + j] != 0xa5) {
            note_failure(c, c->arg[i].name, "written outside its bounds");
            break;
        }
    }
    if (role == IN || !b->present) {
        if (!shared && memcmp(b->back, b->before, b->bytes + 2 * GUARD) != 0)
            note_failure(c, c->arg[i].name, "an input was changed");
    } else if (role != SCRATCH) {
        compare(c, i);
    }
}

void op_case_call(struct op_case *c, const struct ops *ops, struct dev *dev)
{
    struct tensor view[MAX_ARGS], *a[MAX_ARGS] = { NULL };

    for (int i = 0; i < c->n; i++) {
        view[i] = dev ? c->buf[i].got : c->buf[i].host;
        if (!dev)
            view[i].data = c->buf[i].want + GUARD;
        if (c->buf[i].present)
            a[i] = &view[i];
    }
    if (c->v.fp8)
        a[c->test->fp8]->fp8 = true;
    if (dev && c->v.in_place)
        a[0]->data = a[c->test->alias]->data;
    c->test->call(ops, dev, a, c->shape);
}

/* Compute the inputs that follow from others. */
static void prepare_case(struct op_case *c)
{
    struct tensor *a[MAX_ARGS] = { NULL };

    for (int i = 0; i < c->n; i++) {
        if (c->buf[i].present)
            a[i] = &c->buf[i].host;
    }
    if (c->test->prepare)
        c->test->prepare(a, c->shape);
}

static char path[4096], unfinished[4096 + 32];

static void stop(const char *why)
{
    printf("Bail out! answers of the references: %s\n", why);
    exit(1);
}

static void open_answers(const struct op_test *test, const int64_t *shape)
{
    static const int64_t *kept_shape;
    static char *kept;
    static size_t kept_bytes;
    const char *folder = getenv("KERNELS_ANSWERS");
    int n;

    if (!folder) {
        known = shape == kept_shape;
        kept_shape = shape;
        if (!known)
            free(kept);
        answers = known ? fmemopen(kept, kept_bytes, "rb")
                        : open_memstream(&kept, &kept_bytes);
        return;
    }
    n = snprintf(path, sizeof path, "%s/%s", folder, test->name);
    for (int i = 0; i < SHAPE && n < (int)sizeof path; i++)
        n += snprintf(path + n, sizeof path - (size_t)n, "-%lld",
                      (long long)shape[i]);
    answers = fopen(path, "rb");
    known = answers != NULL;
    if (known)
        return;
    snprintf(unfinished, sizeof unfinished, "%s.%ld", path, (long)getpid());
    answers = fopen(unfinished, "wb");
}

static void close_answers(void)
{
    if (fclose(answers) != 0)
        stop("the disk is full");
    if (unfinished[0] && rename(unfinished, path) < 0)
        stop("a file cannot be renamed");
    unfinished[0] = '\0';
}

static void pass_on(void *data, size_t bytes)
{
    if ((known ? fread(data, 1, bytes, answers)
               : fwrite(data, 1, bytes, answers)) != bytes)
        stop("a file ends too soon");
}

/* Fill in what is given, where it follows from something else, and wanted. */
static void ask_references(struct op_case *c)
{
    if (!known)
        prepare_case(c);
    for (int i = 0; i < c->n; i++)
        pass_on(c->buf[i].before + GUARD, c->buf[i].bytes);
    for (int i = 0; i < c->n; i++)
        memcpy(c->buf[i].want, c->buf[i].before, c->buf[i].bytes + 2 * GUARD);
    if (!known)
        op_case_call(c, &ref_ops, NULL);
    for (int i = 0; i < c->n; i++) {
        if (c->arg[i].role != IN)
            pass_on(c->buf[i].want + GUARD, c->buf[i].bytes);
    }
}

/* Whether a case passes; else c->why says what did not. */
static bool judge_case(struct dev *dev, const struct ops *ops,
                       struct op_case *c)
{
    struct err e = { 0 };

    c->gpu = dev->type != &cpu_dev;
    op_case_make(c, dev);
    ask_references(c);
    op_case_put(c, dev);
    op_case_call(c, ops, dev);
    for (int i = 0; i < c->n; i++) {
        const bool shared = c->v.in_place && i == 0;
        const struct buffer *from = &c->buf[shared ? c->test->alias : i];

        dev->type->get(dev, c->buf[i].back, from->mem,
                       c->buf[i].bytes + 2 * GUARD);
    }
    if (dev_sync(dev, &e) < 0)
        note_failure(c, "device", e.text);
    for (int i = 0; i < c->n; i++)
        check_buffer(c, i);
    op_case_free(c, dev);
    return !c->why[0];
}

/* ---- all variants of an operation ---------------------------------------- */

static bool has_gradient(const struct op_case *c)
{
    for (int i = 0; i < MAX_ARGS && c->arg[i].name; i++) {
        if (c->arg[i].role == GRAD)
            return true;
    }
    return false;
}

static bool judge_variant(struct dev *dev, const struct ops *ops,
                          const struct op_test *test, const int64_t *shape,
                          struct variant v, bool quiet)
{
    static const char *const types[] = {
        [DT_F32] = "f32", [DT_BF16] = "bf16", [DT_F16] = "f16"
    };
    struct op_case c = { .test = test, .shape = shape, .v = v, .seed = 42 };
    const bool good = judge_case(dev, ops, &c);

    if (!good && !quiet)
        diag("%s%s%s%s%s, argument %d absent: %s", types[v.type],
             v.overwrite ? ", overwritten" : "",
             v.whole ? ", whole numbers" : "", v.in_place ? ", in place" : "",
             v.fp8 ? ", products in fp8" : "", v.absent, c.why);
    return good;
}

int judge_shape(struct dev *dev, const struct ops *ops,
                const struct op_test *test, const int64_t *shape, bool quiet)
{
    struct op_case c = { .test = test };
    int failed = 0;

    open_answers(test, shape);
    if (!answers)
        stop("a file cannot be written");
    test->args(c.arg, shape);
    for (int i = -1; i < MAX_ARGS; i++) {
        if (i >= 0 && (!c.arg[i].name || !c.arg[i].optional))
            continue;
        for (int overwrite = 0; overwrite <= has_gradient(&c); overwrite++) {
            for (int t = DT_F32; t <= (i < 0 ? DT_F16 : DT_F32); t++) {
                struct variant v = { .type = (enum dtype)t,
                                     .overwrite = overwrite != 0,
                                     .absent = i };

                failed += !judge_variant(dev, ops, test, shape, v, quiet);
                v.whole = true;
                if (test->whole)
                    failed += !judge_variant(dev, ops, test, shape, v, quiet);
                v.fp8 = test->fp8 > 0 && t == DT_BF16;
                if (test->whole && v.fp8)
                    failed += !judge_variant(dev, ops, test, shape, v, quiet);
                v.whole = false;
                if (v.fp8)
                    failed += !judge_variant(dev, ops, test, shape, v, quiet);
                v.fp8 = false;
                v.in_place = true;
                if (test->alias && (overwrite || !has_gradient(&c)))
                    failed += !judge_variant(dev, ops, test, shape, v, quiet);
            }
        }
    }
    close_answers();
    return failed;
}
