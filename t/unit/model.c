/*
 * The model against PyTorch: every gradient, and 50 steps of AdamW, for each
 * option of the model.  The numbers are in t/reference/model.txt, made by
 * t/reference/model.py in float64, each with the distance from it that rounding
 * to float32 causes in PyTorch.  We may be FACTOR times as far off, plus FLOOR,
 * on any CPU (doc/numerics.md).
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "t/lib/tap.h"
#include "trainer/model/gpt.h"
#include "trainer/model/graph.h"
#include "trainer/model/optim.h"
#include "trainer/model/resolve.h"

enum { MAX_SETS = 32, MAX_GRADS = 64, MAX_STEPS = 50 };

struct variant {
    char name[32];
    char set[MAX_SETS][48];
    int n_sets, n_grads, n_steps;
    struct {
        char name[48];
        double norm, dot, far;
    } grad[MAX_GRADS];
    struct {
        double loss, norm, loss_far, norm_far;
    } step[MAX_STEPS];
};

static const double FACTOR = 4, FLOOR = 0x1p-23;

static int64_t batch;
static double worst_gradient, worst_step;

/* The same as hashed() of model.py. */
static double hashed(int64_t i, int64_t salt)
{
    uint64_t x = (uint64_t)i + (uint64_t)salt * 1000003;

    x = (x * 2654435761u) & 0xffffffff;
    x ^= x >> 15;
    x = (x * 2246822519u) & 0xffffffff;
    x ^= x >> 13;
    return (double)x / 4294967296.0 - 0.5;
}

/* The next variant of the file; false at its end. */
static bool read_variant(FILE *fp, struct variant *v)
{
    char line[256];

    *v = (struct variant){ 0 };
    while (fgets(line, sizeof line, fp)) {
        long long n;

        if (sscanf(line, "batch %lld", &n) == 1)
            batch = n;
        else if (sscanf(line, "variant %31s", v->name) == 1)
            continue;
        else if (sscanf(line, "set %47s", v->set[v->n_sets]) == 1)
            v->n_sets++;
        else if (sscanf(line, "grad %47s %lf %lf %lf", v->grad[v->n_grads].name,
                        &v->grad[v->n_grads].norm, &v->grad[v->n_grads].dot,
                        &v->grad[v->n_grads].far) == 4)
            v->n_grads++;
        else if (sscanf(line, "step %lf %lf %lf %lf", &v->step[v->n_steps].loss,
                        &v->step[v->n_steps].norm,
                        &v->step[v->n_steps].loss_far,
                        &v->step[v->n_steps].norm_far) == 4)
            v->n_steps++;
        else if (strncmp(line, "end", 3) == 0)
            return true;
    }
    return false;
}

/* ---- one model -------------------------------------------------------- */

struct model {
    struct settings set;
    struct dev dev;
    struct gpt gpt;
    struct optim optim;
    int32_t *x, *y;
    float *losses, *host;
    int ready; /* units whose gradients are done */
};

static void set_weights(struct model *m)
{
    struct graph *g = &m->gpt.graph;
    const struct tensor from = tensor_vector(g->weights.data, DT_F32, g->count);
    struct tensor copies = tensor_vector(g->copies.data, g->type, g->count);

    for (int i = 0; i < g->n_params; i++) {
        const struct graph_param *p = &g->param[i];
        const size_t len = strlen(p->name);
        const bool one = g->node[p->node].val.rank == 1 &&
                         strcmp(p->name + len - 6, "weight") == 0;

        for (int64_t k = 0; k < p->count; k++)
            m->host[p->at + k] =
                (float)(hashed(k, i + 1) * 0.2 + (one ? 1.0 : 0.0));
    }
    m->dev.type->put(&m->dev, g->weights.data, m->host,
                     (size_t)g->count * sizeof(float));
    copies.overwrite = true;
    if (g->copies.data)
        m->dev.ops->accum(&m->dev, &copies, &from);
}

static bool model_open(struct model *m, const struct variant *v,
                       const char *device, int64_t B, bool fuse,
                       const char *extra)
{
    const char *sets[MAX_SETS + 3];
    struct err e = { 0 };
    const struct graph_conf how = { .training = true, .fuse = fuse };
    int n = 0;

    *m = (struct model){ 0 };
    m->dev.threads = 1; /* the models are tiny */
    for (int i = 0; i < v->n_sets; i++)
        sets[n++] = v->set[i];
    sets[n++] = "schedule.steps=50";
    sets[n++] = "optim.lr=2e-3";
    if (extra)
        sets[n++] = extra;
    if (settings_load(&m->set, NULL, sets, (size_t)n, &e) < 0 ||
        resolve_settings(&m->set, 0, 1, &e) < 0 ||
        dev_open(&m->dev, device, &e) < 0)
        goto bad;
    gpt_build(&m->gpt, &m->set, B);
    if (graph_memory_alloc(&m->gpt.graph, &m->dev, &how, &e) < 0)
        goto bad;
    optim_lay_out(&m->optim, &m->set.optim, &m->gpt.graph);
    if (optim_open(&m->optim, &e) < 0)
        goto bad;
    m->x = xcalloc((size_t)(batch * m->gpt.T), sizeof *m->x);
    m->y = xcalloc((size_t)(batch * m->gpt.T), sizeof *m->y);
    m->losses = xcalloc((size_t)(batch * m->gpt.T), sizeof *m->losses);
    m->host = xcalloc((size_t)m->gpt.graph.count, sizeof *m->host);
    set_weights(m);
    return true;
bad:
    diag("%s", e.text);
    return false;
}

static void model_close(struct model *m)
{
    optim_close(&m->optim);
    graph_clear(&m->gpt.graph);
    dev_close(&m->dev);
    settings_clear(&m->set);
    free(m->x);
    free(m->y);
    free(m->losses);
    free(m->host);
}

static void make_batch(struct model *m, int step)
{
    const int64_t T = m->gpt.T;
    const double vocab = (double)m->set.model.vocab;

    for (int64_t b = 0; b < batch; b++)
        for (int64_t t = 0; t < T; t++) {
            const int64_t at = b * (T + 1) + t;

            m->x[b * T + t] =
                (int32_t)((hashed(at, 7000 + step) + 0.5) * vocab);
            m->y[b * T + t] =
                (int32_t)((hashed(at + 1, 7000 + step) + 0.5) * vocab);
        }
}

/* Units must come in the order of the block, each once. */
static void count_ready(void *arg, struct graph *g, int unit)
{
    struct model *m = arg;

    (void)g;
    m->ready = unit == m->ready ? m->ready + 1 : -1;
}

/* Loss and gradient of one batch, in micro-batches of the graph's size. */
static double gradient(struct model *m, int step)
{
    struct graph *g = &m->gpt.graph;
    const int64_t rows = m->gpt.B * m->gpt.T, all = batch * m->gpt.T;
    struct err e = { 0 };
    double sum = 0;

    make_batch(m, step);
    g->head_scale = 1.0f / (float)all;
    for (int64_t at = 0; at < all; at += rows) {
        gpt_set_inputs(&m->gpt, m->x + at, m->y + at);
        g->first_micro = at == 0;
        m->ready = 0;
        graph_run_train(g, count_ready, m);
        m->dev.type->get(&m->dev, m->losses + at,
                         graph_val(g, m->gpt.output)->data,
                         (size_t)rows * sizeof(float));
    }
    optim_measure(&m->optim);
    if (dev_sync(&m->dev, &e) < 0)
        diag("%s", e.text);
    for (int64_t i = 0; i < all; i++)
        sum += (double)m->losses[i];
    return sum / (double)all;
}

/* ---- comparisons ------------------------------------------------------ */

/* A relative distance as a fraction of its bound: at most 1 is good. */
static double of_bound(double off, double far)
{
    return isfinite(off) ? off / (FACTOR * far + FLOOR) : HUGE_VAL;
}

static double relative(double is, double want)
{
    return fabs(is - want) / fmax(fabs(want), 1e-12);
}

/* The largest part of their bounds; likewise below. */
static double check_gradients(struct model *m, const struct variant *v)
{
    struct graph *g = &m->gpt.graph;
    struct err e = { 0 };
    double worst = 0;

    m->dev.type->get(&m->dev, m->host, g->grads.data,
                     (size_t)g->count * sizeof(float));
    dev_sync(&m->dev, &e);
    for (int i = 0; i < v->n_grads; i++) {
        const struct graph_param *p = &g->param[i];
        double square = 0, dot = 0, off;

        if (strcmp(p->name, v->grad[i].name) != 0) {
            diag("parameter %d is %s, not %s", i, p->name, v->grad[i].name);
            return INFINITY;
        }
        for (int64_t k = 0; k < p->count; k++) {
            const double x = (double)m->host[p->at + k];

            square += x * x;
            dot += x * hashed(k, 99);
        }
        /* a product is small by cancelling: measure it by the norm */
        off = fmax(relative(sqrt(square), v->grad[i].norm),
                   fabs(dot - v->grad[i].dot) / v->grad[i].norm);
        off = of_bound(off, v->grad[i].far);
        if (!(off <= 1))
            diag("%s: norm %.9g, not %.9g; product %.9g, not %.9g", p->name,
                 sqrt(square), v->grad[i].norm, dot, v->grad[i].dot);
        worst = fmax(worst, off);
    }
    return worst;
}

static double check_loss(const struct variant *v, int step, double loss)
{
    return of_bound(relative(loss, v->step[step].loss), v->step[step].loss_far);
}

static double train(struct model *m, const struct variant *v)
{
    double worst = 0;

    for (int i = 0; i < v->n_steps; i++) {
        const double loss = check_loss(v, i, gradient(m, i % 5));
        const double norm =
            of_bound(relative(optim_norm(&m->optim, 1), v->step[i].norm),
                     v->step[i].norm_far);

        worst = fmax(worst, fmax(loss, norm));
        optim_step(&m->optim, 2e-3, 1);
    }
    return worst;
}

static void test_variant(const struct variant *v, const char *device)
{
    struct model m;
    double off;

    if (!ok(model_open(&m, v, device, batch, true, NULL),
            "the model %s is built on %s", v->name, device))
        return;
    off = check_loss(v, 0, gradient(&m, 0));
    ok(m.ready == m.gpt.graph.n_units,
       "%s: backward reports each unit that is finished", v->name);
    if (!ok(off <= 1, "%s on %s: the first loss agrees with PyTorch", v->name,
            device))
        diag("%.2f of its bound", off);
    ok(m.gpt.graph.n_params == v->n_grads,
       "%s has as many parameters as in PyTorch", v->name);
    off = check_gradients(&m, v);
    worst_gradient = fmax(worst_gradient, off);
    if (!ok(off <= 1, "%s on %s: every gradient agrees with PyTorch", v->name,
            device))
        diag("%.2f of its bound", off);
    /* the ref device is slow, and its gradients are enough */
    if (strcmp(device, "ref") == 0) {
        model_close(&m);
        return;
    }
    off = train(&m, v);
    worst_step = fmax(worst_step, off);
    if (!ok(off <= 1, "%s on %s: 50 steps of loss and norm agree with PyTorch",
            v->name, device))
        diag("%.2f of its bound", off);
    model_close(&m);
}

/* The gradients in the order in which parameters were declared. */
static double *all_gradients(const struct variant *v, int64_t B, bool fuse,
                             const char *extra, int64_t *count)
{
    struct model m;
    struct graph *g = &m.gpt.graph;
    struct err e = { 0 };
    double *out = NULL;
    int64_t n = 0;

    if (model_open(&m, v, "cpu", B, fuse, extra)) {
        gradient(&m, 0);
        m.dev.type->get(&m.dev, m.host, g->grads.data,
                        (size_t)g->count * sizeof(float));
        dev_sync(&m.dev, &e);
        out = xcalloc((size_t)g->count, sizeof *out);
        for (int i = 0; i < g->n_params; i++)
            for (int64_t k = 0; k < g->param[i].count; k++)
                out[n++] = (double)m.host[g->param[i].at + k];
    }
    *count = n;
    model_close(&m);
    return out;
}

/* Ways to run the same model that must not change its gradient. */
static void test_ways(const struct variant *v)
{
    static const struct {
        const char *name, *extra;
        bool one_by_one, plain;
        double most;
    } ways[] = {
        { "layers computed again", "train.recompute=layer", false, false, 0 },
        { "norms and activations computed again", "train.recompute=pointwise",
          false, false, 0 },
        { "no fused operations", NULL, false, true, 1e-6 },
        { "three micro-batches for one", NULL, true, false, 1e-6 },
    };
    int64_t n, n2;
    double *want = all_gradients(v, batch, true, NULL, &n), norm = 0;

    for (int64_t i = 0; i < n; i++)
        norm += want[i] * want[i];
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        double *is = all_gradients(v, ways[w].one_by_one ? 1 : batch,
                                   !ways[w].plain, ways[w].extra, &n2);
        double square = 0;

        for (int64_t i = 0; i < n && n == n2; i++)
            square += (is[i] - want[i]) * (is[i] - want[i]);
        if (!ok(n == n2 && sqrt(square / norm) <= ways[w].most,
                "%s: the gradient is the same with %s", v->name, ways[w].name))
            diag("off by %.2e", sqrt(square / norm));
        free(is);
    }
    free(want);
}

/* Losses of the first n sequences of T positions; the others stay as they are.
 */
static void forward_some(struct model *m, int64_t n, int64_t T, float *losses)
{
    const int64_t all = m->gpt.T;
    const struct tensor *out = graph_val(&m->gpt.graph, m->gpt.output);
    const size_t bytes = (size_t)(batch * m->gpt.T) * sizeof *losses;
    struct err e = { 0 };

    m->dev.type->put(&m->dev, out->data, losses, bytes);
    gpt_resize(&m->gpt, n, T);
    gpt_set_inputs(&m->gpt, m->x, m->y);
    graph_run_forward(&m->gpt.graph);
    m->dev.type->get(&m->dev, losses, out->data, bytes);
    if (dev_sync(&m->dev, &e) < 0)
        diag("%s", e.text);
    gpt_resize(&m->gpt, batch, all);
}

static void test_resize(const struct variant *v)
{
    struct model m;
    float *some;
    int64_t T, same = 0, kept = 0, near = 0;

    if (!model_open(&m, v, "cpu", batch, true, NULL))
        return;
    T = m.gpt.T;
    some = xcalloc((size_t)(batch * T), sizeof *some);
    make_batch(&m, 0);
    forward_some(&m, batch, T, m.losses);
    for (int64_t i = 0; i < batch * T; i++)
        some[i] = -1;
    forward_some(&m, 1, T, some);
    for (int64_t i = 0; i < batch * T; i++)
        if (i < T)
            same += some[i] == m.losses[i];
        else
            kept += some[i] == -1;
    ok(same == T && kept == (batch - 1) * T,
       "%s: one sequence of the batch has its losses, and no other is computed",
       v->name);
    forward_some(&m, 1, T / 2, some);
    for (int64_t i = 0; i < T / 2; i++)
        near += fabsf(some[i] - m.losses[i]) < 1e-4f;
    ok(near == T / 2, "%s: half of a sequence has the losses of the whole",
       v->name);
    forward_some(&m, batch, T, some);
    ok(memcmp(some, m.losses, (size_t)(batch * T) * sizeof *some) == 0,
       "%s: the whole batch has the same losses after that", v->name);
    free(some);
    model_close(&m);
}

int main(void)
{
    const char *top = getenv("top_srcdir"), *only = getenv("GT_TEST_DEVICE");
    char *path = xasprintf("%s/t/reference/model.txt", top ? top : "..");
    FILE *fp = fopen(path, "r");
    struct variant v;
    int n = 0;

    if (!ok(fp != NULL, "the reference file can be opened"))
        return done_testing();
    while (read_variant(fp, &v)) {
        test_variant(&v, only ? only : "cpu");
        if (n++ < 2 && !only) {
            test_variant(&v, "ref");
            test_ways(&v);
            test_resize(&v);
        }
    }
    ok(n > 10, "the reference file has %d variants", n);
    diag("closest to its bound: a gradient at %.2f of it, a step at %.2f",
         worst_gradient, worst_step);
    fclose(fp);
    free(path);
    return done_testing();
}
