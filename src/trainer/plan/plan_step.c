#include "config.h"
#include "trainer/plan/plan_step.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "trainer/model/graph_calls.h"
#include "trainer/plan/plan_memory.h"
#include "trainer/ranks/parallel.h"

/* The parts of the device's rates that are assumed: products, attention, memory
 * and links between ranks. */
struct rate_parts {
    double of[RATE_ATTENTION + 1];
    double memory, links;
};

/* Of the rates of data sheets. */
static const struct rate_parts gpu_parts = {
    { [RATE_PRODUCTS] = 0.7, [RATE_FP8] = 0.7, [RATE_ATTENTION] = 0.3 },
    .memory = 0.85,
    .links = 0.8
};

/* Of measured rates.  Attention counts scores that are not computed. */
static const struct rate_parts cpu_parts = {
    { [RATE_PRODUCTS] = 1, [RATE_FP8] = 1, [RATE_ATTENTION] = 1.4 },
    .memory = 1,
    .links = 1
};

enum { PER_MACHINE = 8 };

/* ---- arguments -------------------------------------------------------- */

/* Does the name of a device begin with this one?  A dash is a space. */
static bool is_named(const struct hardware *h, const char *name)
{
    const char *at = h->name;

    for (; *name && *at; name++, at++)
        if (tolower((unsigned char)*name) != tolower((unsigned char)*at) &&
            !(*name == '-' && *at == ' '))
            return false;
    return !*name;
}

int plan_step_device(struct plan_step *s, const char *name, struct err *e)
{
    if (strcmp(name, "cpu") == 0) {
        s->device = &s->cpu->hardware;
        return 0;
    }
    s->cpu = NULL;
    for (s->device = hardware_table; s->device->name; s->device++)
        if (*name && s->device->link > 0 && is_named(s->device, name))
            return 0;
    return err_set(e, ERR_USAGE,
                   "--device expects cpu, p100, v100, a100-40gb, a100-80gb, "
                   "h100 or h200, not '%s'",
                   name);
}

int plan_step_network(struct plan_step *s, const char *rate, struct err *e)
{
    char *end;
    const double n = strtod(rate, &end);
    const double unit = *end == 'G' ? 1e9 : *end == 'M' ? 1e6 : 0;

    if (!(n > 0) || !isfinite(n) || unit == 0 || strcmp(end + 1, "b") != 0)
        return err_set(
            e, ERR_USAGE,
            "--network expects bits per second for each GPU, such as "
            "400Gb, not '%s'",
            rate);
    s->network = n * unit / 8;
    return 0;
}

int plan_step_check(const struct plan_step *s, const struct settings *set,
                    struct err *e)
{
    if (set->train.fp8 != FP8_OFF && s->device->tflops[HARDWARE_FP8] <= 0)
        return conf_fail(&set->conf, "train.fp8", e,
                         "%s cannot multiply fp8, which needs compute "
                         "capability 8.9 or higher",
                         s->device->name);
    return 0;
}

/* ---- operations ------------------------------------------------------- */

void plan_works_add(struct plan_works *w, const struct plan_work *more)
{
    int i = 0;

    while (i < w->n && strcmp(w->all[i].name, more->name) != 0)
        i++;
    if (i == w->n) {
        GROW(w->all, w->n, w->room);
        w->all[w->n++] = *more;
        return;
    }
    w->all[i].calls += more->calls;
    w->all[i].flops += more->flops;
    w->all[i].bytes += more->bytes;
    w->all[i].seconds += more->seconds;
    w->all[i].backward = more->backward;
}

static double peak_of(const struct plan_step *s, const struct settings *set)
{
    return s->device->tflops[set->train.precision] * 1e12;
}

static const struct rate_parts *parts_of(const struct plan_step *s)
{
    return s->cpu ? &cpu_parts : &gpu_parts;
}

static double memory_rate(const struct plan_step *s)
{
    return parts_of(s)->memory * s->device->memory * 1e9;
}

double plan_step_seconds(const struct plan_step *s, const struct settings *set,
                         enum plan_rate rate, double flops, double bytes)
{
    const double peak = rate == RATE_FP8
                            ? s->device->tflops[HARDWARE_FP8] * 1e12
                            : peak_of(s, set);

    return fmax(flops / (parts_of(s)->of[rate] * peak), bytes / memory_rate(s));
}

/* The head writes its logits, which the softmax reads and overwrites with their
 * gradient: that is a pass of its own, between the products. */
static double softmax_bytes(const struct graph *g, int call)
{
    const struct graph_node *n = &g->node[g->call[call].node];
    const struct tensor *w = &g->node[n->src[1]].val;

    if (g->call[call].kind != CALL_HEAD)
        return 0;
    return 2.0 * (double)tensor_count(&n->val) * (double)w->dim[0] *
           (double)dtype_size(g->type);
}

/* The weights that a call multiplies in fp8, or NULL. */
static const struct tensor *fp8_weights(const struct graph *g, int call)
{
    const struct graph_call *c = &g->call[call];
    const struct graph_node *n = &g->node[c->node];
    const struct tensor *w;

    if (c->kind == CALL_LINEAR_ACT)
        n = &g->node[n->src[0]];
    if (n->op != OP_LINEAR && n->op != OP_HEAD)
        return NULL;
    w = &g->node[n->src[1]].val;
    return w->fp8 ? w : NULL;
}

/* To round a matrix of bf16 to fp8, it is read twice, first for its largest
 * element, and written once or, if its transpose is also needed, twice.  The
 * bound of the head's gradient is known. */
static double rounding_bytes(const struct graph *g, int call)
{
    const struct graph_call *c = &g->call[call];
    const struct tensor *w = fp8_weights(g, call);
    double x, y, n;

    if (!w)
        return 0;
    n = (double)g->node[c->node].val.dim[0];
    x = n * (double)w->dim[1] + (double)tensor_count(w);
    y = n * (double)w->dim[0];
    if (c->kind == CALL_HEAD)
        return 6 * x + 4 * y;
    return 5 * x + (graph_call_is_backward(c) ? 6 * y : 0);
}

static void add_call(const struct plan_step *s, const struct settings *set,
                     const struct graph *g, int call, struct plan_works *o)
{
    const enum graph_op op = g->node[g->call[call].node].op;
    const enum plan_rate rate = op == OP_ATTENTION     ? RATE_ATTENTION
                                : fp8_weights(g, call) ? RATE_FP8
                                                       : RATE_PRODUCTS;
    /* passes of their own, before and between the products */
    const double more = softmax_bytes(g, call) + rounding_bytes(g, call);
    struct plan_work now = { .name = graph_call_name(g, call),
                             .calls = 1,
                             .flops = graph_call_flops(g, call),
                             .bytes = graph_call_bytes(g, call),
                             .backward = call >= g->n_forward };

    now.seconds = plan_step_seconds(s, set, rate, now.flops, now.bytes) +
                  more / memory_rate(s) +
                  (s->cpu ? plan_cpu_more(s->cpu, g, call) : 0);
    now.bytes += more;
    plan_works_add(o, &now);
}

static void add_pass(const struct plan_step *s, const char *name, double bytes,
                     struct plan_works *o)
{
    plan_works_add(o, &(struct plan_work){ .name = name,
                                           .calls = 1,
                                           .bytes = bytes,
                                           .seconds = bytes / memory_rate(s) });
}

/* One micro-step. */
static void list_micro_step(const struct plan_step *s,
                            const struct settings *set, const struct graph *g,
                            struct plan_works *o)
{
    for (int c = 0; c < g->n_calls; c++)
        add_call(s, set, g, c, o);
}

double plan_step_update_bytes(const struct settings *set, const struct graph *g)
{
    const bool halves = set->optim.masters == STATE_BF16;
    const double master = halves ? 2 : 4;
    const double moments = set->optim.moments == STATE_BF16 ? 2 * 2 : 2 * 4;
    const double copy =
        g->type == DT_F32 || halves ? 0 : (double)dtype_size(g->type);

    return 4 + 2 * (master + moments) + copy;
}

/* The update of this part of the model. */
static void list_update(const struct plan_step *s, const struct settings *set,
                        const struct graph *g, double part,
                        struct plan_works *o)
{
    const double n = (double)g->count * part;

    add_pass(s, "norm of gradient", 4 * n, o);
    add_pass(s, "optimiser", plan_step_update_bytes(set, g) * n, o);
}

/* ---- a step ----------------------------------------------------------- */

struct step_times {
    double forward, backward; /* of a micro-step */
    double update, sending, exposed;
};

static double send_rate(const struct plan_step *s)
{
    const double link = s->device->link * 1e9;

    return parts_of(s)->links *
           (s->ranks > PER_MACHINE && s->network < link ? s->network : link);
}

static void time_micro_step(const struct plan_step *s,
                            const struct settings *set, const struct graph *g,
                            struct step_times *t)
{
    struct plan_works o = { .n = 0 };

    list_micro_step(s, set, g, &o);
    for (int i = 0; i < o.n; i++)
        *(o.all[i].backward ? &t->backward : &t->forward) += o.all[i].seconds;
    free(o.all);
}

/* How long sums and gathers of a step overlap with computing. */
static double hidden_seconds(const struct step_times *t, enum parallel_mode m,
                             int64_t micro)
{
    switch (m) {
    case PARALLEL_DDP:
        return t->backward;
    case PARALLEL_ZERO1:
        return t->backward + t->forward;
    case PARALLEL_ZERO2:
        return (double)micro * t->backward + t->forward;
    default:
        return (double)micro * (t->backward + t->forward);
    }
}

/* The sum of the embedding's gradient begins when all else has ended. */
static double last_seconds(const struct plan_step *s,
                           const struct settings *set, const struct graph *g)
{
    const double n = (double)g->unit[g->n_units - 1].count;

    return (double)parallel_sum_size(set) * n * (s->ranks - 1) / s->ranks /
           send_rate(s);
}

static void time_step(const struct plan_step *s, struct settings *set,
                      const struct graph *g, enum parallel_mode mode,
                      const struct plan_memory *m, struct step_times *t)
{
    const double part = mode == PARALLEL_DDP ? 1 : 1 / (double)s->ranks;
    struct plan_works o = { .n = 0 };
    double last, rest;

    *t = (struct step_times){ 0 };
    time_micro_step(s, set, g, t);
    list_update(s, set, g, part, &o);
    for (int i = 0; i < o.n; i++)
        t->update += o.all[i].seconds;
    t->sending = (double)m->sent / send_rate(s);
    last = fmin(last_seconds(s, set, g), t->sending);
    rest = t->sending - last;
    t->exposed =
        last +
        (s->cpu ? rest / s->cpu->threads
                : fmax(0, rest - hidden_seconds(t, mode, set->is.accumulate)));
}

/* ---- tables ----------------------------------------------------------- */

static void begin_row(struct table *t, const char *file, const char *name)
{
    if (file)
        table_text(t, file);
    table_text(t, name);
}

void plan_step_columns(const struct plan_step *s, struct table *t)
{
    table_columns(t, "sharding", s->cpu ? "ranks" : "GPUs", NULL);
    if (s->cpu)
        table_column(t, "threads");
    table_columns(t, "step ms", "compute ms", "sending ms", "exposed ms",
                  s->cpu ? "GiB a rank" : "GiB a GPU", "fits", "tokens/s",
                  "MFU", NULL);
}

static void add_modes(const struct plan_step *s, struct settings *set,
                      struct gpt *gpt, const char *file, struct table *t)
{
    const char *const *modes = conf_find(&set->conf, "parallel.mode")->words;
    const double tokens = (double)set->is.tokens_per_step;
    const double flops = gpt_flops_per_token(gpt) * tokens;

    for (int i = 0; modes[i] && (i == 0 || s->ranks > 1); i++) {
        struct plan_memory m;
        struct step_times k;
        double gib, compute, step;

        plan_memory_find(set, s->ranks, (enum parallel_mode)i,
                         set->train.micro_batch, s->cpu ? 0 : s->device->gib,
                         &m);
        time_step(s, set, &gpt->graph, (enum parallel_mode)i, &m, &k);
        gib = (double)plan_memory_sum(&m) / 0x1p30;
        compute =
            (double)set->is.accumulate * (k.forward + k.backward) + k.update;
        step = compute + k.exposed;
        begin_row(t, file, modes[i]);
        table_int(t, s->ranks);
        if (s->cpu)
            table_int(t, s->cpu->threads);
        table_printf(t, "%.1f", 1e3 * step);
        table_printf(t, "%.1f", 1e3 * compute);
        table_printf(t, "%.1f", 1e3 * k.sending);
        table_printf(t, "%.1f", 1e3 * k.exposed);
        table_printf(t, "%.1f", gib);
        table_text(t, gib <= s->device->gib ? "yes" : "no");
        table_printf(t, "%.0f", tokens / step);
        table_printf(t, "%.1f%%",
                     100 * flops / (step * s->ranks * peak_of(s, set)));
    }
}

void plan_step_add(const struct plan_step *s, struct settings *set,
                   struct gpt *gpt, const char *file, struct table *t)
{
    if (!s->cpu)
        add_modes(s, set, gpt, file, t);
    else
        for (int i = 0; plan_cpu_use(s->cpu, set, s->ranks, i); i++)
            add_modes(s, set, gpt, file, t);
}

void plan_step_operation_columns(struct table *t)
{
    table_columns(t, "operation", "calls", "GFLOP", "GB", "ms", NULL);
}

static void add_work_row(struct table *t, const char *file,
                         const struct plan_work *w)
{
    begin_row(t, file, w->name);
    table_int(t, w->calls);
    table_printf(t, "%.1f", w->flops / 1e9);
    table_printf(t, "%.2f", w->bytes / 1e9);
    table_printf(t, "%.2f", 1e3 * w->seconds);
}

void plan_works_rows(const struct plan_works *w, const char *file,
                     struct table *t)
{
    struct plan_work sum = { .name = "sum" };

    for (int i = 0; i < w->n; i++) {
        add_work_row(t, file, &w->all[i]);
        sum.calls += w->all[i].calls;
        sum.flops += w->all[i].flops;
        sum.bytes += w->all[i].bytes;
        sum.seconds += w->all[i].seconds;
    }
    add_work_row(t, file, &sum);
}

void plan_step_add_operations(const struct plan_step *s, struct settings *set,
                              struct gpt *gpt, const char *file,
                              struct table *t)
{
    struct plan_works o = { .n = 0 };

    if (s->cpu)
        plan_cpu_use(s->cpu, set, s->ranks, 0);
    list_micro_step(s, set, &gpt->graph, &o);
    list_update(s, set, &gpt->graph, 1, &o);
    plan_works_rows(&o, file, t);
    free(o.all);
}
