#include "config.h"
#include "trainer/convert/convert.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct convert_row gpt2_rows[] = {
    { "wte.weight", "wte.weight", CUT_ALL, LACK_NOT },
    { "wpe.weight", "wpe.weight", CUT_ALL, LACK_NOT },
    { "h.%d.ln_1.weight", "h.%d.ln_1.weight", CUT_ALL, LACK_NOT },
    { "h.%d.ln_1.bias", "h.%d.ln_1.bias", CUT_ALL, LACK_ZEROS },
    { "h.%d.attn.qkv.weight", "h.%d.attn.c_attn.weight", CUT_TURNED,
      LACK_NOT },
    { "h.%d.attn.qkv.bias", "h.%d.attn.c_attn.bias", CUT_ALL, LACK_ZEROS },
    { "h.%d.attn.proj.weight", "h.%d.attn.c_proj.weight", CUT_TURNED,
      LACK_NOT },
    { "h.%d.attn.proj.bias", "h.%d.attn.c_proj.bias", CUT_ALL, LACK_ZEROS },
    { "h.%d.ln_2.weight", "h.%d.ln_2.weight", CUT_ALL, LACK_NOT },
    { "h.%d.ln_2.bias", "h.%d.ln_2.bias", CUT_ALL, LACK_ZEROS },
    { "h.%d.mlp.fc.weight", "h.%d.mlp.c_fc.weight", CUT_TURNED, LACK_NOT },
    { "h.%d.mlp.fc.bias", "h.%d.mlp.c_fc.bias", CUT_ALL, LACK_ZEROS },
    { "h.%d.mlp.proj.weight", "h.%d.mlp.c_proj.weight", CUT_TURNED, LACK_NOT },
    { "h.%d.mlp.proj.bias", "h.%d.mlp.c_proj.bias", CUT_ALL, LACK_ZEROS },
    { "ln_f.weight", "ln_f.weight", CUT_ALL, LACK_NOT },
    { "ln_f.bias", "ln_f.bias", CUT_ALL, LACK_ZEROS },
    { 0 }
};

#define LLAMA_ROWS                                                             \
    { "wte.weight", "embed_tokens.weight", CUT_ALL, LACK_NOT },                \
    { "h.%d.ln_1.weight", "layers.%d.input_layernorm.weight", CUT_ALL,         \
      LACK_NOT },                                                              \
    { "h.%d.attn.qkv.weight", "layers.%d.self_attn.q_proj.weight", CUT_Q,      \
      LACK_NOT },                                                              \
    { "h.%d.attn.qkv.weight", "layers.%d.self_attn.k_proj.weight", CUT_K,      \
      LACK_NOT },                                                              \
    { "h.%d.attn.qkv.weight", "layers.%d.self_attn.v_proj.weight", CUT_V,      \
      LACK_NOT },                                                              \
    { "h.%d.attn.proj.weight", "layers.%d.self_attn.o_proj.weight", CUT_ALL,   \
      LACK_NOT },                                                              \
    { "h.%d.ln_2.weight", "layers.%d.post_attention_layernorm.weight", CUT_ALL,\
      LACK_NOT },                                                              \
    { "h.%d.mlp.fc.weight", "layers.%d.mlp.gate_proj.weight", CUT_GATE,        \
      LACK_NOT },                                                              \
    { "h.%d.mlp.fc.weight", "layers.%d.mlp.up_proj.weight", CUT_UP,            \
      LACK_NOT },                                                              \
    { "h.%d.mlp.proj.weight", "layers.%d.mlp.down_proj.weight", CUT_ALL,       \
      LACK_NOT },                                                              \
    { "ln_f.weight", "norm.weight", CUT_ALL, LACK_NOT }

static const struct convert_row llama_rows[] = {
    LLAMA_ROWS,
    { "h.%d.attn.qkv.bias", "layers.%d.self_attn.q_proj.bias", CUT_Q,
      LACK_SKIP },
    { "h.%d.attn.qkv.bias", "layers.%d.self_attn.k_proj.bias", CUT_K,
      LACK_SKIP },
    { "h.%d.attn.qkv.bias", "layers.%d.self_attn.v_proj.bias", CUT_V,
      LACK_SKIP },
    { "h.%d.attn.proj.bias", "layers.%d.self_attn.o_proj.bias", CUT_ALL,
      LACK_SKIP },
    { "h.%d.mlp.fc.bias", "layers.%d.mlp.gate_proj.bias", CUT_GATE,
      LACK_SKIP },
    { "h.%d.mlp.fc.bias", "layers.%d.mlp.up_proj.bias", CUT_UP, LACK_SKIP },
    { "h.%d.mlp.proj.bias", "layers.%d.mlp.down_proj.bias", CUT_ALL,
      LACK_SKIP },
    { 0 }
};
static const struct convert_row qwen3_rows[] = {
    LLAMA_ROWS,
    { "h.%d.attn.q_norm.weight", "layers.%d.self_attn.q_norm.weight", CUT_ALL,
      LACK_NOT },
    { "h.%d.attn.k_norm.weight", "layers.%d.self_attn.k_norm.weight", CUT_ALL,
      LACK_NOT },
    { 0 }
};

static const struct convert_family families[] = {
    { "gpt2", "GPT2LMHeadModel", "transformer.", gpt2_rows },
    { "llama", "LlamaForCausalLM", "model.", llama_rows },
    { "qwen3", "Qwen3ForCausalLM", "model.", qwen3_rows },
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
            "the model is neither GPT-2's kind (layernorm, "
            "learned positions, a plain MLP, a final norm) nor Llama's "
            "(rmsnorm, rope, swiglu or geglu, a final norm, biases or "
            "qk_norm)");
    return NULL;
}

const struct graph_param *convert_param(const struct graph *g, const char *ours,
                                        int layer)
{
    const char *d = strstr(ours, "%d");
    char name[64];

    if (d)
        snprintf(name, sizeof name, "%.*s%d%s", (int)(d - ours), ours, layer,
                 d + 2);
    else
        snprintf(name, sizeof name, "%s", ours);
    for (int i = 0; i < g->n_params; i++)
        if (strcmp(g->param[i].name, name) == 0)
            return &g->param[i];
    return NULL;
}

void convert_piece(const struct job *j, const struct convert_row *row,
                   const struct graph_param *p, struct convert_piece *out)
{
    const struct model_settings *m = &j->set->model;
    const struct tensor *t = &j->gpt.graph.node[p->node].val;
    const int64_t D = m->width / m->heads, F = j->set->is.d_ff;
    const int64_t q = m->heads * D, k = j->set->is.kv_heads * D;
    const int64_t from[] = {
        [CUT_Q] = 0, [CUT_K] = q, [CUT_V] = q + k, [CUT_GATE] = 0, [CUT_UP] = F
    };
    const int64_t rows[] = {
        [CUT_Q] = q, [CUT_K] = k, [CUT_V] = k, [CUT_GATE] = F, [CUT_UP] = F
    };

    *out = (struct convert_piece){ .rows = t->dim[0],
                                   .cols = t->rank > 1 ? t->dim[1] : 0 };
    if (row->cut >= CUT_Q) {
        out->rows = rows[row->cut];
        out->from = from[row->cut];
    }
    /* the padding stays with us */
    if (strcmp(row->ours, "wte.weight") == 0 ||
        strcmp(row->ours, "lm_head.weight") == 0)
        out->rows = m->vocab;
    out->turned = row->cut == CUT_TURNED;
}

void convert_copy(const struct convert_piece *p, float *ours, float *theirs,
                  bool in)
{
    const int64_t cols = p->cols ? p->cols : 1;

    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t c = 0; c < cols; c++) {
            float *a = &ours[(p->from + r) * cols + c];
            float *b = &theirs[p->turned ? c * p->rows + r : r * cols + c];

            if (in)
                *a = *b;
            else
                *b = *a;
        }
}
