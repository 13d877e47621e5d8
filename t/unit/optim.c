/*
 * optim - updates of the weights: by Muon, and of weights in bf16
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/rng.h"
#include "kernels/ref.h"
#include "t/lib/tap.h"
#include "trainer/model/gpt.h"
#include "trainer/model/graph.h"
#include "trainer/model/optim.h"
#include "trainer/model/resolve.h"

/* A small model and its optimiser, on the CPU. */
struct trial {
    struct settings set;
    struct dev dev;
    struct gpt gpt;
    struct optim optim;
};

static bool open_trial(struct trial *t, const char *const *sets, size_t n,
                       enum dtype masters)
{
    const struct graph_conf how = { .training = true, .masters = masters };
    struct err e = { 0 };

    *t = (struct trial){ 0 };
    if (settings_load(&t->set, NULL, sets, n, &e) == 0 &&
        resolve_settings(&t->set, 0, 1, &e) == 0 &&
        dev_open(&t->dev, "cpu", &e) == 0) {
        gpt_build(&t->gpt, &t->set, 2);
        if (graph_memory_alloc(&t->gpt.graph, &t->dev, &how, &e) == 0)
            optim_lay_out(&t->optim, &t->set.optim, &t->gpt.graph);
        if (optim_open(&t->optim, &e) == 0) {
            optim_set_norm(&t->optim, 1);
            return true;
        }
    }
    diag("%s", e.text);
    return false;
}

static void close_trial(struct trial *t)
{
    optim_close(&t->optim);
    graph_clear(&t->gpt.graph);
    dev_close(&t->dev);
    settings_clear(&t->set);
}

/* ---- groups ----------------------------------------------------------- */

/* How a parameter is updated. */
static struct param_rates rates_at(const struct trial *t, const char *name)
{
    for (int i = 0; i < t->gpt.graph.n_params; i++)
        for (int k = 0; k < t->optim.n_ranges; k++) {
            const struct graph_param *p = &t->gpt.graph.param[i];
            const struct optim_range *r = &t->optim.range[k];

            if (strcmp(p->name, name) == 0 && p->at >= r->at &&
                p->at < r->at + r->count)
                return r->rates;
        }
    return (struct param_rates){ 0, 0, 0 };
}

static bool is_near(double x, double y)
{
    return fabs(x - y) < 1e-12;
}

/* The values are for a width of 8, and the model is twice as wide. */
static void test_base_width(void)
{
    static const struct {
        const char *optim, *scale;
        double matrix, head; /* factors on the scheduled rate */
        double decay;        /* of the matrices */
    } cases[] = {
        { "optim.name=adamw", "optim.muon_scale=original", 0.5, 0.5, 0.2 },
        { "optim.name=lion", "optim.muon_scale=original", 0.5, 0.5, 0.2 },
        { "optim.name=muon", "optim.muon_scale=original", 20, 0.5, 0.1 },
        { "optim.name=muon", "optim.muon_scale=match_rms_adamw", 20 / M_SQRT2,
          0.5, 0.1 * M_SQRT2 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const sets[] = {
            "model.layers=2",  "model.heads=2",      "model.width=16",
            "model.context=8", "model.vocab=32",     "schedule.steps=4",
            "model.tied=no",   "optim.base_width=8", "optim.lr=1e-3",
            "optim.decay=0.1", "optim.muon_lr=2e-2", cases[i].optim,
            cases[i].scale,
        };
        struct trial t;
        struct param_rates matrix, head, embed;
        const struct graph_param *p;
        bool stds = true;

        if (!open_trial(&t, sets, sizeof sets / sizeof sets[0], DT_F32)) {
            ok(false, "a model with a base width");
            return;
        }
        p = t.gpt.graph.param;
        matrix = rates_at(&t, "h.1.mlp.fc.weight");
        head = rates_at(&t, "lm_head.weight");
        embed = rates_at(&t, "wte.weight");
        ok(is_near(matrix.lr_factor, cases[i].matrix) &&
               is_near(matrix.decay, cases[i].decay) &&
               is_near(head.lr_factor, cases[i].head) &&
               is_near(head.decay, 0.2) && is_near(embed.lr_factor, 1) &&
               is_near(embed.decay, 0.1),
           "%s with %s has the rates of its width", cases[i].optim,
           cases[i].scale);
        for (int k = 0; k < t.gpt.graph.n_params; k++) {
            const double std = strcmp(p[k].name, "lm_head.weight") == 0 ? 0.01
                               : strstr(p[k].name, "proj.weight")
                                   ? 0.02 / M_SQRT2 / 2
                               : p[k].group == GROUP_MATRIX ? 0.02 / M_SQRT2
                               : p[k].group == GROUP_EMBED  ? 0.02
                                                            : 0;

            stds &= fabs((double)p[k].std - std) < 1e-9;
        }
        ok(stds, "weights begin in the size of their width");
        close_trial(&t);
    }
}

static void test_groups(void)
{
    static const char *const sets[] = {
        "model.layers=2",
        "model.heads=2",
        "model.width=16",
        "model.context=8",
        "model.vocab=32",
        "schedule.steps=4",
        "optim.name=muon",
        "optim.lr=1e-3",
        "optim.muon_lr=2e-2",
        "optim.decay=0.1",
        "optim.group.1=embed, lr=0.5x, beta1=0.8, decay=0.2",
        "optim.group.2=wpe.*, lr=3e-3",
        "optim.group.4=h.1.mlp.*, lr=0.5x, decay=0",
    };
    struct trial t;
    struct param_rates r;

    if (!open_trial(&t, sets, sizeof sets / sizeof sets[0], DT_F32)) {
        ok(false, "a model with groups of parameters");
        return;
    }
    r = rates_at(&t, "wte.weight");
    ok(is_near(r.lr_factor, 0.5) && is_near(r.beta1, 0.8) &&
           is_near(r.decay, 0.2),
       "a group of a kind of parameters has its rates");
    r = rates_at(&t, "wpe.weight");
    ok(is_near(r.lr_factor, 3) && is_near(r.beta1, 0.8),
       "a later group takes precedence in what it says");
    r = rates_at(&t, "h.1.mlp.fc.weight");
    ok(is_near(r.lr_factor, 10) && is_near(r.decay, 0),
       "a factor applies to Muon's rate, and a pattern to names");
    r = rates_at(&t, "h.0.mlp.fc.weight");
    ok(is_near(r.lr_factor, 20) && is_near(r.decay, 0.1) && r.beta1 < 0,
       "a matrix without a group has Muon's rate");
    memset(t.gpt.graph.grads.data, 0, t.gpt.graph.grads.bytes);
    {
        const struct graph_param *wte = &t.gpt.graph.param[0];
        float *w = (float *)t.gpt.graph.weights.data + wte->at;

        w[0] = 1;
        ((float *)t.gpt.graph.grads.data)[wte->at] = 1;
        t.optim.decay_left = 0.5;
        optim_step(&t.optim, 1e-3, 1);
        /* rate 5e-4, decay 0.1, and a first step of 1 */
        ok(fabs((double)w[0] - (1 - 5e-4 * 0.1 - 5e-4)) < 1e-7,
           "an update has the rates of its group");
    }
    close_trial(&t);
}

/* ---- Muon ------------------------------------------------------------- */

/* The largest difference of the weights from those that the reference computes
 * for each projection of a parameter by itself, from the weights before. */
static double projections_off(const struct graph_param *p, int64_t cols,
                              const struct optim_settings *c, float *before,
                              const float *after, const float *grads)
{
    double worst = 0;
    int64_t at = p->at;

    for (int k = 0; k < GRAPH_STACK && p->stack[k] > 0; k++) {
        const int64_t rows = p->stack[k], n = rows * cols;
        const struct update u = {
            .lr = (float)c->muon_lr,
            .beta1 = (float)c->momentum,
            .decay = (float)c->decay,
            .g_scale = 1,
            .nesterov = true,
            .scale = 0.2f * sqrtf((float)(rows > cols ? rows : cols)),
        };
        float *m = xcalloc((size_t)n, sizeof *m);
        float *room = xcalloc((size_t)muon_work(rows, cols), sizeof *room);
        struct tensor w = { .data = before + at,
                            .type = DT_F32,
                            .rank = 2,
                            .dim = { rows, cols } };
        struct tensor moment = {
            .data = m, .type = DT_F32, .rank = 2, .dim = { rows, cols }
        };
        struct tensor work = tensor_vector(room, DT_F32, muon_work(rows, cols));
        const struct tensor g =
            tensor_vector((float *)(uintptr_t)grads + at, DT_F32, n);

        ref_muon(NULL, &w, &moment, NULL, NULL, &work, &g, &u);
        for (int64_t i = at; i < at + n; i++)
            worst = fmax(worst, fabs((double)(before[i] - after[i])));
        at += n;
        free(m);
        free(room);
    }
    return worst;
}

static void test_muon(void)
{
    static const char *const sets[] = {
        "model.layers=1",     "model.heads=4",
        "model.kv_heads=2",   "model.width=16",
        "model.d_ff=24",      "model.context=8",
        "model.vocab=29",     "model.mlp=swiglu",
        "schedule.steps=10",  "train.micro_batch=2",
        "optim.name=muon",    "optim.clip=0",
        "optim.muon_lr=1e-2", "optim.muon_scale=match_rms_adamw",
    };
    struct trial t;
    struct graph *g = &t.gpt.graph;
    float *w, *grads, *before;

    if (!ok(open_trial(&t, sets, sizeof sets / sizeof *sets, DT_F32),
            "a model for Muon opens"))
        return;
    w = g->weights.data;
    grads = g->grads.data;
    before = xcalloc((size_t)g->count, sizeof *before);
    for (int64_t i = 0; i < g->count; i++) {
        before[i] = w[i] = rng_uniform(1, 0, (uint64_t)i) - 0.5f;
        grads[i] = rng_uniform(1, 1, (uint64_t)i) - 0.5f;
    }
    optim_step(&t.optim, t.set.optim.lr, 1);
    for (int i = 0; i < g->n_params; i++) {
        const struct graph_param *p = &g->param[i];
        const int64_t cols = g->node[p->node].val.dim[1];

        if (p->group == GROUP_MATRIX)
            ok(projections_off(p, cols, &t.set.optim, before, w, grads) < 1e-5,
               "Muon updates each projection in %s by itself", p->name);
    }
    free(before);
    close_trial(&t);
}

/* ---- weights in bf16 --------------------------------------------------- */

enum { STEPS = 16 };

static const double rate = 0x1p-12; /* 1/16 of the distance below 1 */

/* All weights of `t` begin at 1 and all gradients are 1, so that each step of
 * AdamW subtracts the learning rate. */
static void make_ones(struct trial *t)
{
    struct graph *g = &t->gpt.graph;
    struct tensor w = tensor_vector(g->weights.data, DT_BF16, g->count);
    struct tensor grads = tensor_vector(g->grads.data, DT_F32, g->count);

    for (int64_t i = 0; i < g->count; i++) {
        ref_set(&w, i, 1);
        ref_set(&grads, i, 1);
    }
}

/* The mean of all weights, and the part of them that is still 1. */
static void average(const struct graph *g, double *mean, double *unmoved)
{
    const uint16_t *w = g->weights.data;
    double sum = 0, same = 0, n = 0;

    for (int i = 0; i < g->n_params; i++)
        for (int64_t k = 0; k < g->param[i].count; k++) {
            const double x = (double)float_from_bf16(w[g->param[i].at + k]);

            sum += x;
            same += x == 1;
            n++;
        }
    *mean = sum / n;
    *unmoved = same / n;
}

/* The standard deviation of the mean of about 100,000 weights is 0.3% of what
 * they move by, that of the unmoved part 0.0015. */
static void test_masters(void)
{
    static const char *const sets[] = {
        "model.layers=2",      "model.heads=2",        "model.width=64",
        "model.context=8",     "model.vocab=29",       "schedule.steps=10",
        "train.micro_batch=2", "train.precision=bf16", "optim.decay=0",
        "optim.clip=0",        "optim.masters=bf16",
    };
    struct trial t;
    struct graph *g = &t.gpt.graph;
    double mean, unmoved;
    void *before;

    if (!ok(open_trial(&t, sets, sizeof sets / sizeof *sets, DT_BF16),
            "a model with master weights in bf16 opens"))
        return;
    ok(g->weights.bytes * 2 == g->grads.bytes && g->copies.bytes == 0,
       "master weights in bf16 take 2 bytes and have no copies");
    make_ones(&t);
    for (int i = 0; i < STEPS; i++)
        optim_step(&t.optim, rate, 1);
    average(g, &mean, &unmoved);
    ok(fabs((1 - mean) / (STEPS * rate) - 1) < 0.015,
       "the mean of weights in bf16 moves by steps that are too small for one");
    if (!ok(fabs(unmoved - pow(15.0 / 16, STEPS)) < 0.01,
            "each step rounds by random numbers of its own"))
        diag("mean %.8f, unmoved %.4f", mean, unmoved);
    before = xmalloc(g->weights.bytes);
    memcpy(before, g->weights.data, g->weights.bytes);
    optim_set_norm(&t.optim, (double)NAN);
    optim_step(&t.optim, rate, 1);
    ok(memcmp(before, g->weights.data, g->weights.bytes) == 0,
       "a step that is skipped rounds no weight");
    free(before);
    close_trial(&t);
}

int main(void)
{
    test_groups();
    test_base_width();
    test_muon();
    test_masters();
    return done_testing();
}
