#include "config.h"
#include "trainer/plan_step.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "trainer/model/graph_calls.h"
#include "trainer/plan_memory.h"
#include "trainer/ranks/parallel.h"

/* The parts of the rates of data sheets that are assumed: products, attention,
 * memory, and links between GPUs. */
static const double PARTS[] = {
    [RATE_PRODUCTS] = 0.7, [RATE_FP8] = 0.7, [RATE_ATTENTION] = 0.3
};
static const double MEMORY = 0.85, LINKS = 0.8;

enum { PER_MACHINE = 8, MOST_OPERATIONS = 64 };

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
    for (s->device = hardware_table; s->device->name; s->device++)
        if (*name && s->device->link > 0 && is_named(s->device, name))
            return 0;
    return err_set(e, ERR_USAGE,
                   "--device expects p100, v100, a100-40gb, a100-80gb, h100 or "
                   "h200, not '%s'",
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

struct operation {
    const char *name;
    int calls;
    double flops, bytes, seconds;
    bool backward;
};

struct operations {
    struct operation all[MOST_OPERATIONS];
    int n;
};

static void add_operation(struct operations *o, const struct operation *more)
{
    int i = 0;

    while (i < o->n && strcmp(o->all[i].name, more->name) != 0)
        i++;
    if (i == MOST_OPERATIONS)
        return;
    if (i == o->n)
        o->all[o->n++] = (struct operation){ .name = more->name };
    o->all[i].calls += more->calls;
    o->all[i].flops += more->flops;
    o->all[i].bytes += more->bytes;
    o->all[i].seconds += more->seconds;
    o->all[i].backward = more->backward;
}

static double peak_of(const struct plan_step *s, const struct settings *set)
{
    return s->device->tflops[set->train.precision] * 1e12;
}

static double memory_rate(const struct plan_step *s)
{
    return MEMORY * s->device->memory * 1e9;
}

double plan_step_seconds(const struct plan_step *s, const struct settings *set,
                         enum plan_rate rate, double flops, double bytes)
{
    const double peak = rate == RATE_FP8
                            ? s->device->tflops[HARDWARE_FP8] * 1e12
                            : peak_of(s, set);

    return fmax(flops / (PARTS[rate] * peak), bytes / memory_rate(s));
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
                     const struct graph *g, int call, struct operations *o)
{
    const enum graph_op op = g->node[g->call[call].node].op;
    const enum plan_rate rate = op == OP_ATTENTION     ? RATE_ATTENTION
                                : fp8_weights(g, call) ? RATE_FP8
                                                       : RATE_PRODUCTS;
    /* passes of their own, before and between the products */
    const double more = softmax_bytes(g, call) + rounding_bytes(g, call);
    struct operation now = { .name = graph_call_name(g, call),
                             .calls = 1,
                             .flops = graph_call_flops(g, call),
                             .bytes = graph_call_bytes(g, call),
                             .backward = call >= g->n_forward };

    now.seconds = plan_step_seconds(s, set, rate, now.flops, now.bytes) +
                  more / memory_rate(s);
    now.bytes += more;
    add_operation(o, &now);
}

static void add_pass(const struct plan_step *s, const char *name, double bytes,
                     struct operations *o)
{
    add_operation(o, &(struct operation){ .name = name,
                                          .calls = 1,
                                          .bytes = bytes,
                                          .seconds = bytes / memory_rate(s) });
}

/* One micro-step. */
static void list_micro_step(const struct plan_step *s,
                            const struct settings *set, const struct graph *g,
                            struct operations *o)
{
    for (int c = 0; c < g->n_calls; c++)
        add_call(s, set, g, c, o);
}

double plan_step_update_bytes(const struct settings *set, const struct graph *g)
{
    const double moments = set->optim.moments == MOMENTS_BF16 ? 2 * 2 : 2 * 4;
    const double copy = g->type == DT_F32 ? 0 : (double)dtype_size(g->type);

    return 4 + 2 * (4 + moments) + copy;
}

/* The update of this part of the model. */
static void list_update(const struct plan_step *s, const struct settings *set,
                        const struct graph *g, double part,
                        struct operations *o)
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

    return LINKS *
           (s->ranks > PER_MACHINE && s->network < link ? s->network : link);
}

static void time_micro_step(const struct plan_step *s,
                            const struct settings *set, const struct graph *g,
                            struct step_times *t)
{
    struct operations o = { .n = 0 };

    list_micro_step(s, set, g, &o);
    for (int i = 0; i < o.n; i++)
        *(o.all[i].backward ? &t->backward : &t->forward) += o.all[i].seconds;
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
    struct operations o = { .n = 0 };
    double last;

    *t = (struct step_times){ 0 };
    time_micro_step(s, set, g, t);
    list_update(s, set, g, part, &o);
    for (int i = 0; i < o.n; i++)
        t->update += o.all[i].seconds;
    t->sending = (double)m->sent / send_rate(s);
    last = fmin(last_seconds(s, set, g), t->sending);
    t->exposed =
        last + fmax(0, t->sending - last -
                           hidden_seconds(t, mode, set->is.accumulate));
}

/* ---- tables ----------------------------------------------------------- */

static void begin_row(struct table *t, const char *file, const char *name)
{
    if (file)
        table_text(t, file);
    table_text(t, name);
}

void plan_step_columns(struct table *t)
{
    table_columns(t, "sharding", "GPUs", "step ms", "compute ms", "sending ms",
                  "exposed ms", "GiB a GPU", "fits", "tokens/s", "MFU", NULL);
}

void plan_step_add(const struct plan_step *s, struct settings *set,
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
                         set->train.micro_batch, &m);
        time_step(s, set, &gpt->graph, (enum parallel_mode)i, &m, &k);
        gib = (double)plan_memory_sum(&m) / 0x1p30;
        compute =
            (double)set->is.accumulate * (k.forward + k.backward) + k.update;
        step = compute + k.exposed;
        begin_row(t, file, modes[i]);
        table_int(t, s->ranks);
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

void plan_step_operation_columns(struct table *t)
{
    table_columns(t, "operation", "calls", "GFLOP", "GB", "ms", NULL);
}

static void add_operation_row(struct table *t, const char *file,
                              const struct operation *o)
{
    begin_row(t, file, o->name);
    table_int(t, o->calls);
    table_printf(t, "%.1f", o->flops / 1e9);
    table_printf(t, "%.2f", o->bytes / 1e9);
    table_printf(t, "%.2f", 1e3 * o->seconds);
}

void plan_step_add_operations(const struct plan_step *s, struct settings *set,
                              struct gpt *gpt, const char *file,
                              struct table *t)
{
    struct operations o = { .n = 0 };
    struct operation sum = { .name = "sum" };

    list_micro_step(s, set, &gpt->graph, &o);
    list_update(s, set, &gpt->graph, 1, &o);
    for (int i = 0; i < o.n; i++) {
        add_operation_row(t, file, &o.all[i]);
        sum.calls += o.all[i].calls;
        sum.flops += o.all[i].flops;
        sum.bytes += o.all[i].bytes;
        sum.seconds += o.all[i].seconds;
    }
    add_operation_row(t, file, &sum);
}
