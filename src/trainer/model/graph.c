#include "config.h"
#include "trainer/model/graph.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"

void graph_init(struct graph *g, enum dtype activations)
{
    *g = (struct graph){ .type = activations, .layer = -1, .head_scale = 1 };
}

void graph_clear(struct graph *g)
{
    if (g->dev) {
        if (!g->borrowed) {
            region_free(&g->weights, g->dev);
            region_free(&g->copies, g->dev);
        }
        region_free(&g->grads, g->dev);
        region_free(&g->inputs, g->dev);
        region_free(&g->caches, g->dev);
        region_free(&g->activations, g->dev);
        region_free(&g->quantized, g->dev);
    }
    FREE(g->node, g->param, g->unit, g->call);
    *g = (struct graph){ 0 };
}

void graph_unit(struct graph *g, int layer, const char *name)
{
    struct graph_unit *u;

    GROW(g->unit, g->n_units, g->room_units);
    u = &g->unit[g->n_units];
    *u = (struct graph_unit){ .layer = layer, .last_call = -1 };
    snprintf(u->name, sizeof u->name, "%s", name);
    g->current_unit = g->n_units++;
    g->layer = layer;
}

static struct tensor shape_of(enum dtype type, int64_t rows, int64_t cols)
{
    struct tensor t = { .type = type, .rank = cols ? 2 : 1 };

    t.dim[0] = rows;
    t.dim[1] = cols;
    return t;
}

static struct graph_node *append_node(struct graph *g, enum graph_op op,
                                      const char *what, int n_src,
                                      const int *src)
{
    struct graph_node *n = &APPEND(g->node, g->n, g->room);

    *n = (struct graph_node){ .op = op,
                              .n_src = n_src,
                              .param = GRAPH_NONE,
                              .layer = g->layer,
                              .same_val = GRAPH_NONE,
                              .same_grad = GRAPH_NONE };
    for (int i = 0; i < n_src; i++) {
        assert(src[i] < g->n - 1);
        n->src[i] = src[i];
    }
    if (g->n_units)
        snprintf(n->name, sizeof n->name, "%s.%s",
                 g->unit[g->current_unit].name, what);
    else
        snprintf(n->name, sizeof n->name, "%s", what);
    return n;
}

static int finish_node(struct graph *g, struct graph_node *n)
{
    n->grad = n->val;
    return g->n - 1;
}

int graph_input(struct graph *g, const char *name, int64_t rows, int64_t cols)
{
    struct graph_node *n = append_node(g, OP_INPUT, name, 0, NULL);

    n->val = shape_of(DT_I32, rows, cols);
    n->no_grad = true;
    return finish_node(g, n);
}

int graph_param(struct graph *g, const char *name, enum param_group group,
                int64_t rows, int64_t cols, double std, double value)
{
    struct graph_node *n = append_node(g, OP_PARAM, name, 0, NULL);
    struct graph_param *p;

    assert(g->n_units);
    GROW(g->param, g->n_params, g->room_params);
    p = &g->param[g->n_params];
    *p = (struct graph_param){ .node = g->n - 1,
                               .unit = g->current_unit,
                               .group = group,
                               .std = (float)std,
                               .value = (float)value };
    snprintf(p->name, sizeof p->name, "%s", name);
    n->param = g->n_params++;
    n->val = shape_of(g->type, rows, cols);
    p->count = tensor_count(&n->val);
    p->stack[0] = rows;
    finish_node(g, n);
    n->grad.type = DT_F32;
    return g->n - 1;
}

int graph_embed(struct graph *g, int tokens, int wte, int wpe, int64_t T)
{
    struct graph_node *n =
        append_node(g, OP_EMBED, "embed", 3, (const int[]){ tokens, wte, wpe });

    n->val =
        shape_of(g->type, g->node[tokens].val.dim[0], g->node[wte].val.dim[1]);
    n->attr.T = T;
    return finish_node(g, n);
}

int graph_linear(struct graph *g, int x, int w, int b)
{
    struct graph_node *n =
        append_node(g, OP_LINEAR, "linear", 3, (const int[]){ x, w, b });
    const char *of = g->param[g->node[w].param].name;

    assert(g->node[x].val.dim[1] == g->node[w].val.dim[1]);
    n->val = shape_of(g->type, g->node[x].val.dim[0], g->node[w].val.dim[0]);
    snprintf(n->name, sizeof n->name, "%.*s",
             (int)(strlen(of) - strlen(".weight")), of);
    return finish_node(g, n);
}

int graph_norm(struct graph *g, int x, int w, int b, enum norm norm, double eps)
{
    struct graph_node *n =
        append_node(g, OP_NORM, "norm", 3, (const int[]){ x, w, b });

    n->val = g->node[x].val;
    n->aux = shape_of(DT_F32, n->val.dim[0], 2);
    n->attr.norm = norm;
    n->attr.eps = (float)eps;
    return finish_node(g, n);
}

int graph_qknorm(struct graph *g, int qkv, int wq, int wk, int H, int K,
                 double eps)
{
    struct graph_node *n =
        append_node(g, OP_QKNORM, "qknorm", 3, (const int[]){ qkv, wq, wk });

    n->val = g->node[qkv].val;
    n->aux = shape_of(DT_F32, n->val.dim[0], H + K);
    n->attr.eps = (float)eps;
    n->attr.attn = (struct attn){ .H = H, .K = K };
    return finish_node(g, n);
}

int graph_value(struct graph *g, int qkv, int x, int w, int e)
{
    struct graph_node *n =
        append_node(g, OP_VALUE, "value", 4, (const int[]){ qkv, x, w, e });

    n->val = g->node[qkv].val;
    n->aux = shape_of(DT_F32, n->val.dim[0], g->node[w].val.dim[0]);
    n->same_val = qkv; /* whose gradient is that of the sum */
    return finish_node(g, n);
}

int graph_rope(struct graph *g, int qkv, int H, int K, int64_t T,
               const struct rope *rope)
{
    struct graph_node *n = append_node(g, OP_ROPE, "rope", 1, &qkv);

    n->val = g->node[qkv].val;
    n->same_val = qkv; /* rotated in place, in both directions */
    n->attr.attn = (struct attn){ .H = H, .K = K };
    n->attr.rope = *rope;
    n->attr.T = T;
    return finish_node(g, n);
}

static struct graph_node *append_attention(struct graph *g, enum graph_op op,
                                           int qkv, int begins,
                                           struct attn attn)
{
    const int src[] = { qkv, begins };
    struct graph_node *n = append_node(g, op, "attention", 2, src);
    const struct tensor *from = &g->node[qkv].val;

    attn.D = (int)(from->dim[1] / (attn.H + 2 * attn.K));
    attn.scale = (float)(1.0 / sqrt((double)attn.D));
    assert(from->dim[1] == (int64_t)attn.D * (attn.H + 2 * attn.K));
    n->attr.attn = attn;
    n->val = shape_of(g->type, from->dim[0], (int64_t)attn.H * attn.D);
    return n;
}

int graph_attention(struct graph *g, int qkv, int begins, struct attn attn)
{
    struct graph_node *n = append_attention(g, OP_ATTENTION, qkv, begins, attn);

    n->aux = shape_of(DT_F32, n->val.dim[0] / attn.T * attn.H, attn.T);
    return finish_node(g, n);
}

int graph_decode(struct graph *g, int qkv, int64_t T, struct attn attn)
{
    struct graph_node *n =
        append_attention(g, OP_DECODE, qkv, GRAPH_NONE, attn);

    n->attr.attn.drop.p = 0;
    n->keys = (struct tensor){ .type = g->type, .rank = 4 };
    n->keys.dim[0] = n->val.dim[0] / T;
    n->keys.dim[1] = attn.T;
    n->keys.dim[2] = attn.K;
    n->keys.dim[3] = n->attr.attn.D;
    n->values = n->keys;
    return finish_node(g, n);
}

/* The part of a cache that belongs to the n sequences from i on. */
static struct tensor cache_of(const struct tensor *all, int64_t i, int64_t n)
{
    struct tensor t = *all;

    t.dim[0] = 1;
    t.data = (char *)all->data + (size_t)i * tensor_bytes(&t);
    t.dim[0] = n;
    return t;
}

void graph_store_keys(struct graph *prompt, const struct graph *decoder,
                      int64_t i)
{
    int at = 0;

    for (int k = 0; k < prompt->n; k++) {
        struct graph_node *n = &prompt->node[k];
        const int64_t B =
            n->op == OP_ATTENTION ? n->val.dim[0] / n->attr.attn.T : 0;

        if (B == 0)
            continue;
        while (decoder->node[at].op != OP_DECODE)
            at++;
        n->keys = cache_of(&decoder->node[at].keys, i, B);
        n->values = cache_of(&decoder->node[at++].values, i, B);
    }
}

void graph_copy_keys(const struct graph *decoder, int64_t from, int64_t to,
                     int64_t T)
{
    struct dev *dev = decoder->dev;

    for (int k = 0; k < decoder->n; k++) {
        const struct graph_node *n = &decoder->node[k];
        const struct tensor *const both[] = { &n->keys, &n->values };

        if (n->op != OP_DECODE)
            continue;
        for (int i = 0; i < 2; i++) {
            struct tensor source = cache_of(both[i], from, 1);

            source.dim[1] = T;
            dev->type->copy(dev, cache_of(both[i], to, 1).data, source.data,
                            tensor_bytes(&source));
        }
    }
}

int graph_act(struct graph *g, int x, enum act act, bool gated)
{
    struct graph_node *n =
        append_node(g, gated ? OP_GLU : OP_ACT, gated ? "glu" : "act", 1, &x);

    n->val = g->node[x].val;
    if (gated)
        n->val.dim[1] /= 2;
    n->attr.act = act;
    return finish_node(g, n);
}

int graph_dropout(struct graph *g, int x, double p)
{
    struct graph_node *n;

    if (p <= 0)
        return x;
    n = append_node(g, OP_DROPOUT, "dropout", 1, &x);
    n->val = g->node[x].val;
    n->same_val = x; /* the elements it drops are not needed */
    n->attr.drop.p = (float)p;
    return finish_node(g, n);
}

int graph_add(struct graph *g, int a, int b)
{
    struct graph_node *n =
        append_node(g, OP_ADD, "add", 2, (const int[]){ a, b });

    n->val = g->node[a].val;
    return finish_node(g, n);
}

int graph_mix(struct graph *g, int a, int b, int wa, int wb)
{
    struct graph_node *n =
        append_node(g, OP_MIX, "mix", 4, (const int[]){ a, b, wa, wb });

    n->val = g->node[a].val;
    return finish_node(g, n);
}

int graph_head(struct graph *g, int x, int w, int targets, int teacher,
               double weight, int64_t vocab, double softcap)
{
    struct graph_node *n = append_node(g, OP_HEAD, "head", 4,
                                       (const int[]){ x, w, targets, teacher });

    n->val = shape_of(DT_F32, g->node[x].val.dim[0], 0);
    n->attr.vocab = vocab;
    n->attr.softcap = (float)softcap;
    n->attr.teacher_weight = weight;
    n->no_grad = true;
    return finish_node(g, n);
}

int64_t graph_parameters(const struct graph *g)
{
    int64_t n = 0;

    for (int i = 0; i < g->n_params; i++)
        n += g->param[i].count;
    return n;
}

int64_t graph_largest(const struct graph *g)
{
    int64_t n = 0;

    for (int i = 0; i < g->n_params; i++)
        n = g->param[i].count > n ? g->param[i].count : n;
    return n;
}

/* ---- weights of 8 or 4 bits --------------------------------------------- */

/* The matrix of a linear operation; NULL for other nodes. */
static struct graph_node *matrix_of(struct graph *g, int i)
{
    const struct graph_node *n = &g->node[i];

    return n->op == OP_LINEAR ? &g->node[n->src[1]] : NULL;
}

static size_t aligned(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

/* Point w to its numbers of `bits` bits and their scales, which begin at `at`;
 * returns where they end. */
static size_t point_copy(struct graph_node *w, int bits, char *base, size_t at)
{
    const int64_t blocks = (w->val.dim[0] + QUANT_ROWS - 1) / QUANT_ROWS;
    const int64_t groups = (w->val.dim[1] + QUANT_GROUP - 1) / QUANT_GROUP;

    w->aux = (struct tensor){ .type = DT_I8, .rank = 3 };
    w->aux.dim[0] = blocks;
    w->aux.dim[1] = groups;
    w->aux.dim[2] = QUANT_ROWS * QUANT_GROUP * bits / 8;
    w->aux2 = w->aux;
    w->aux2.type = DT_F32;
    w->aux2.dim[2] = QUANT_ROWS;
    if (base) {
        w->aux.data = base + at;
        w->aux2.data = base + at + aligned(tensor_bytes(&w->aux));
    }
    return at + aligned(tensor_bytes(&w->aux)) +
           aligned(tensor_bytes(&w->aux2));
}

int quantize_weights(struct graph *g, int bits, struct err *e)
{
    const struct ops *ops = g->dev->ops;
    size_t at = 0;

    if (!ops->quantize)
        return err_usage(e,
                         "device '%s' has no products of %d bits; use the CPU",
                         g->dev->type->name, bits);
    if (g->fetch)
        return err_usage(e,
                         "weights that are divided among ranks cannot be "
                         "stored in %d bits; use parallel.mode = ddp",
                         bits);
    for (int i = 0; i < g->n; i++)
        if (matrix_of(g, i))
            at = point_copy(matrix_of(g, i), bits, NULL, at);
    g->quantized.bytes = at;
    g->quantized.data = dev_alloc(g->dev, at, DEV_WEIGHTS, e);
    if (!g->quantized.data)
        return err_wrap(e, "weights of %d bits", bits);
    at = 0;
    for (int i = 0; i < g->n; i++) {
        struct graph_node *w = matrix_of(g, i);

        if (!w)
            continue;
        at = point_copy(w, bits, g->quantized.data, at);
        ops->quantize(g->dev, &w->aux, &w->aux2, &w->val);
    }
    return 0;
}

void quantize_borrow(struct graph *to, const struct graph *from)
{
    for (int i = 0; i < to->n_params; i++) {
        struct graph_node *w = &to->node[to->param[i].node];
        const struct graph_node *copied = &from->node[from->param[i].node];

        w->aux = copied->aux;
        w->aux2 = copied->aux2;
    }
}

void graph_resize(struct graph *g, int64_t old_B, int64_t old_T, int64_t B,
                  int64_t T)
{
    for (int i = 0; i < g->n; i++) {
        struct graph_node *n = &g->node[i];
        const bool attends = n->op == OP_ATTENTION; /* aux is (B*H, T) */

        if (n->op == OP_PARAM)
            continue;
        n->val.dim[0] = n->val.dim[0] / (old_B * old_T) * (B * T);
        n->aux.dim[0] = attends ? n->aux.dim[0] / old_B * B
                                : n->aux.dim[0] / (old_B * old_T) * (B * T);
        n->aux.dim[1] = attends ? T : n->aux.dim[1];
        n->attr.attn.T = attends ? T : n->attr.attn.T;
        n->attr.T = n->attr.T ? T : 0;
        n->keys.dim[0] = n->values.dim[0] = n->keys.dim[0] / old_B * B;
    }
}
