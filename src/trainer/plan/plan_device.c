#include "config.h"
#include "trainer/plan/plan_device.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/machine/cores.h"
#include "common/machine/limits.h"
#include "common/log.h"

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
        return err_set(e, ERR_USAGE,
                       "--device %s: gtrain needs compute capability 8.0, and "
                       "a %s has %d.%d",
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
        return err_set(e, ERR_USAGE,
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
    return err_set(e, ERR_USAGE,
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
    struct buf text = BUF_INIT;

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
    buf_clear(&text);
    return 0;
}

/* 1 / S of plan_device.h; 0 or less if two threads cannot tell. */
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
