#include "config.h"
#include "trainer/model/gpt.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/rng.h"
#include "trainer/model/graph_calls.h"
#include "trainer/model/rules.h"

int64_t gpt_positions(const struct model_settings *m)
{
    return m->position == POSITION_LEARNED ? m->context : 0;
}

static bool has_window(const struct model_settings *m, int layer)
{
    const char *pattern = m->window_pattern;

    return m->window > 0 && m->window < m->context && layer + 1 < m->layers &&
           pattern[(size_t)layer % strlen(pattern)] == 'S';
}

/* SmolLM3 has no positions in every fourth layer. */
static bool has_rope(const struct model_settings *m, int layer)
{
    return m->position == POSITION_ROPE &&
           (!m->nope_every || (layer + 1) % m->nope_every != 0);
}

/* The context in which each part of the model is built. */
struct builder {
    struct graph *g;
    const struct model_settings *m;
    const struct derived *is;
    struct rope rope;
    int64_t T;
    int tokens, begins;
    int64_t capacity; /* of the cache; 0: not decoding */
    bool targets;     /* the graph will end in losses */
    bool prompt;      /* nothing after the last keys and values is needed */
    enum fp8 fp8;     /* whose matrices are multiplied in fp8 */
    int layer;
};

static int add_param(struct builder *b, const char *name,
                     enum param_group group, int64_t rows, int64_t cols,
                     double std, double value)
{
    char full[48];

    if (b->layer >= 0)
        snprintf(full, sizeof full, "h.%d.%s", b->layer, name);
    else
        snprintf(full, sizeof full, "%s", name);
    return graph_param(b->g, full, group, rows, cols, std, value);
}

/* The rows of the matrices of linear layers that are computed as one. */
struct stack {
    int64_t rows[GRAPH_STACK];
    bool bias;
};

static double ratio(const struct builder *b)
{
    return b->is->width > 0 ? b->is->width : 1;
}

/* A matrix whose inputs grow with the width of the model. */
static struct graph_param *growing(struct builder *b, int w)
{
    struct graph_param *p = &b->g->param[b->g->node[w].param];

    p->width = b->is->width;
    return p;
}

static int add_linear(struct builder *b, int x, const char *name,
                      struct stack stack, int64_t cols, double std)
{
    const int64_t rows = stack.rows[0] + stack.rows[1] + stack.rows[2];
    char full[32];
    int w, bias = GRAPH_NONE;

    snprintf(full, sizeof full, "%s.weight", name);
    w = add_param(b, full, GROUP_MATRIX, rows, cols, std / sqrt(ratio(b)), 0);
    memcpy(growing(b, w)->stack, stack.rows, sizeof stack.rows);
    if (stack.bias) {
        snprintf(full, sizeof full, "%s.bias", name);
        bias = add_param(b, full, GROUP_VECTOR, rows, 0, 0, 0);
    }
    return graph_linear(b->g, x, w, bias);
}

static int add_norm(struct builder *b, int x, const char *name)
{
    const enum norm kind = b->m->norm;
    char full[32];
    int w, bias = GRAPH_NONE;

    snprintf(full, sizeof full, "%s.weight", name);
    w = add_param(b, full, GROUP_VECTOR, b->m->width, 0, 0, 1);
    if (kind == NORM_LAYER && b->m->norm_bias) {
        snprintf(full, sizeof full, "%s.bias", name);
        bias = add_param(b, full, GROUP_VECTOR, b->m->width, 0, 0, 0);
    }
    return graph_norm(b->g, x, w, bias, kind, b->m->norm_eps);
}

static double residual_std(const struct builder *b)
{
    const double layers = (double)b->m->layers;

    if (b->m->init_projection == INIT_ZERO)
        return 0;
    return b->m->init_std / (b->m->init_residual ? sqrt(2 * layers) : 1);
}

static int add_embed(struct builder *b, int *wte)
{
    const struct model_settings *m = b->m;
    int wpe = GRAPH_NONE, x;

    *wte = add_param(b, "wte.weight", GROUP_EMBED, b->is->vocab_padded,
                     m->width, m->init_std, 0);
    if (m->position == POSITION_LEARNED)
        wpe = add_param(b, "wpe.weight", GROUP_EMBED, m->context, m->width,
                        m->init_std, 0);
    x = graph_embed(b->g, b->tokens, *wte, wpe, b->T);
    x = graph_dropout(b->g, x, m->dropout_embedding);
    return m->embed_norm ? add_norm(b, x, "ln_e") : x;
}

/* The layer's weights of the stream x and of the embedding. */
static int add_mix(struct builder *b, int x, int embed)
{
    const int wx = add_param(b, "mix.residual", GROUP_VECTOR, 1, 0, 0, 1);
    const int we = add_param(b, "mix.embed", GROUP_VECTOR, 1, 0, 0, 0);

    return graph_mix(b->g, x, embed, wx, we);
}

static int add_value_embed(struct builder *b, int qkv, int x)
{
    enum { GATE_INPUTS = 32 }; /* as in nanochat */
    const int64_t K = b->is->kv_heads, D = b->is->head_dim;
    const int64_t G = b->m->width < GATE_INPUTS ? b->m->width : GATE_INPUTS;
    int w, e;

    e = add_param(b, "attn.value_embed.weight", GROUP_EMBED,
                  b->is->vocab_padded, K * D, b->m->init_std, 0);
    w = add_param(b, "attn.value_gate.weight", GROUP_MATRIX, K, G, 0, 0);
    e = graph_embed(b->g, b->tokens, e, GRAPH_NONE, b->T);
    return graph_value(b->g, qkv, x, w, e);
}

static int add_attention(struct builder *b, int x)
{
    const struct model_settings *m = b->m;
    const int H = (int)m->heads, K = (int)b->is->kv_heads;
    const int64_t D = b->is->head_dim;
    struct attn attn = { .H = H,
                         .K = K,
                         .T = b->capacity ? b->capacity : b->T,
                         .window = has_window(m, b->layer) ? m->window : 0,
                         .drop.p = (float)m->dropout_attention };
    int h, wq, wk;

    h = add_linear(b, x, "attn.qkv",
                   (struct stack){ { H * D, K * D, K * D }, b->is->qkv_bias },
                   m->width, m->init_std);
    /* every other layer, and the last */
    if (m->value_embed && (m->layers - 1 - b->layer) % 2 == 0)
        h = add_value_embed(b, h, x);
    if (m->qk_norm) {
        wq = add_param(b, "attn.q_norm.weight", GROUP_VECTOR, D, 0, 0, 1);
        wk = add_param(b, "attn.k_norm.weight", GROUP_VECTOR, D, 0, 0, 1);
        h = graph_qknorm(b->g, h, wq, wk, H, K, m->norm_eps);
    }
    if (has_rope(m, b->layer))
        h = graph_rope(b->g, h, H, K, b->T, &b->rope);
    return b->capacity ? graph_decode(b->g, h, b->T, attn)
                       : graph_attention(b->g, h, b->begins, attn);
}

static int add_projection(struct builder *b, int h)
{
    const struct model_settings *m = b->m;

    h = add_linear(b, h, "attn.proj",
                   (struct stack){ { m->width }, b->is->output_bias },
                   m->heads * b->is->head_dim, residual_std(b));
    return graph_dropout(b->g, h, m->dropout);
}

static void mark_fp8(struct graph *g, int product, bool on)
{
    g->node[g->node[product].src[1]].val.fp8 |= on;
}

static int add_mlp(struct builder *b, int x)
{
    static const struct {
        bool gated;
        enum act act;
    } kinds[] = {
        [MLP_GELU] = { false, ACT_GELU },
        [MLP_GELU_TANH] = { false, ACT_GELU_TANH },
        [MLP_RELU] = { false, ACT_RELU },
        [MLP_RELU2] = { false, ACT_RELU2 },
        [MLP_SWIGLU] = { true, ACT_SILU },
        [MLP_GEGLU] = { true, ACT_GELU },
    };
    const struct model_settings *m = b->m;
    const bool gated = kinds[m->mlp].gated;
    const enum act act = kinds[m->mlp].act;
    const int64_t F = b->is->d_ff;
    int h;

    h = add_linear(b, x, "mlp.fc",
                   (struct stack){ { F, gated ? F : 0 }, b->is->mlp_bias },
                   m->width, m->init_std);
    mark_fp8(b->g, h, b->fp8 == FP8_MLP);
    h = graph_act(b->g, h, act, gated);
    h = add_linear(b, h, "mlp.proj",
                   (struct stack){ { m->width }, b->is->mlp_bias }, F,
                   residual_std(b));
    mark_fp8(b->g, h, b->fp8 == FP8_MLP);
    return graph_dropout(b->g, h, m->dropout);
}

/* Everything before the head; *head is set to the matrix of the classifier. */
static int add_trunk(struct builder *b, int *head)
{
    const struct model_settings *m = b->m;
    char name[16];
    int x, embed, h, wte;

    graph_unit(b->g, -1, "embed");
    x = embed = add_embed(b, &wte);
    for (int l = 0; l < m->layers; l++) {
        snprintf(name, sizeof name, "h.%d", l);
        graph_unit(b->g, l, name);
        b->layer = l;
        if (m->residual_scale)
            x = add_mix(b, x, embed);
        h = add_norm(b, x, "ln_1");
        h = add_attention(b, h);
        if (b->prompt && l + 1 == m->layers)
            return h;
        h = add_projection(b, h);
        x = graph_add(b->g, x, h);
        h = add_norm(b, x, "ln_2");
        h = add_mlp(b, h);
        x = graph_add(b->g, x, h);
    }
    b->layer = -1;
    graph_unit(b->g, -1, "final");
    if (m->final_norm)
        x = add_norm(b, x, "ln_f");
    *head = wte;
    if (!m->tied) {
        *head = add_param(b, "lm_head.weight", GROUP_HEAD, b->is->vocab_padded,
                          m->width, m->init_std / ratio(b), 0);
        growing(b, *head);
    }
    return x;
}

/* Choose the values that are computed again instead of being kept.  Those of
 * the last layer are kept in any case if layers are recomputed: backward needs
 * all of them at once, when memory is fullest. */
static void mark_recomputed(struct graph *g, enum recompute how, int layers)
{
    for (int i = 0; i < g->n; i++) {
        struct graph_node *n = &g->node[i];
        const bool last = i + 1 < g->n && g->node[i + 1].layer != n->layer;

        if (n->op == OP_PARAM || n->op == OP_INPUT || n->layer < 0)
            continue;
        if (how == RECOMPUTE_LAYER)
            n->recompute = !last && n->layer + 1 < layers;
        else if (how == RECOMPUTE_POINTWISE)
            n->recompute = rules[n->op].pointwise;
    }
}

/* Build all but the head, for B sequences of b->T positions. */
static int build_trunk(struct gpt *gpt, struct builder *b,
                       const struct settings *c, int64_t B, int *head)
{
    static const enum dtype types[] = { [PRECISION_FP32] = DT_F32,
                                        [PRECISION_BF16] = DT_BF16,
                                        [PRECISION_FP16] = DT_F16 };
    struct graph *g = &gpt->graph;

    b->g = g;
    b->m = &c->model;
    b->is = &c->is;
    b->rope = rope_scaling_rope(c);
    b->layer = -1;
    graph_init(g, types[c->train.precision]);
    gpt->B = B;
    gpt->T = b->T;
    gpt->tokens = b->tokens = graph_input(g, "tokens", B * b->T, 0);
    gpt->targets =
        b->targets ? graph_input(g, "targets", B * b->T, 0) : GRAPH_NONE;
    gpt->teacher =
        b->targets && c->is.teacher_k
            ? graph_input(g, "teacher", B * b->T, 1 + c->is.teacher_k)
            : GRAPH_NONE;
    gpt->begins = b->begins = c->model.mask == MASK_DOCUMENT && !b->capacity
                                  ? graph_input(g, "begins", B * b->T, 0)
                                  : GRAPH_NONE;
    gpt->eot = c->is.eot;
    return add_trunk(b, head);
}

void gpt_build(struct gpt *gpt, const struct settings *c, int64_t B)
{
    struct builder b = { .T = c->model.context,
                         .targets = true,
                         .fp8 = c->train.fp8 };
    int head;
    const int x = build_trunk(gpt, &b, c, B, &head);

    gpt->output =
        graph_head(&gpt->graph, x, head, gpt->targets, gpt->teacher,
                   c->train.teacher_weight, c->model.vocab, c->model.softcap);
    mark_recomputed(&gpt->graph, c->train.recompute, (int)c->model.layers);
    mark_fp8(&gpt->graph, gpt->output, b.fp8 != FP8_OFF);
}

void gpt_build_decoder(struct gpt *gpt, const struct settings *c, int64_t B,
                       int64_t T, int64_t capacity, bool losses)
{
    struct builder b = { .T = T, .capacity = capacity, .targets = losses };
    int head;
    const int x = build_trunk(gpt, &b, c, B, &head);

    gpt->output =
        losses ? graph_head(&gpt->graph, x, head, gpt->targets, GRAPH_NONE, 0,
                            c->model.vocab, c->model.softcap)
               : graph_linear(&gpt->graph, x, head, GRAPH_NONE);
}

void gpt_build_prompts(struct gpt *gpt, const struct settings *c, int64_t B,
                       int64_t T)
{
    struct builder b = { .T = T, .prompt = true };
    int head;

    gpt->output = build_trunk(gpt, &b, c, B, &head);
}

/* ---- weights --------------------------------------------------------- */

void gpt_init_weights(const struct gpt *gpt, int i, int64_t from, int64_t n,
                      uint64_t seed, struct dev *cpu, float *out)
{
    const struct graph_param *p = &gpt->graph.param[i];
    struct tensor t = tensor_vector(out, DT_F32, n);

    if (p->std > 0)
        cpu->ops->normal(cpu, &t, seed, rng_stream(RNG_INIT, 0, (uint64_t)i),
                         from, p->std);
    else
        for (int64_t k = 0; k < n; k++)
            out[k] = p->value;
}

void gpt_resize(struct gpt *gpt, int64_t B, int64_t T)
{
    graph_resize(&gpt->graph, gpt->B, gpt->T, B, T);
    gpt->B = B;
    gpt->T = T;
}

static void set_input(struct gpt *gpt, int node, const int32_t *from)
{
    const struct tensor *to = graph_val(&gpt->graph, node);

    gpt->graph.dev->type->put(gpt->graph.dev, to->data, from, tensor_bytes(to));
}

/* The position at which the document of each token begins. */
static void set_begins(struct gpt *gpt, const int32_t *x)
{
    AUTO_FREE int32_t *first =
        xcalloc((size_t)(gpt->B * gpt->T), sizeof *first);

    for (int64_t i = 0; i < gpt->B * gpt->T; i++) {
        const int64_t t = i % gpt->T;

        first[i] = t == 0 || x[i] == gpt->eot ? (int32_t)t : first[i - 1];
    }
    set_input(gpt, gpt->begins, first);
}

void gpt_set_inputs(struct gpt *gpt, const int32_t *x, const int32_t *y)
{
    if (gpt->begins != GRAPH_NONE)
        set_begins(gpt, x);
    set_input(gpt, gpt->tokens, x);
    if (y)
        set_input(gpt, gpt->targets, y);
}

void gpt_set_teacher(struct gpt *gpt, const int32_t *words)
{
    set_input(gpt, gpt->teacher, words);
}

double gpt_flops_per_token(const struct gpt *gpt)
{
    return graph_flops(&gpt->graph) / (double)(gpt->B * gpt->T);
}
