#include "config.h"
#include "trainer/model/rules.h"

#include "common/rng.h"

static struct graph_node *src(struct graph *g, const struct graph_node *n,
                              int i)
{
    return n->src[i] == GRAPH_NONE ? NULL : &g->node[n->src[i]];
}

static struct tensor *val(struct graph *g, const struct graph_node *n, int i)
{
    struct graph_node *s = src(g, n, i);

    return s ? &s->val : NULL;
}

/* The gradient of source i, or NULL if it has none. */
static struct tensor *grad(struct graph *g, const struct graph_node *n, int i)
{
    struct graph_node *s = src(g, n, i);

    return s && !s->no_grad ? &s->grad : NULL;
}

/* Dropout of one node: a stream of random numbers for the step and the node,
 * with a number for each element of the step, which does not depend on the
 * micro-batch or rank that computes the element. */
static struct dropout dropout_of(const struct graph *g,
                                 const struct graph_node *n, float p,
                                 int64_t per_row)
{
    return (struct dropout){
        .p = g->evaluating ? 0.0f : p,
        .seed = g->seed,
        .stream = rng_stream(RNG_DROPOUT, g->step, (uint64_t)(n - g->node)),
        .first = g->first_row * (uint64_t)per_row,
    };
}

/* ---- embedding ------------------------------------------------------- */

static void embed_forward(struct graph *g, struct graph_node *n)
{
    g->dev->ops->embed_fwd(g->dev, &n->val, val(g, n, 0), val(g, n, 1),
                           val(g, n, 2), n->attr.T, g->position);
}

static void embed_backward(struct graph *g, struct graph_node *n)
{
    g->dev->ops->embed_bwd(g->dev, grad(g, n, 1), grad(g, n, 2), val(g, n, 0),
                           &n->grad, n->attr.T);
}

/* ---- linear ---------------------------------------------------------- */

static void linear_forward(struct graph *g, struct graph_node *n)
{
    const struct graph_node *w = &g->node[n->src[1]];

    if (w->aux.data)
        g->dev->ops->linear_quantized_fwd(g->dev, &n->val, val(g, n, 0),
                                          &w->aux, &w->aux2, val(g, n, 2));
    else
        g->dev->ops->linear_fwd(g->dev, &n->val, val(g, n, 0), &w->val,
                                val(g, n, 2));
}

static void linear_backward(struct graph *g, struct graph_node *n)
{
    g->dev->ops->linear_bwd(g->dev, grad(g, n, 0), grad(g, n, 1), grad(g, n, 2),
                            val(g, n, 0), val(g, n, 1), &n->grad);
}

static double linear_flops(const struct graph *g, const struct graph_node *n)
{
    return 2.0 * (double)tensor_count(&n->val) *
           (double)g->node[n->src[0]].val.dim[1];
}

/* ---- norms ----------------------------------------------------------- */

static void norm_forward(struct graph *g, struct graph_node *n)
{
    g->dev->ops->norm_fwd(g->dev, NULL, &n->val, &n->aux, val(g, n, 0), NULL,
                          val(g, n, 1), val(g, n, 2), n->attr.norm,
                          n->attr.eps);
}

static void norm_backward(struct graph *g, struct graph_node *n)
{
    g->dev->ops->norm_bwd(g->dev, grad(g, n, 0), grad(g, n, 1), grad(g, n, 2),
                          val(g, n, 0), val(g, n, 1), &n->aux, &n->grad,
                          n->attr.norm);
}

static void qknorm_forward(struct graph *g, struct graph_node *n)
{
    g->dev->ops->qknorm_fwd(g->dev, &n->val, &n->aux, val(g, n, 0),
                            val(g, n, 1), val(g, n, 2), n->attr.attn.H,
                            n->attr.attn.K, n->attr.eps);
}

static void qknorm_backward(struct graph *g, struct graph_node *n)
{
    g->dev->ops->qknorm_bwd(g->dev, grad(g, n, 0), grad(g, n, 1), grad(g, n, 2),
                            val(g, n, 0), val(g, n, 1), val(g, n, 2), &n->aux,
                            &n->grad, n->attr.attn.H, n->attr.attn.K);
}

/* ---- attention ------------------------------------------------------- */

static void value_forward(struct graph *g, struct graph_node *n)
{
    g->dev->ops->value_fwd(g->dev, &n->val, &n->aux, val(g, n, 1), val(g, n, 2),
                           val(g, n, 3));
}

/* The gradient of queries, keys and values is in the memory of ours. */
static void value_backward(struct graph *g, struct graph_node *n)
{
    g->dev->ops->value_bwd(g->dev, grad(g, n, 1), grad(g, n, 2), grad(g, n, 3),
                           val(g, n, 1), val(g, n, 2), val(g, n, 3), &n->aux,
                           &n->grad);
}

static double value_flops(const struct graph *g, const struct graph_node *n)
{
    return 2.0 * (double)tensor_count(&n->aux) *
           (double)g->node[n->src[2]].val.dim[1];
}

static void rotate(struct graph *g, struct graph_node *n, struct tensor *qkv,
                   bool inverse)
{
    g->dev->ops->rope(g->dev, qkv, n->attr.attn.H, n->attr.attn.K, n->attr.T,
                      g->position, &n->attr.rope, inverse);
}

static void rope_forward(struct graph *g, struct graph_node *n)
{
    rotate(g, n, &n->val, false);
}

static void rope_backward(struct graph *g, struct graph_node *n)
{
    rotate(g, n, &n->grad, true);
}

/* The parameters of the operation, with the dropout of this step. */
static struct attn attn_of(const struct graph *g, const struct graph_node *n)
{
    struct attn a = n->attr.attn;

    a.drop = dropout_of(g, n, a.drop.p, (int64_t)a.H * a.T);
    if (n->src[1] != GRAPH_NONE)
        a.begins = g->node[n->src[1]].val.data;
    return a;
}

static void attention_forward(struct graph *g, struct graph_node *n)
{
    const struct attn a = attn_of(g, n);

    if (n->keys.data)
        g->dev->ops->attn_store(g->dev, &n->keys, &n->values, val(g, n, 0), &a);
    g->dev->ops->attn_fwd(g->dev, &n->val, &n->aux, val(g, n, 0), &a);
}

static void attention_backward(struct graph *g, struct graph_node *n)
{
    const struct attn a = attn_of(g, n);

    g->dev->ops->attn_bwd(g->dev, grad(g, n, 0), val(g, n, 0), &n->val, &n->aux,
                          &n->grad, &a);
}

/* Scores and their product with the values.  The full square is counted, as in
 * PaLM's MFU, although the upper half is never computed; and of windows twice
 * the pairs that are computed, too, which is w (2 T - w). */
static double attention_flops(const struct graph *g UNUSED,
                              const struct graph_node *n)
{
    const double T = (double)n->attr.attn.T, w = (double)n->attr.attn.window;

    return 4.0 * (double)tensor_count(&n->val) *
           (w > 0 && w < T ? w * (2 - w / T) : T);
}

static void decode_forward(struct graph *g, struct graph_node *n)
{
    const struct attn a = attn_of(g, n);

    g->dev->ops->attn_decode(g->dev, &n->val, &n->keys, &n->values,
                             val(g, n, 0), g->position, &a);
}

/* ---- pointwise ------------------------------------------------------- */

static void act_forward(struct graph *g, struct graph_node *n)
{
    g->dev->ops->act_fwd(g->dev, &n->val, val(g, n, 0), n->attr.act);
}

static void act_backward(struct graph *g, struct graph_node *n)
{
    g->dev->ops->act_bwd(g->dev, grad(g, n, 0), val(g, n, 0), &n->grad,
                         n->attr.act);
}

static void dropout_forward(struct graph *g, struct graph_node *n)
{
    const struct dropout d =
        dropout_of(g, n, n->attr.drop.p, tensor_cols(&n->val));

    n->val.overwrite = true;
    if (d.p > 0.0f)
        g->dev->ops->dropout(g->dev, &n->val, &n->val, &d);
}

static void dropout_backward(struct graph *g, struct graph_node *n)
{
    const struct dropout d =
        dropout_of(g, n, n->attr.drop.p, tensor_cols(&n->val));

    g->dev->ops->dropout(g->dev, grad(g, n, 0), &n->grad, &d);
}

static void add_forward(struct graph *g, struct graph_node *n)
{
    g->dev->ops->add_fwd(g->dev, &n->val, val(g, n, 0), val(g, n, 1));
}

/* A source whose gradient shares the memory of ours has it already. */
static void add_backward(struct graph *g, struct graph_node *n)
{
    for (int i = 0; i < 2; i++)
        if (g->node[n->src[i]].same_grad == GRAPH_NONE)
            g->dev->ops->accum(g->dev, grad(g, n, i), &n->grad);
}

static void mix_forward(struct graph *g, struct graph_node *n)
{
    g->dev->ops->mix_fwd(g->dev, &n->val, val(g, n, 0), val(g, n, 1),
                         val(g, n, 2), val(g, n, 3));
}

/* In the first layer, both sources are the embedding. */
static void mix_backward(struct graph *g, struct graph_node *n)
{
    struct tensor second = g->node[n->src[1]].grad;

    second.overwrite = second.overwrite && n->src[0] != n->src[1];
    g->dev->ops->mix_bwd(g->dev, grad(g, n, 0), &second, grad(g, n, 2),
                         grad(g, n, 3), val(g, n, 0), val(g, n, 1),
                         val(g, n, 2), val(g, n, 3), &n->grad);
}

/* ---- the head -------------------------------------------------------- */

void rule_head(struct graph *g, struct graph_node *n, bool gradient)
{
    const struct head_teacher t = { val(g, n, 3), n->attr.teacher_weight };

    g->dev->ops->head(g->dev, &n->val, gradient ? grad(g, n, 0) : NULL,
                      gradient ? grad(g, n, 1) : NULL, val(g, n, 0),
                      val(g, n, 1), val(g, n, 2),
                      t.words && !g->evaluating ? &t : NULL, n->attr.vocab,
                      n->attr.softcap, g->head_scale);
}

static void head_forward(struct graph *g, struct graph_node *n)
{
    rule_head(g, n, false);
}

static double head_flops(const struct graph *g, const struct graph_node *n)
{
    return 2.0 * (double)n->val.dim[0] *
           (double)tensor_count(&g->node[n->src[1]].val);
}

/* ---- fused pairs ----------------------------------------------------- */

void rule_add_norm(struct graph *g, struct graph_node *n)
{
    struct graph_node *sum = &g->node[n->src[0]];

    g->dev->ops->norm_fwd(g->dev, &sum->val, &n->val, &n->aux, val(g, sum, 0),
                          val(g, sum, 1), val(g, n, 1), val(g, n, 2),
                          n->attr.norm, n->attr.eps);
}

void rule_linear_act(struct graph *g, struct graph_node *n)
{
    struct graph_node *pre = &g->node[n->src[0]];

    if (g->node[pre->src[1]].aux.data) {
        linear_forward(g, pre);
        g->dev->ops->act_fwd(g->dev, &n->val, &pre->val, n->attr.act);
        return;
    }
    g->dev->ops->linear_act_fwd(g->dev, &n->val, &pre->val, val(g, pre, 0),
                                val(g, pre, 1), val(g, pre, 2), n->attr.act);
}

/* The node is the OP_LINEAR. */
void rule_act_linear_back(struct graph *g, struct graph_node *n)
{
    struct graph_node *act = &g->node[n->src[0]], *pre = &g->node[act->src[0]];

    g->dev->ops->act_linear_bwd(g->dev, &pre->grad, grad(g, n, 1),
                                grad(g, n, 2), &pre->val, &act->val,
                                val(g, n, 1), &n->grad, act->attr.act);
}

/* clang-format off */
const struct rule rules[OP_COUNT] = {
    [OP_INPUT] =     { .name = "input" },
    [OP_PARAM] =     { .name = "param" },
    [OP_EMBED] =     { "embed", "embed_bwd", embed_forward, embed_backward,
                       0, false, NULL },
    [OP_LINEAR] =    { "linear", "linear_bwd", linear_forward, linear_backward,
                       1 << 0 | 1 << 1, false, linear_flops },
    [OP_NORM] =      { "norm", "norm_bwd", norm_forward, norm_backward,
                       1 << 0 | 1 << 1, true, NULL },
    [OP_QKNORM] =    { "qknorm", "qknorm_bwd", qknorm_forward, qknorm_backward,
                       1 << 0, false, NULL },
    [OP_VALUE] =     { "value", "value_bwd", value_forward, value_backward,
                       1 << 1 | 1 << 2 | 1 << 3, false, value_flops },
    [OP_ROPE] =      { "rope", "rope_bwd", rope_forward, rope_backward,
                       0, false, NULL },
    [OP_ATTENTION] = { "attention", "attention_bwd", attention_forward,
                       attention_backward, 1 << 0 | 1 << 1 | NEEDS_OWN, false,
                       attention_flops },
    [OP_DECODE] =    { "decode", NULL, decode_forward, NULL,
                       0, false, attention_flops },
    [OP_ACT] =       { "act", "act_bwd", act_forward, act_backward,
                       1 << 0, true, NULL },
    [OP_GLU] =       { "glu", "glu_bwd", act_forward, act_backward,
                       1 << 0, true, NULL },
    [OP_DROPOUT] =   { "dropout", "dropout_bwd", dropout_forward,
                       dropout_backward, 0, false, NULL },
    [OP_ADD] =       { "add", "add_bwd", add_forward, add_backward,
                       0, false, NULL },
    [OP_MIX] =       { "mix", "mix_bwd", mix_forward, mix_backward,
                       1 << 0 | 1 << 1 | 1 << 2 | 1 << 3, true, NULL },
    [OP_HEAD] =      { "head", NULL, head_forward, NULL,
                       1 << 0, false, head_flops },
};
/* clang-format on */
