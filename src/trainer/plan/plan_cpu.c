#include "config.h"
#include "trainer/plan/plan_cpu.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/cores.h"
#include "common/log.h"
#include "kernels/head_rows.h"
#include "trainer/device/measure.h"
#include "trainer/model/graph_calls.h"

/* plan.cpu_rates has billions a second, and millions of regions. */
static const double units[CPU_RATES] = {
    [CPU_PRODUCT] = 1e9,  [CPU_PRODUCT_2] = 1e9, [CPU_PACK] = 1e9,
    [CPU_VECTOR] = 1e9,   [CPU_MEMORY] = 1e9,    [CPU_MEMORY_2] = 1e9,
    [CPU_REGION_2] = 1e6, [CPU_SEND] = 1e9,
};

/* ---- rates ------------------------------------------------------------- */

/* Rows of a long and narrow product, and the sides of its small matrix. */
enum { LONG = 4096, NARROW_IN = 512, NARROW_OUT = 64 };

/* The rate at which the operands of a product are packed, in what is left of
 * the time of a narrow one after its multiplications. */
static double pack_rate(double narrow, double product)
{
    const double flops = 2.0 * LONG * NARROW_IN * NARROW_OUT;
    const double packed = (double)(LONG + NARROW_OUT) * NARROW_IN;
    const double left = flops / narrow - flops / product;

    return left > 0 ? packed / left : product;
}

/* Other work may interfere, so each rate is the best of several rounds. */
static void measure_rates(struct plan_cpu *c, enum dtype type, struct dev *one,
                          struct dev *two)
{
    enum { ROUNDS = 3 };
    double narrow = 0;

    for (int k = 0; k < ROUNDS; k++) {
        const double now[CPU_RATES] = {
            [CPU_PRODUCT] = measure_matmul(one, type),
            [CPU_PRODUCT_2] = measure_matmul(two, type),
            [CPU_VECTOR] = measure_activations(one, type),
            [CPU_MEMORY] = measure_copy(one),
            [CPU_MEMORY_2] = measure_copy(two),
            [CPU_REGION_2] = measure_regions(2),
            [CPU_SEND] = measure_loopback(),
        };

        narrow = fmax(narrow,
                      measure_product(one, type, LONG, NARROW_IN, NARROW_OUT));
        for (int i = 0; i < CPU_RATES; i++)
            c->rate[i] = fmax(k ? c->rate[i] : 0, now[i]);
    }
    c->rate[CPU_PACK] = pack_rate(narrow, c->rate[CPU_PRODUCT]);
}

static int measure_cpu(struct plan_cpu *c, enum dtype type, struct err *e)
{
    struct dev one = { .threads = 1 }, two = { .threads = 2 };

    if (dev_open(&one, "cpu", e) < 0)
        return -1;
    if (dev_open(&two, "cpu", e) < 0) {
        dev_close(&one);
        return -1;
    }
    measure_rates(c, type, &one, &two);
    dev_close(&one);
    dev_close(&two);
    return 0;
}

static void tell_rates(const struct plan_cpu *c)
{
    struct buf text = BUF_INIT;

    for (int i = 0; i < CPU_RATES; i++)
        buf_printf(&text, "%s%.3g", i ? "," : "", c->rate[i] / units[i]);
    log_info("measured: plan.cpu_rates=%s", text.s);
    buf_clear(&text);
}

/* 1 / S of plan_cpu.h; not above 0: two threads do not tell. */
static double memory_limit(const struct plan_cpu *c)
{
    return 2 / c->rate[CPU_MEMORY_2] - 1 / c->rate[CPU_MEMORY];
}

static void tell_limit(const struct plan_cpu *c)
{
    const double limit = memory_limit(c);

    if (limit > 0)
        log_info("with many threads, the memory's rate approaches %.3g GB/s",
                 1e-9 / limit);
    else
        log_info("two threads do not show where the memory's rate ends");
}

int plan_cpu_open(struct plan_cpu *c, const struct settings *s, enum dtype type,
                  struct err *e)
{
    const struct conf_reals *given = &s->plan.cpu_rates;

    if (given->n == 0 && measure_cpu(c, type, e) < 0)
        return -1;
    if (given->n != 0 && given->n != CPU_RATES)
        return conf_fail(&s->conf, "plan.cpu_rates", e,
                         "expects %d numbers, not %d", CPU_RATES, given->n);
    for (int i = 0; i < CPU_RATES; i++) {
        if (given->n > 0)
            c->rate[i] = given->x[i] * units[i];
        if (c->rate[i] <= 0)
            return conf_fail(&s->conf, "plan.cpu_rates", e,
                             "expects positive numbers");
    }
    if (given->n == 0)
        tell_rates(c);
    tell_limit(c);
    return 0;
}

/* ---- with many threads ------------------------------------------------- */

static double memory_rate(const struct plan_cpu *c, int n)
{
    const double one = c->rate[CPU_MEMORY], two = c->rate[CPU_MEMORY_2];
    const double limit = memory_limit(c);

    if (n < 2)
        return one;
    return limit > 0 ? 1 / ((1 / one - limit) / n + limit) : n * two / 2;
}

static void share_rates(struct plan_cpu *c, const struct settings *s, int ranks,
                        int threads, int cores)
{
    const int all = ranks * threads, busy = all < cores ? all : cores;
    const double each = (double)busy / ranks; /* cores of a rank */
    const double *rate = c->rate;

    c->threads = threads;
    c->product =
        each * (busy < 2 ? rate[CPU_PRODUCT] : rate[CPU_PRODUCT_2] / 2);
    c->pack = each * rate[CPU_PACK];
    c->vector = each * rate[CPU_VECTOR];
    c->region = threads < 2 ? 0 : threads / rate[CPU_REGION_2] / 2;
    c->hardware = (struct hardware){
        .name = "this CPU",
        .gib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) /
               ranks / 0x1p30,
        .memory = memory_rate(c, busy) / ranks / 1e9,
        .link = rate[CPU_SEND] / 1e9 * (each < 1 ? each : 1),
        .devices = 1,
    };
    c->hardware.tflops[s->train.precision] = c->product / 1e12;
}

bool plan_cpu_use(struct plan_cpu *c, const struct settings *s, int ranks,
                  int i)
{
    const int n = i < c->n_counts ? c->counts[i] : 0;

    if (n > 0)
        share_rates(c, s, ranks, n, ranks * n);
    else if (i == 0)
        share_rates(c, s, ranks, hardware_threads(s, ranks, true),
                    cores_of_rank(1, false));
    return n > 0 || i == 0;
}

int plan_cpu_threads(struct plan_cpu *c, const char *list, struct err *e)
{
    for (const char *at = list; c->n_counts < CPU_COUNTS;) {
        char *end;
        const long n = strtol(at, &end, 10);

        if (end == at || n < 1 || n > 4096 || (*end && *end != ','))
            break;
        c->counts[c->n_counts++] = (int)n;
        if (!*end)
            return 0;
        at = end + 1;
    }
    return err_set(e, ERR_USAGE,
                   "--threads expects up to %d numbers, such as 1,2,4, not "
                   "'%s'",
                   CPU_COUNTS, list);
}

/* ---- operations -------------------------------------------------------- */

/* A thread multiplies so many rows and columns at a time (gemm.h); pieces of
 * the sums have so many numbers. */
enum { PIECE_ROWS = 14, PIECE_COLS = 384, PIECE_DEPTH = 384 };

static double pieces_of(int64_t n, int64_t size)
{
    return (double)((n + size - 1) / size);
}

/* How much longer work takes whose pieces cannot be divided evenly. */
static double idle_part(const struct plan_cpu *c, double pieces)
{
    return c->threads * ceil(pieces / c->threads) / pieces - 1;
}

/* A product of (m,k) and (k,n): packing, the wait for the last piece, and the
 * regions. */
static double product_more(const struct plan_cpu *c, int64_t m, int64_t n,
                           int64_t k)
{
    const double pieces = pieces_of(m, PIECE_ROWS) * pieces_of(n, PIECE_COLS);
    const double flops = 2.0 * (double)m * (double)n * (double)k;

    return (double)(m + n) * (double)k / c->pack +
           flops / c->product * idle_part(c, pieces) +
           (1 + pieces_of(k, PIECE_DEPTH)) * c->region;
}

static double linear_more(const struct plan_cpu *c, const struct graph *g,
                          const struct graph_node *n, bool backward)
{
    const struct graph_node *x = &g->node[n->src[0]];
    const struct tensor *w = &g->node[n->src[1]].val;
    const int64_t rows = tensor_rows(&x->val), M = w->dim[0], C = w->dim[1];

    if (!backward)
        return product_more(c, rows, M, C);
    return product_more(c, M, C, rows) +
           (x->no_grad ? 0 : product_more(c, rows, C, M));
}

static double head_more(const struct plan_cpu *c, const struct graph *g,
                        const struct graph_node *n)
{
    const struct tensor *w = &g->node[n->src[1]].val;
    const int64_t N = n->val.dim[0], V = w->dim[0], C = w->dim[1];
    const int64_t rows = head_rows_cpu(N, V);

    return pieces_of(N, rows) *
               (product_more(c, rows, V, C) + product_more(c, rows, C, V) +
                product_more(c, V, C, rows)) +
           2 * (double)N * (double)V / c->vector;
}

/* Heads are not divided; half of the scores are computed. */
static double attention_more(const struct plan_cpu *c, const struct graph *g,
                             int call)
{
    const struct graph_node *n = &g->node[g->call[call].node];
    const struct attn *a = &n->attr.attn;
    const int64_t rows = tensor_rows(&n->val);
    const double scores = (double)rows * (double)(a->T * a->H) / 2;
    const double pieces = (double)(rows / a->T * a->K);

    return scores / c->vector + c->region +
           graph_call_flops(g, call) / c->product * idle_part(c, pieces);
}

double plan_cpu_more(const struct plan_cpu *c, const struct graph *g, int call)
{
    const struct graph_call *k = &g->call[call];
    const struct graph_node *n = &g->node[k->node];
    const bool backward = graph_call_is_backward(k);

    switch (k->kind) {
    case CALL_HEAD:
        return head_more(c, g, n);
    case CALL_LINEAR_ACT:
        return linear_more(c, g, &g->node[n->src[0]], false) +
               (double)tensor_count(&n->val) / c->vector;
    case CALL_ACT_LINEAR_BACK:
        return linear_more(c, g, n, true) +
               (double)tensor_count(&g->node[n->src[0]].val) / c->vector;
    default:
        break;
    }
    if (n->op == OP_LINEAR)
        return linear_more(c, g, n, backward);
    if (n->op == OP_ATTENTION)
        return attention_more(c, g, call);
    return (double)tensor_count(&n->val) / c->vector + c->region;
}
