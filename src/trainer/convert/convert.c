#include "config.h"
#include "trainer/convert/convert.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
/* Of each module, the weight and then the bias, in the order of llm.c. */
static const struct convert_row gpt2_rows[] = {
    { "wte", "wte", "token_embd" },
    { "wpe", "wpe", "position_embd" },
    { "h.%d.ln_1", "h.%d.ln_1", "blk.%d.attn_norm" },
    { "h.%d.attn.qkv", "h.%d.attn.c_attn", "blk.%d.attn_qkv",
      SLICE_TRANSPOSED },
    { "h.%d.attn.proj", "h.%d.attn.c_proj", "blk.%d.attn_output",
      SLICE_TRANSPOSED },
    { "h.%d.ln_2", "h.%d.ln_2", "blk.%d.ffn_norm" },
    { "h.%d.mlp.fc", "h.%d.mlp.c_fc", "blk.%d.ffn_up", SLICE_TRANSPOSED },
    { "h.%d.mlp.proj", "h.%d.mlp.c_proj", "blk.%d.ffn_down",
      SLICE_TRANSPOSED },
    { "ln_f", "ln_f", "output_norm" },
    { 0 }
};

/* Only Qwen3 has the norms of queries and keys. */
static const struct convert_row llama_rows[] = {
    { "wte", "embed_tokens", "token_embd" },
    { "h.%d.ln_1", "layers.%d.input_layernorm", "blk.%d.attn_norm" },
    { "h.%d.attn.qkv", "layers.%d.self_attn.q_proj", "blk.%d.attn_q", SLICE_Q },
    { "h.%d.attn.qkv", "layers.%d.self_attn.k_proj", "blk.%d.attn_k", SLICE_K },
    { "h.%d.attn.qkv", "layers.%d.self_attn.v_proj", "blk.%d.attn_v", SLICE_V },
    { "h.%d.attn.q_norm", "layers.%d.self_attn.q_norm", "blk.%d.attn_q_norm" },
    { "h.%d.attn.k_norm", "layers.%d.self_attn.k_norm", "blk.%d.attn_k_norm" },
    { "h.%d.attn.proj", "layers.%d.self_attn.o_proj", "blk.%d.attn_output" },
    { "h.%d.ln_2", "layers.%d.post_attention_layernorm", "blk.%d.ffn_norm" },
    { "h.%d.mlp.fc", "layers.%d.mlp.gate_proj", "blk.%d.ffn_gate", SLICE_GATE },
    { "h.%d.mlp.fc", "layers.%d.mlp.up_proj", "blk.%d.ffn_up", SLICE_UP },
    { "h.%d.mlp.proj", "layers.%d.mlp.down_proj", "blk.%d.ffn_down" },
    { "ln_f", "norm", "output_norm" },
    { 0 }
};

static const struct convert_row head_row = { "lm_head", "lm_head", "output" };

/* What a model has beside what all of its family have, as a set of bits. */
enum { QKV_BIAS = 1, OUTPUT_BIAS = 2, MLP_BIAS = 4, QK_NORM = 8, NOPE = 16 };
enum { ATTENTION = QKV_BIAS | OUTPUT_BIAS };

/* Each family with such sets.  A 0 that only fills a row changes nothing: the
 * first row that fits is taken, and that of Llama has the empty set. */
enum { SETS = 4 };
static const struct {
    struct convert_family family;
    int has[SETS];
} llamas[] = {
    { { "llama", "LlamaForCausalLM", "model.", llama_rows },
      { 0, ATTENTION, MLP_BIAS, ATTENTION | MLP_BIAS } },
    { { "qwen2", "Qwen2ForCausalLM", "model.", llama_rows }, { QKV_BIAS } },
    { { "qwen3", "Qwen3ForCausalLM", "model.", llama_rows },
      { QK_NORM, QK_NORM | ATTENTION } },
    { { "smollm3", "SmolLM3ForCausalLM", "model.", llama_rows },
      { NOPE, NOPE | ATTENTION, NOPE | MLP_BIAS,
        NOPE | ATTENTION | MLP_BIAS } },
};
static const struct convert_family gpt2 = { "gpt2", "GPT2LMHeadModel",
                                            "transformer.", gpt2_rows, true };
/* clang-format on */

static const struct convert_family *find_llama(int has)
{
    for (size_t i = 0; i < sizeof llamas / sizeof llamas[0]; i++)
        for (int k = 0; k < SETS; k++)
            if (llamas[i].has[k] == has)
                return &llamas[i].family;
    return NULL;
}

const struct convert_family *convert_family(const struct settings *s,
                                            struct err *e)
{
    const struct model_settings *m = &s->model;
    const struct derived *is = &s->is;
    const bool plain =
        m->mlp != MLP_SWIGLU && m->mlp != MLP_GEGLU && m->mlp != MLP_RELU2;
    const bool known = !m->embed_norm && m->softcap <= 0 && !m->window &&
                       !m->residual_scale && !m->value_embed;
    const struct convert_family *f = NULL;

    if (known && m->norm == NORM_LAYER && m->position == POSITION_LEARNED &&
        plain && m->final_norm && !m->qk_norm && is->kv_heads == m->heads &&
        is->head_dim * m->heads == m->width)
        f = &gpt2;
    if (known && m->norm == NORM_RMS && m->position == POSITION_ROPE &&
        (m->mlp == MLP_SWIGLU || m->mlp == MLP_GEGLU) && m->final_norm)
        f = find_llama((is->qkv_bias ? QKV_BIAS : 0) |
                       (is->output_bias ? OUTPUT_BIAS : 0) |
                       (is->mlp_bias ? MLP_BIAS : 0) |
                       (m->qk_norm ? QK_NORM : 0) | (m->nope_every ? NOPE : 0));
    if (!f)
        err_usage(e,
                  "the model is neither like GPT-2 (layernorm, learned "
                  "positions, a plain MLP, a final norm) nor like Llama, "
                  "Qwen2, Qwen3 or SmolLM3 (rmsnorm, rope, swiglu or geglu, a "
                  "final norm, and the biases that one of them has), or it has "
                  "embed_norm, softcap, window, residual_scale or value_embed");
    return f;
}

bool convert_has_biases(const struct settings *s)
{
    return s->is.qkv_bias && s->is.output_bias && s->is.mlp_bias &&
           s->model.norm_bias;
}

static void name_tensor(char *out, size_t size, const char *prefix,
                        const char *module, int layer, const char *part)
{
    const char *d = strstr(module, "%d");

    if (d)
        snprintf(out, size, "%s%.*s%d%s.%s", prefix, (int)(d - module), module,
                 layer, d + 2, part);
    else
        snprintf(out, size, "%s%s.%s", prefix, module, part);
}

static const struct graph_param *find_param(const struct graph *g,
                                            const char *name)
{
    for (int i = 0; i < g->n_params; i++)
        if (strcmp(g->param[i].name, name) == 0)
            return &g->param[i];
    return NULL;
}

static struct convert_slice find_slice(const struct engine *eng,
                                       const struct graph_param *p,
                                       enum convert_slice_kind kind)
{
    const struct model_settings *m = &eng->set->model;
    const struct tensor *t = &eng->gpt.graph.node[p->node].val;
    const int64_t D = eng->set->is.head_dim, F = eng->set->is.d_ff;
    const int64_t q = m->heads * D, k = eng->set->is.kv_heads * D;
    const struct {
        int64_t from, rows;
    } part[] = {
        [SLICE_Q] = { 0, q },     [SLICE_K] = { q, k },
        [SLICE_V] = { q + k, k }, [SLICE_GATE] = { 0, F },
        [SLICE_UP] = { F, F },
    };
    struct convert_slice slice = { .kind = kind,
                                   .rows = t->dim[0],
                                   .cols = t->rank > 1 ? t->dim[1] : 0 };

    if (kind >= SLICE_Q) {
        slice.rows = part[kind].rows;
        slice.from = part[kind].from;
    }
    slice.cropped = strcmp(p->name, "wpe.weight") == 0;
    /* in the file, these matrices have no padding */
    if (p->group == GROUP_HEAD || (p->group == GROUP_EMBED && !slice.cropped))
        slice.rows = m->vocab;
    slice.transposed = kind == SLICE_TRANSPOSED && slice.cols;
    return slice;
}

/* The weight or the bias of a module in a layer. */
static int walk_part(const struct engine *eng, const struct convert_family *f,
                     const struct convert_row *row, int layer, const char *part,
                     convert_tensor_fn *fn, void *arg, struct err *e)
{
    const struct graph *g = &eng->gpt.graph;
    struct convert_tensor t;
    char weight[sizeof t.ours];

    name_tensor(t.ours, sizeof t.ours, "", row->ours, layer, part);
    name_tensor(t.hf, sizeof t.hf, row == &head_row ? "" : f->prefix, row->hf,
                layer, part);
    name_tensor(t.gguf, sizeof t.gguf, "", row->gguf, layer, part);
    name_tensor(weight, sizeof weight, "", row->ours, layer, "weight");
    t.param = find_param(g, t.ours);
    if (t.param) {
        t.slice = find_slice(eng, t.param, row->slice);
        return fn(arg, &t, e);
    }
    t.param = find_param(g, weight);
    if (!f->biases || !t.param || t.param->group == GROUP_EMBED ||
        t.param->group == GROUP_HEAD)
        return 0;
    t.slice =
        (struct convert_slice){ .rows = g->node[t.param->node].val.dim[0] };
    t.param = NULL;
    return fn(arg, &t, e);
}

static int walk_row(const struct engine *eng, const struct convert_family *f,
                    const struct convert_row *row, convert_tensor_fn *fn,
                    void *arg, struct err *e)
{
    static const char *const parts[] = { "weight", "bias" };
    const int layers =
        strstr(row->ours, "%d") ? (int)eng->set->model.layers : 1;

    for (int i = 0; i < 2; i++)
        for (int l = 0; l < layers; l++)
            if (walk_part(eng, f, row, l, parts[i], fn, arg, e) < 0)
                return -1;
    return 0;
}

static int walk_own(const struct engine *eng, convert_tensor_fn *fn, void *arg,
                    struct err *e)
{
    const struct graph *g = &eng->gpt.graph;

    for (int i = 0; i < g->n_params; i++) {
        struct convert_tensor t = { .param = &g->param[i] };

        snprintf(t.ours, sizeof t.ours, "%s", t.param->name);
        snprintf(t.hf, sizeof t.hf, "%s", t.param->name);
        t.slice = find_slice(eng, t.param, SLICE_ALL);
        if (fn(arg, &t, e) < 0)
            return -1;
    }
    return 0;
}

int convert_walk(const struct engine *eng, const struct convert_family *f,
                 convert_tensor_fn *fn, void *arg, struct err *e)
{
    if (!f)
        return walk_own(eng, fn, arg, e);
    for (const struct convert_row *row = f->rows; row->ours; row++)
        if (walk_row(eng, f, row, fn, arg, e) < 0)
            return -1;
    return eng->set->model.tied ? 0 : walk_row(eng, f, &head_row, fn, arg, e);
}

int64_t convert_slice_count(const struct convert_slice *s)
{
    return s->rows * (s->cols ? s->cols : 1);
}

/* The element of the file that is at (row r, column c) of our slice. */
static int64_t index_of(const struct convert_slice *s, int64_t r, int64_t c)
{
    return s->transposed ? c * s->rows + r : r * (s->cols ? s->cols : 1) + c;
}

void convert_to_theirs(const struct convert_slice *s, const float *ours,
                       float *theirs)
{
    const int64_t cols = s->cols ? s->cols : 1;

    for (int64_t r = 0; r < s->rows; r++)
        for (int64_t c = 0; c < cols; c++)
            theirs[index_of(s, r, c)] = ours[(s->from + r) * cols + c];
}

void convert_to_ours(const struct convert_slice *s, float *ours,
                     const float *theirs)
{
    const int64_t cols = s->cols ? s->cols : 1;

    for (int64_t r = 0; r < s->rows; r++)
        for (int64_t c = 0; c < cols; c++)
            ours[(s->from + r) * cols + c] = theirs[index_of(s, r, c)];
}
