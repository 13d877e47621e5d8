#include "config.h"
#include "trainer/convert/convert.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct convert_row gpt2_rows[] = {
    { "wte.weight", "wte.weight" },
    { "wpe.weight", "wpe.weight" },
    { "h.%d.ln_1.weight", "h.%d.ln_1.weight" },
    { "h.%d.ln_1.bias", "h.%d.ln_1.bias", SLICE_ALL, MISSING_ZEROS },
    { "h.%d.attn.qkv.weight", "h.%d.attn.c_attn.weight", SLICE_TRANSPOSED },
    { "h.%d.attn.qkv.bias", "h.%d.attn.c_attn.bias", SLICE_ALL, MISSING_ZEROS },
    { "h.%d.attn.proj.weight", "h.%d.attn.c_proj.weight", SLICE_TRANSPOSED },
    { "h.%d.attn.proj.bias", "h.%d.attn.c_proj.bias",
      SLICE_ALL, MISSING_ZEROS },
    { "h.%d.ln_2.weight", "h.%d.ln_2.weight" },
    { "h.%d.ln_2.bias", "h.%d.ln_2.bias", SLICE_ALL, MISSING_ZEROS },
    { "h.%d.mlp.fc.weight", "h.%d.mlp.c_fc.weight", SLICE_TRANSPOSED },
    { "h.%d.mlp.fc.bias", "h.%d.mlp.c_fc.bias", SLICE_ALL, MISSING_ZEROS },
    { "h.%d.mlp.proj.weight", "h.%d.mlp.c_proj.weight", SLICE_TRANSPOSED },
    { "h.%d.mlp.proj.bias", "h.%d.mlp.c_proj.bias", SLICE_ALL, MISSING_ZEROS },
    { "ln_f.weight", "ln_f.weight" },
    { "ln_f.bias", "ln_f.bias", SLICE_ALL, MISSING_ZEROS },
    { 0 }
};

/* Only Qwen3 has the norms of queries and keys, and only Llama and SmolLM3 have
 * biases in the MLP. */
static const struct convert_row llama_rows[] = {
    { "wte.weight", "embed_tokens.weight" },
    { "h.%d.ln_1.weight", "layers.%d.input_layernorm.weight" },
    { "h.%d.attn.qkv.weight", "layers.%d.self_attn.q_proj.weight", SLICE_Q },
    { "h.%d.attn.qkv.weight", "layers.%d.self_attn.k_proj.weight", SLICE_K },
    { "h.%d.attn.qkv.weight", "layers.%d.self_attn.v_proj.weight", SLICE_V },
    { "h.%d.attn.proj.weight", "layers.%d.self_attn.o_proj.weight" },
    { "h.%d.ln_2.weight", "layers.%d.post_attention_layernorm.weight" },
    { "h.%d.mlp.fc.weight", "layers.%d.mlp.gate_proj.weight", SLICE_GATE },
    { "h.%d.mlp.fc.weight", "layers.%d.mlp.up_proj.weight", SLICE_UP },
    { "h.%d.mlp.proj.weight", "layers.%d.mlp.down_proj.weight" },
    { "ln_f.weight", "norm.weight" },
    { "h.%d.attn.q_norm.weight", "layers.%d.self_attn.q_norm.weight",
      SLICE_ALL, MISSING_OURS },
    { "h.%d.attn.k_norm.weight", "layers.%d.self_attn.k_norm.weight",
      SLICE_ALL, MISSING_OURS },
    { "h.%d.attn.qkv.bias", "layers.%d.self_attn.q_proj.bias",
      SLICE_Q, MISSING_OURS },
    { "h.%d.attn.qkv.bias", "layers.%d.self_attn.k_proj.bias",
      SLICE_K, MISSING_OURS },
    { "h.%d.attn.qkv.bias", "layers.%d.self_attn.v_proj.bias",
      SLICE_V, MISSING_OURS },
    { "h.%d.attn.proj.bias", "layers.%d.self_attn.o_proj.bias",
      SLICE_ALL, MISSING_OURS },
    { "h.%d.mlp.fc.bias", "layers.%d.mlp.gate_proj.bias",
      SLICE_GATE, MISSING_OURS },
    { "h.%d.mlp.fc.bias", "layers.%d.mlp.up_proj.bias",
      SLICE_UP, MISSING_OURS },
    { "h.%d.mlp.proj.bias", "layers.%d.mlp.down_proj.bias",
      SLICE_ALL, MISSING_OURS },
    { 0 }
};

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
                                            "transformer.", gpt2_rows };
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
        err_set(e, ERR_USAGE,
                "the model is neither like GPT-2 (layernorm, learned "
                "positions, a plain MLP, a final norm) nor like Llama, Qwen2, "
                "Qwen3 or SmolLM3 (rmsnorm, rope, swiglu or geglu, a final "
                "norm, and the biases that one of them has), or it has "
                "embed_norm, softcap, window, residual_scale or value_embed");
    return f;
}

bool convert_has_biases(const struct settings *s)
{
    return s->is.qkv_bias && s->is.output_bias && s->is.mlp_bias &&
           s->model.norm_bias;
}

void convert_name(char *out, size_t size, const char *pattern, int layer)
{
    const char *d = strstr(pattern, "%d");

    if (d)
        snprintf(out, size, "%.*s%d%s", (int)(d - pattern), pattern, layer,
                 d + 2);
    else
        snprintf(out, size, "%s", pattern);
}

int convert_layers(const struct engine *eng, const char *pattern)
{
    return strstr(pattern, "%d") ? (int)eng->set->model.layers : 1;
}

const struct graph_param *convert_param(const struct graph *g, const char *ours,
                                        int layer)
{
    char name[64];

    convert_name(name, sizeof name, ours, layer);
    for (int i = 0; i < g->n_params; i++)
        if (strcmp(g->param[i].name, name) == 0)
            return &g->param[i];
    return NULL;
}

void convert_slice(const struct engine *eng, const struct convert_row *row,
                   const struct graph_param *p, struct convert_slice *out)
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

    *out = (struct convert_slice){ .rows = t->dim[0],
                                   .cols = t->rank > 1 ? t->dim[1] : 0 };
    if (row->slice >= SLICE_Q) {
        out->rows = part[row->slice].rows;
        out->from = part[row->slice].from;
    }
    /* in the file, these matrices have no padding */
    if (strcmp(row->ours, "wte.weight") == 0 ||
        strcmp(row->ours, "lm_head.weight") == 0)
        out->rows = m->vocab;
    out->transposed = row->slice == SLICE_TRANSPOSED;
    out->cropped = strcmp(row->ours, "wpe.weight") == 0;
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
