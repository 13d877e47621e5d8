/*
 * kernels_same - what holds of the CPU device as a whole: an operation of its
 * own for each, the same bits for any number of threads and any cache, and no
 * memory taken once every operation has been called
 */
#include "config.h"
#include "common/mem.h"
#include "kernels/cpu/cpu.h"
#include "t/lib/tap.h"
#include "t/unit/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The arguments of a case, and what a device made of them. */
struct host_case {
    struct arg arg[MAX_ARGS];
    struct tensor view[MAX_ARGS];
    int n;
};

static uint64_t seed;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 40) / (1 << 24);
}

static void draw_argument(const struct arg *a, struct tensor *t)
{
    for (int64_t i = 0; i < tensor_count(t); i++) {
        const double u = uniform();

        if (a->content == TARGETS && u > 0.75)
            ((int32_t *)t->data)[i] = -1;
        else if (t->type == DT_I32)
            ((int32_t *)t->data)[i] = (int32_t)(u * (double)a->limit);
        else if (t->type == DT_F64)
            ((double *)t->data)[i] = u;
        else
            ((float *)t->data)[i] =
                (float)(a->content == POSITIVE ? u + 0.1 : u - 0.5);
    }
}

static void make_case(struct host_case *c, const struct op_test *t,
                      const int64_t *shape)
{
    struct tensor *a[MAX_ARGS] = { NULL };

    *c = (struct host_case){ .n = 0 };
    t->args(c->arg, shape);
    seed = 5;
    for (; c->n < MAX_ARGS && c->arg[c->n].name; c->n++) {
        const enum content content = c->arg[c->n].content;
        struct tensor *v = &c->view[c->n];

        *v = (struct tensor){ .type = content == DOUBLE ? DT_F64
                                      : content == TOKENS || content == TARGETS
                                          ? DT_I32
                                          : DT_F32 };
        while (v->rank < 4 && c->arg[c->n].dim[v->rank] > 0) {
            v->dim[v->rank] = c->arg[c->n].dim[v->rank];
            v->rank++;
        }
        v->data = xmalloc(tensor_bytes(v));
        draw_argument(&c->arg[c->n], v);
        a[c->n] = v;
    }
    if (t->prepare)
        t->prepare(a, shape);
}

static void call_case(struct dev *dev, const struct op_test *t,
                      const int64_t *shape, struct host_case *c)
{
    struct tensor *a[MAX_ARGS] = { NULL };

    for (int i = 0; i < c->n; i++)
        a[i] = &c->view[i];
    t->call(dev->ops, dev, a, shape);
}

static void free_case(struct host_case *c)
{
    for (int i = 0; i < c->n; i++)
        free(c->view[i].data);
}

static bool open_cpu(struct dev *dev, const char *isa, int threads)
{
    struct err e = { 0 };

    setenv("GTRAIN_ISA", isa, 1);
    *dev = (struct dev){ .threads = threads, .deterministic = true };
    return dev_open(dev, "cpu", &e) == 0;
}

/* Whether two devices leave the same bits behind. */
static bool same_bits(struct dev *one, struct dev *other,
                      const struct op_test *t, const int64_t *shape)
{
    struct host_case a, b;
    bool same = true;

    make_case(&a, t, shape);
    make_case(&b, t, shape);
    call_case(one, t, shape, &a);
    call_case(other, t, shape, &b);
    for (int i = 0; i < a.n; i++)
        same = same && (a.arg[i].role == SCRATCH ||
                        memcmp(a.view[i].data, b.view[i].data,
                               tensor_bytes(&a.view[i])) == 0);
    free_case(&a);
    free_case(&b);
    return same;
}

/* How many operations of two devices leave different bits. */
static int count_different(struct dev *one, struct dev *other, const char *how)
{
    int differ = 0;

    for (int k = 0; op_tests[k]; k++) {
        const struct op_test *t = op_tests[k];

        for (int s = 0; s < MAX_SHAPES && t->shape[s][0]; s++) {
            if (same_bits(one, other, t, t->shape[s]))
                continue;
            diag("%s, shape %d, %s", t->name, s, how);
            differ++;
        }
    }
    return differ;
}

static void check_threads(const char *isa)
{
    static const int threads[] = { 2, 3, 7, 70 };
    struct dev one, many;
    int differ = 0;

    if (!open_cpu(&one, isa, 1)) {
        skip("this CPU does not have it",
             "%s gives the same bits on 1, 2, 3, 7 and 70 threads", isa);
        return;
    }
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        char how[32];

        if (!open_cpu(&many, isa, threads[i]))
            abort();
        snprintf(how, sizeof how, "%d threads", threads[i]);
        differ += count_different(&one, &many, how);
        dev_close(&many);
    }
    ok(!differ, "%s has the same bits on 1, 2, 3, 7 and 70 threads", isa);
    dev_close(&one);
}

/* A processor with a small second cache divides products in another way. */
static void check_caches(const char *isa)
{
    struct dev large, small;

    if (!open_cpu(&large, isa, 2)) {
        skip("this CPU does not have it",
             "%s gives the same bits with any second cache", isa);
        return;
    }
    if (!open_cpu(&small, isa, 2))
        abort();
    ((struct cpu *)large.state)->near = 160 << 10;
    ((struct cpu *)small.state)->near = 100;
    ok(count_different(&large, &small, "a small cache") == 0,
       "%s gives the same bits with any second cache", isa);
    dev_close(&small);
    dev_close(&large);
}

/* A row left out of the CPU's table would be the slow reference. */
static void check_table(void)
{
    struct dev dev;

    if (!open_cpu(&dev, "c", 1))
        abort();
#define CHECK(op)                                                              \
    ok(dev.ops->op != NULL && dev.ops->op != ref_ops.op,                       \
       "the CPU has its own %s, not the reference", #op);
    OPS_ALL(CHECK)
#undef CHECK
    dev_close(&dev);
}

/* ---- memory -------------------------------------------------------------- */

/*
 * Call everything once, so that scratch memory reaches its size, and again:
 * its address and size must stay.  An operation has no other memory.
 */
static void check_memory(void)
{
    struct dev dev;
    struct cpu *cpu;
    size_t room = 0;
    const void *place = NULL;

    if (!open_cpu(&dev, "c", 2))
        abort();
    cpu = dev.state;
    for (int round = 0; round < 2; round++) {
        for (int k = 0; op_tests[k]; k++) {
            const struct op_test *t = op_tests[k];

            for (int s = 0; s < MAX_SHAPES && t->shape[s][0]; s++) {
                struct host_case c;

                make_case(&c, t, t->shape[s]);
                call_case(&dev, t, t->shape[s], &c);
                free_case(&c);
            }
        }
        if (round == 0) {
            room = cpu->room;
            place = cpu->scratch;
        }
    }
    ok(room > 0 && cpu->room == room && cpu->scratch == place,
       "no operation allocates memory when it is called again");
    dev_close(&dev);
}

int main(void)
{
    check_threads("avx512bf16");
    check_threads("avx512");
    check_threads("avx2");
    check_threads("sve512");
    check_threads("sve256");
    check_threads("neon");
    check_threads("c");
    check_caches("avx512bf16");
    check_caches("avx512");
    check_caches("avx2");
    check_caches("sve512");
    check_caches("sve256");
    check_caches("neon");
    check_caches("c");
    check_table();
    check_memory();
    return done_testing();
}
