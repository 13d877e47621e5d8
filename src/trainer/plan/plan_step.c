#include "config.h"
#include "trainer/plan/plan_step.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/machine/cores.h"
#include "common/machine/limits.h"
#include "common/mem.h"
#include "kernels/head_rows.h"
#include "trainer/model/graph_calls.h"
#include "trainer/ranks/parallel.h"

/* plan.cpu_rates, in billions a second; regions in millions. */
enum {
    PRODUCT,   /* a large product of matrices, FLOP */
    PRODUCT_2, /* PRODUCT with two threads */
    PACK,      /* numbers of operands that are packed for products */
    VECTOR,    /* numbers in the cache that an activation is applied to */
    MEMORY,    /* bytes read and written */
    MEMORY_2,  /* MEMORY with two threads */
    REGION_2,  /* parallel regions of two threads */
    SEND,      /* bytes sent and received between two ranks */
};

/* ---- arguments -------------------------------------------------------- */

/* Does the name of a device begin with `name`, but for case, spaces and dashes?
 * Sets *whole if it is the whole name. */
static bool is_named(const char *device, const char *name, bool *whole)
{
    for (;; device++, name++) {
        name += strspn(name, " -");
        device += strspn(device, " -");
        if (!*name) {
            *whole = !*device;
            return true;
        }
        if (tolower((unsigned char)*name) != tolower((unsigned char)*device))
            return false;
    }
}

int plan_device_find(struct plan_device *d, const char *name, struct err *e)
{
    const struct gpu *found = NULL;
    bool whole = false;

    d->gpu.name = NULL;
    if (strcmp(name, "cpu") == 0)
        return 0;
    for (const struct gpu *g = gpu_table; g->name && !whole; g++)
        if (*name && g->link > 0 && is_named(g->name, name, &whole) &&
            (whole || !found))
            found = g;
    if (!found)
        return err_set(
            e, ERR_USAGE,
            "--device expects cpu or a GPU, such as a100-80gb, h100, "
            "b200, l40s, a10g or rtx4090, not '%s'",
            name);
    if (found->capability < GPU_CAPABILITY)
        return err_usage(e,
                         "--device %s: gtrain needs compute capability 8.0, "
                         "and a %s has %d.%d",
                         name, found->name, found->capability / 10,
                         found->capability % 10);
    d->gpu = hardware_of(found);
    return 0;
}

int plan_device_network(struct plan_device *d, const char *rate, struct err *e)
{
    char *end;
    const double n = strtod(rate, &end);
    const double unit = *end == 'G' ? 1e9 : *end == 'M' ? 1e6 : 0;

    if (!(n > 0) || !isfinite(n) || unit == 0 || strcmp(end + 1, "b") != 0)
        return err_usage(e,
                         "--network expects bits per second for each GPU, such "
                         "as 400Gb, not '%s'",
                         rate);
    d->network = n * unit / 8;
    return 0;
}

int plan_device_threads(struct plan_device *d, const char *list, struct err *e)
{
    for (const char *at = list; d->n_threads < PLAN_CPU_COUNTS;) {
        char *end;
        const long n = strtol(at, &end, 10);

        if (end == at || n < 1 || n > 4096 || (*end && *end != ','))
            break;
        d->threads[d->n_threads++] = (int)n;
        if (!*end)
            return 0;
        at = end + 1;
    }
    return err_usage(e,
                     "--threads expects up to %d numbers, such as 1,2,4, not "
                     "'%s'",
                     PLAN_CPU_COUNTS, list);
}

/* ---- the rates of a CPU ------------------------------------------------- */

/* Rows of a long and narrow product, and the sides of its small matrix. */
enum { LONG = 4096, NARROW_IN = 512, NARROW_OUT = 64 };

/* The rate at which the operands of a product are packed, from the time of a
 * narrow product less the time of its multiplications. */
static double pack_rate(double narrow, double product)
{
    const double flops = 2.0 * LONG * NARROW_IN * NARROW_OUT;
    const double packed = (double)(LONG + NARROW_OUT) * NARROW_IN;
    const double left = flops / narrow - flops / product;

    return left > 0 ? packed / left : product;
}

/* Other work may interfere, so each rate is the best of several rounds. */
static void measure_rates(double rate[PLAN_CPU_RATES], enum dtype type,
                          struct dev *one, struct dev *two)
{
    enum { ROUNDS = 3 };
    double narrow = 0;

    for (int k = 0; k < ROUNDS; k++) {
        const double now[PLAN_CPU_RATES] = {
            [PRODUCT] = measure_large_product(one, type),
            [PRODUCT_2] = measure_large_product(two, type),
            [VECTOR] = measure_activations(one, type),
            [MEMORY] = measure_copy(one),
            [MEMORY_2] = measure_copy(two),
            [REGION_2] = 1e3 * measure_regions(2),
            [SEND] = measure_loopback(),
        };

        narrow = fmax(narrow,
                      measure_product(one, type, LONG, NARROW_IN, NARROW_OUT));
        for (int i = 0; i < PLAN_CPU_RATES; i++)
            rate[i] = fmax(k ? rate[i] : 0, now[i] / 1e9);
    }
    rate[PACK] = pack_rate(narrow / 1e9, rate[PRODUCT]);
}

static int measure_cpu(struct plan_device *d, enum dtype type, struct err *e)
{
    struct dev one = { .threads = 1 }, two = { .threads = 2 };
    AUTO(buf_clear) struct buf text = BUF_INIT;

    if (dev_open(&one, "cpu", e) < 0)
        return -1;
    if (dev_open(&two, "cpu", e) < 0) {
        dev_close(&one);
        return -1;
    }
    measure_rates(d->cpu, type, &one, &two);
    dev_close(&one);
    dev_close(&two);
    for (int i = 0; i < PLAN_CPU_RATES; i++)
        buf_printf(&text, "%s%.3g", i ? "," : "", d->cpu[i]);
    log_info("measured: plan.cpu_rates=%s", text.s);
    return 0;
}

/* 1 / S of plan_step.h; 0 or less if two threads cannot tell. */
static double memory_limit(const struct plan_device *d)
{
    return 2 / d->cpu[MEMORY_2] - 1 / d->cpu[MEMORY];
}

static int open_cpu(struct plan_device *d, const struct settings *s,
                    enum dtype type, struct err *e)
{
    const struct conf_reals *given = &s->plan.cpu_rates;

    if (given->n == 0 && measure_cpu(d, type, e) < 0)
        return -1;
    if (given->n != 0 && given->n != PLAN_CPU_RATES)
        return conf_fail(&s->conf, "plan.cpu_rates", e,
                         "expects %d numbers, not %d", PLAN_CPU_RATES,
                         given->n);
    for (int i = 0; i < PLAN_CPU_RATES; i++) {
        if (given->n > 0)
            d->cpu[i] = given->x[i];
        if (d->cpu[i] <= 0)
            return conf_fail(&s->conf, "plan.cpu_rates", e,
                             "expects positive numbers");
    }
    if (memory_limit(d) > 0)
        log_info("with many threads, the memory bandwidth approaches %.3g GB/s",
                 1 / memory_limit(d));
    else
        log_info("cannot tell the memory bandwidth of this CPU from two "
                 "threads");
    return 0;
}

int plan_device_open(struct plan_device *d, const struct settings *s,
                     enum dtype type, struct err *e)
{
    if (s->train.fp8 != FP8_OFF && !(d->gpu.tflops[HARDWARE_FP8] > 0))
        return conf_fail(&s->conf, "train.fp8", e,
                         "%s cannot multiply fp8, which needs compute "
                         "capability 8.9 or higher",
                         d->gpu.name ? d->gpu.name : "a CPU");
    return d->gpu.name ? 0 : open_cpu(d, s, type, e);
}

static double memory_rate(const struct plan_device *d, int threads)
{
    const double one = d->cpu[MEMORY], two = d->cpu[MEMORY_2];
    const double limit = memory_limit(d);

    if (threads < 2)
        return one;
    return limit > 0 ? 1 / ((1 / one - limit) / threads + limit)
                     : threads * two / 2;
}

/* ---- the rates of a rank ------------------------------------------------ */

/* Measured rates are fully reached.  The rate of attention is higher, since its
 * FLOP include scores that are not computed. */
static struct plan_rates cpu_rates(const struct plan_device *d, int ranks,
                                   int threads, int cores)
{
    const int all = ranks * threads, busy = all < cores ? all : cores;
    const double each = (double)busy / ranks; /* cores of a rank */
    const double *rate = d->cpu;
    const double product =
        1e9 * each * (busy < 2 ? rate[PRODUCT] : rate[PRODUCT_2] / 2);

    return (struct plan_rates){
        .name = "this CPU",
        .is_cpu = true,
        .threads = threads,
        .gib = limits_memory("", NULL, 0) / ranks / 0x1p30,
        .peak = product,
        .flops = { [LIMIT_PRODUCTS] = product,
                   [LIMIT_ATTENTION] = 1.4 * product },
        .memory = 1e9 * memory_rate(d, busy) / ranks,
        .link = 1e9 * rate[SEND] * (each < 1 ? each : 1),
        .pack = 1e9 * each * rate[PACK],
        .vector = 1e9 * each * rate[VECTOR],
        .region = threads < 2 ? 0 : threads / (1e6 * rate[REGION_2]) / 2,
    };
}

/* The assumed shares of the rates in data sheets that are reached. */
static const double gpu_products = 0.7, gpu_attention = 0.3, gpu_memory = 0.85,
                    gpu_links = 0.8;

static struct plan_rates gpu_rates(const struct hardware *h, enum precision p)
{
    const double peak = 1e12 * h->tflops[p];

    return (struct plan_rates){
        .name = h->name,
        .threads = 1,
        .gib = h->gib,
        .peak = peak,
        .flops = { [LIMIT_PRODUCTS] = gpu_products * peak,
                   [LIMIT_FP8] = gpu_products * 1e12 * h->tflops[HARDWARE_FP8],
                   [LIMIT_ATTENTION] = gpu_attention * peak },
        .memory = gpu_memory * 1e9 * h->memory,
        .link = gpu_links * 1e9 * h->link,
        .pack = INFINITY,
        .vector = INFINITY,
    };
}

bool plan_device_rates(const struct plan_device *d, const struct settings *s,
                       int ranks, int i, struct plan_rates *r)
{
    enum { PER_MACHINE = 8 };

    if (i > 0 && i >= d->n_threads)
        return false;
    if (d->gpu.name)
        *r = gpu_rates(&d->gpu, s->train.precision);
    else if (i < d->n_threads)
        *r = cpu_rates(d, ranks, d->threads[i], ranks * d->threads[i]);
    else
        *r = cpu_rates(d, ranks, hardware_threads(s, ranks, true),
                       cores_of_rank(1, false));
    if (ranks > PER_MACHINE)
        r->link = fmin(r->link, (d->gpu.name ? gpu_links : 1) * d->network);
    return true;
}

/* ---- memory ------------------------------------------------------------ */

/* As in kernels/cuda/: each queue has a workspace for products; scratch memory
 * is allocated in steps, one of which holds the sums of a bias before they are
 * added to the sums of earlier micro-steps. */
enum { QUEUES = 2, WORKSPACE = 64 << 20, SCRATCH_STEP = 2 << 20 };

/* The logits of a chunk of rows; in fp8 also their gradient, the activations
 * and the weights, each of them twice: as it is and transposed. */
static int64_t head_bytes(const struct settings *s, int64_t N, double gib)
{
    const int64_t V = s->is.vocab_padded, ld = (V + 63) / 64 * 64;
    const bool fp8 = s->train.fp8 != FP8_OFF;
    const size_t element = s->train.precision == PRECISION_FP32 ? 4 : 2;
    const int64_t rows =
        head_rows((int64_t)(gib * 0x1p30), N, ld, fp8 ? 2 * element : element);

    return rows * ld * (int64_t)element +
           (fp8 ? 2 * (rows * V + (N + V) * s->model.width) : 0);
}

/* The gradient of attention: a sum for each query of a head and, in 16 bits,
 * where cuDNN adds up the gradient of the queries. */
static int64_t attention_bytes(const struct settings *s, int64_t N)
{
    const bool wide = s->train.precision != PRECISION_FP32;

    return 4 * N * s->model.heads * (1 + (wide ? s->is.head_dim : 0));
}

/* Scratch memory has the size of the operation that needs most. */
static int64_t gpu_scratch(const struct settings *s, int64_t B, double gib)
{
    const int64_t N = B * s->model.context;
    const int64_t head = head_bytes(s, N, gib), attn = attention_bytes(s, N);
    const int64_t most = head > attn ? head : attn;

    return QUEUES * (int64_t)WORKSPACE +
           (s->is.accumulate > 1 ? SCRATCH_STEP : 0) +
           (most + SCRATCH_STEP - 1) / SCRATCH_STEP * SCRATCH_STEP;
}

void plan_memory_find(struct settings *s, int ranks, enum parallel_mode mode,
                      int64_t B, double gib, struct rank_memory *most)
{
    rank_memory_find(s, ranks, mode, B, most);
    if (gib > 0)
        most->scratch = gpu_scratch(s, B, gib);
}

static double sum_bytes(struct settings *s, int ranks, int64_t B, double gib)
{
    struct rank_memory m;

    plan_memory_find(s, ranks, s->parallel.mode, B, gib, &m);
    return (double)rank_memory_sum(&m);
}

/* A tenth is left to other uses. */
static double usable(double gib)
{
    return 0.9 * gib * 0x1p30;
}

int64_t plan_memory_batch(struct settings *s, int ranks, double gib)
{
    const double limit = usable(gib);
    const bool given = s->train.batch || s->train.tokens_per_step;
    int64_t low = 0, high = 1;

    while (high < 65536 && sum_bytes(s, ranks, high, gib) <= limit) {
        low = high;
        high *= 2;
    }
    while (low + 1 < high) {
        const int64_t mid = (low + high) / 2;

        if (sum_bytes(s, ranks, mid, gib) <= limit)
            low = mid;
        else
            high = mid;
    }
    while (given && low > 1 && s->is.windows % (low * ranks) != 0)
        low--;
    return low;
}

double plan_memory_model(struct settings *s, int ranks, double gib)
{
    struct rank_memory m;
    double state;

    plan_memory_find(s, ranks, s->parallel.mode, 1, gib, &m);
    state = (double)(m.bytes[DEV_WEIGHTS] + m.bytes[DEV_GRADS] +
                     m.bytes[DEV_MOMENTS]);
    return usable(gib) / state * (double)s->is.parameters;
}

/* ---- what an operation does --------------------------------------------- */

/* The terms of the formula in plan_step.h. */
struct cost {
    double flops, bytes, passes, packed, numbers, regions, idle;
    enum plan_limit limit;
};

/* A thread of a CPU multiplies this many rows and columns at a time, with
 * AVX-512 (gemm.h); a region adds this many products to a sum. */
enum { PIECE_ROWS = 14, PIECE_COLS = 384, PIECE_DEPTH = 384 };

static double pieces_of(int64_t n, int64_t size)
{
    return (double)((n + size - 1) / size);
}

/* The share of the work during which threads without a piece of it wait. */
static double idle_part(int threads, double pieces)
{
    return threads * ceil(pieces / threads) / pieces - 1;
}

/* A product of (m,k) and (k,n). */
static void add_product(struct cost *c, int threads, int64_t m, int64_t n,
                        int64_t k)
{
    const double pieces = pieces_of(m, PIECE_ROWS) * pieces_of(n, PIECE_COLS);

    c->packed += (double)(m + n) * (double)k;
    c->idle +=
        2.0 * (double)m * (double)n * (double)k * idle_part(threads, pieces);
    c->regions += 1 + pieces_of(k, PIECE_DEPTH);
}

/* To round a matrix of bf16 to fp8, it is read twice, first for its largest
 * element, and written once or, if its transpose is also needed, twice.  The
 * bound of the head's gradient is known. */
static double rounding_bytes(const struct graph_node *n, const struct tensor *w,
                             bool backward)
{
    const double rows = (double)n->val.dim[0];
    const double x = rows * (double)w->dim[1] + (double)tensor_count(w);
    const double y = rows * (double)w->dim[0];

    if (n->op == OP_HEAD)
        return 6 * x + 4 * y;
    return 5 * x + (backward ? 6 * y : 0);
}

static void add_linear(struct cost *c, int threads, const struct graph *g,
                       const struct graph_node *n, bool backward)
{
    const struct graph_node *x = &g->node[n->src[0]];
    const struct tensor *w = &g->node[n->src[1]].val;
    const int64_t rows = tensor_rows(&x->val), M = w->dim[0], C = w->dim[1];

    if (w->fp8) {
        c->limit = LIMIT_FP8;
        c->passes += rounding_bytes(n, w, backward);
    }
    if (!backward)
        add_product(c, threads, rows, M, C);
    else
        add_product(c, threads, M, C, rows);
    if (backward && !x->no_grad)
        add_product(c, threads, rows, C, M);
}

/* Rows are divided into chunks.  The logits are written; the softmax reads them
 * and overwrites them with their gradient, in a pass between the products. */
static void add_head(struct cost *c, int threads, const struct graph *g,
                     const struct graph_node *n)
{
    const struct tensor *w = &g->node[n->src[1]].val;
    const int64_t N = n->val.dim[0], V = w->dim[0], C = w->dim[1];
    const int64_t rows = head_rows_cpu(N, V);

    for (int64_t at = 0; at < N; at += rows) {
        add_product(c, threads, rows, V, C);
        add_product(c, threads, rows, C, V);
        add_product(c, threads, V, C, rows);
    }
    c->numbers += 2 * (double)N * (double)V;
    c->passes += 2 * (double)N * (double)V * (double)dtype_size(g->type);
    if (w->fp8) {
        c->limit = LIMIT_FP8;
        c->passes += rounding_bytes(n, w, true);
    }
}

/* Heads are not divided among threads; half of the scores are computed. */
static void add_attention(struct cost *c, int threads,
                          const struct graph_node *n)
{
    const struct attn *a = &n->attr.attn;
    const double rows = (double)tensor_rows(&n->val);

    c->limit = LIMIT_ATTENTION;
    c->numbers += rows * (double)(a->T * a->H) / 2;
    c->regions++;
    c->idle +=
        c->flops * idle_part(threads, rows / (double)(a->T) * (double)a->K);
}

static struct cost find_cost(const struct graph *g, int call, int threads)
{
    const struct graph_call *k = &g->call[call];
    const struct graph_node *n = &g->node[k->node];
    const struct graph_node *x = &g->node[n->src[0]];
    struct cost c = { .flops = graph_call_flops(g, call),
                      .bytes = graph_call_bytes(g, call) };

    if (k->kind == CALL_HEAD) {
        add_head(&c, threads, g, n);
    } else if (k->kind == CALL_LINEAR_ACT) {
        add_linear(&c, threads, g, x, false);
        c.numbers += (double)tensor_count(&n->val);
    } else if (k->kind == CALL_ACT_LINEAR_BACK) {
        add_linear(&c, threads, g, n, true);
        c.numbers += (double)tensor_count(&x->val);
    } else if (n->op == OP_LINEAR) {
        add_linear(&c, threads, g, n, graph_call_is_backward(k));
    } else if (n->op == OP_ATTENTION) {
        add_attention(&c, threads, n);
    } else {
        c.numbers += (double)tensor_count(&n->val);
        c.regions++;
    }
    return c;
}

static double cost_seconds(const struct cost *c, const struct plan_rates *r)
{
    return fmax(c->flops / r->flops[c->limit], c->bytes / r->memory) +
           c->passes / r->memory + c->packed / r->pack +
           c->numbers / r->vector + c->regions * r->region +
           c->idle / r->flops[LIMIT_PRODUCTS];
}

/* ---- the operations of a step ------------------------------------------- */

struct plan_work *plan_works_find(struct plan_works *w, const char *name)
{
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->work[i].name, name) == 0)
            return &w->work[i];
    APPEND(w->work, w->n, w->room) = (struct plan_work){ .name = name };
    return &w->work[w->n - 1];
}

static void add_work(struct plan_works *w, const char *name,
                     enum plan_phase phase, const struct cost *c,
                     const struct plan_rates *r)
{
    const double seconds = cost_seconds(c, r);
    struct plan_work *to = plan_works_find(w, name);

    to->calls++;
    to->flops += c->flops;
    to->bytes += c->bytes + c->passes;
    to->seconds += seconds;
    w->seconds[phase] += seconds;
}

/* For each parameter, the gradient, the weight and the moments are read; the
 * last two are also written, and the 16-bit weight. */
static double update_bytes(const struct settings *s, const struct graph *g)
{
    const bool halves = s->optim.masters == STATE_BF16;
    const double master = halves ? 2 : 4;
    const double moments = s->optim.moments == STATE_BF16 ? 2 * 2 : 2 * 4;
    const double copy =
        g->type == DT_F32 || halves ? 0 : (double)dtype_size(g->type);

    return 4 + 2 * (master + moments) + copy;
}

void plan_step_list(struct plan_works *w, const struct plan_rates *r,
                    const struct settings *s, const struct graph *g,
                    double part)
{
    const double n = (double)g->count * part;

    *w = (struct plan_works){ .n = 0 };
    for (int i = 0; i < g->n_calls; i++) {
        const struct cost c = find_cost(g, i, r->threads);

        add_work(w, graph_call_name(g, i),
                 i < g->n_forward ? PLAN_FORWARD : PLAN_BACKWARD, &c, r);
    }
    add_work(w, "norm of gradient", PLAN_UPDATE,
             &(struct cost){ .bytes = 4 * n }, r);
    add_work(w, "optimiser", PLAN_UPDATE,
             &(struct cost){ .bytes = update_bytes(s, g) * n }, r);
}

/* ---- the time of a step ------------------------------------------------- */

/* How long sums and gathers of a step overlap with computing. */
static double hidden_seconds(const struct plan_works *w, enum parallel_mode m,
                             int64_t micro)
{
    const double forward = w->seconds[PLAN_FORWARD];
    const double backward = w->seconds[PLAN_BACKWARD];

    switch (m) {
    case PARALLEL_DDP:
        return backward;
    case PARALLEL_ZERO1:
        return backward + forward;
    case PARALLEL_ZERO2:
        return (double)micro * backward + forward;
    default:
        return (double)micro * (backward + forward);
    }
}

/* The sum of the embedding's gradient begins when all else has ended. */
static double last_bytes(const struct settings *s, const struct graph *g,
                         int ranks)
{
    const double n = (double)g->unit[g->n_units - 1].count;

    return (double)parallel_sum_size(s) * n * (ranks - 1) / ranks;
}

void plan_step_find(struct plan_step *p, const struct plan_rates *r,
                    struct settings *s, struct gpt *gpt, int ranks,
                    enum parallel_mode mode)
{
    const struct graph *g = &gpt->graph;
    const double micro = (double)s->is.accumulate;
    struct plan_works w;
    double last, rest;

    plan_memory_find(s, ranks, mode, s->train.micro_batch,
                     r->is_cpu ? 0 : r->gib, &p->memory);
    plan_step_list(&w, r, s, g, mode == PARALLEL_DDP ? 1 : 1 / (double)ranks);
    p->compute = micro * (w.seconds[PLAN_FORWARD] + w.seconds[PLAN_BACKWARD]) +
                 w.seconds[PLAN_UPDATE];
    p->sending = (double)p->memory.sent / r->link;
    last = fmin(last_bytes(s, g, ranks) / r->link, p->sending);
    rest = p->sending - last;
    p->exposed =
        last +
        (r->is_cpu
             ? rest / r->threads
             : fmax(0, rest - hidden_seconds(&w, mode, s->is.accumulate)));
    p->seconds = p->compute + p->exposed;
    p->mfu = gpt_flops_per_token(gpt) * (double)s->is.tokens_per_step /
             (p->seconds * ranks * r->peak);
    free(w.work);
}
