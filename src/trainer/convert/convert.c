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

/* Only Qwen3 has the norms of queries and keys, and only Llama has the biases.
 */
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
      SLICE_Q, MISSING_BOTH },
    { "h.%d.attn.qkv.bias", "layers.%d.self_attn.k_proj.bias",
      SLICE_K, MISSING_BOTH },
    { "h.%d.attn.qkv.bias", "layers.%d.self_attn.v_proj.bias",
      SLICE_V, MISSING_BOTH },
    { "h.%d.attn.proj.bias", "layers.%d.self_attn.o_proj.bias",
      SLICE_ALL, MISSING_BOTH },
    { "h.%d.mlp.fc.bias", "layers.%d.mlp.gate_proj.bias",
      SLICE_GATE, MISSING_BOTH },
    { "h.%d.mlp.fc.bias", "layers.%d.mlp.up_proj.bias",
      SLICE_UP, MISSING_BOTH },
    { "h.%d.mlp.proj.bias", "layers.%d.mlp.down_proj.bias",
      SLICE_ALL, MISSING_BOTH },
    { 0 }
};

static const struct convert_family families[] = {
    { "gpt2", "GPT2LMHeadModel", "transformer.", gpt2_rows },
    { "llama", "LlamaForCausalLM", "model.", llama_rows },
    { "qwen3", "Qwen3ForCausalLM", "model.", llama_rows },
};
/* clang-format on */

const struct convert_family *convert_family(const struct settings *s,
                                            struct err *e)
{
    const struct model_settings *m = &s->model;
    const bool plain =
        m->mlp != MLP_SWIGLU && m->mlp != MLP_GEGLU && m->mlp != MLP_RELU2;

    if (m->norm == NORM_LAYER && m->position == POSITION_LEARNED && plain &&
        m->final_norm && !m->qk_norm && s->is.kv_heads == m->heads)
        return &families[0];
    if (m->norm == NORM_RMS && m->position == POSITION_ROPE &&
        (m->mlp == MLP_SWIGLU || m->mlp == MLP_GEGLU) && m->final_norm &&
        !(m->linear_bias && m->qk_norm))
        return &families[m->qk_norm ? 2 : 1];
    err_set(e, ERR_USAGE,
            "the model is neither like GPT-2 (layernorm, learned positions, a "
            "plain MLP, a final norm) nor like Llama (rmsnorm, rope, swiglu or "
            "geglu, a final norm, not both biases and qk_norm)");
    return NULL;
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
    const int64_t D = m->width / m->heads, F = eng->set->is.d_ff;
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
