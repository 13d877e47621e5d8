/*
 * convert_own - config.json of models that transformers has no class for
 *
 * The parameters keep our names; python/modeling_gtrain.py, which is written
 * beside them, has the class.
 */
#include "config.h"
#include "trainer/convert/convert.h"

#include <stdio.h>
#include <string.h>

#include "common/num.h"

json_t *convert_describe_own(const struct settings *s)
{
    const struct model_settings *m = &s->model;
    const struct conf *c = &s->conf;

    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:b, s:b, s:b, s:b,"
        " s:b, s:b, s:b, s:s, s:s, s:f, s:I, s:b, s:b, s:f, s:I, s:s, s:b,"
        " s:b, s:{s:s, s:s}}",
        "vocab_size", (json_int_t)m->vocab, "max_position_embeddings",
        (json_int_t)m->context, "hidden_size", (json_int_t)m->width,
        "intermediate_size", (json_int_t)s->is.d_ff, "num_hidden_layers",
        (json_int_t)m->layers, "num_attention_heads", (json_int_t)m->heads,
        "num_key_value_heads", (json_int_t)s->is.kv_heads, "head_dim",
        (json_int_t)s->is.head_dim, "norm",
        conf_find(c, "model.norm")->words[m->norm], "norm_eps", m->norm_eps,
        "norm_bias", m->norm_bias, "linear_bias", m->linear_bias, "qkv_bias",
        s->is.qkv_bias, "output_bias", s->is.output_bias, "mlp_bias",
        s->is.mlp_bias, "final_norm", m->final_norm, "qk_norm", m->qk_norm,
        "mlp", conf_find(c, "model.mlp")->words[m->mlp], "position",
        conf_find(c, "model.position")->words[m->position], "rope_theta",
        m->rope_theta, "nope_every", (json_int_t)m->nope_every, "tied", m->tied,
        "embed_norm", m->embed_norm, "softcap", m->softcap, "window",
        (json_int_t)m->window, "window_pattern", m->window_pattern,
        "residual_scale", m->residual_scale, "value_embed", m->value_embed,
        "auto_map", "AutoConfig", "modeling_gtrain.GTrainConfig",
        "AutoModelForCausalLM", "modeling_gtrain.GTrainForCausalLM");
}

/* The keys that convert_describe_own() writes; the first versions wrote no
 * "later" ones. */
static const struct own_key {
    const char *theirs, *ours;
    json_type type;
    bool later;
} own_keys[] = {
    { "vocab_size", "model.vocab", JSON_INTEGER },
    { "max_position_embeddings", "model.context", JSON_INTEGER },
    { "hidden_size", "model.width", JSON_INTEGER },
    { "intermediate_size", "model.d_ff", JSON_INTEGER },
    { "num_hidden_layers", "model.layers", JSON_INTEGER },
    { "num_attention_heads", "model.heads", JSON_INTEGER },
    { "num_key_value_heads", "model.kv_heads", JSON_INTEGER },
    { "head_dim", "model.head_dim", JSON_INTEGER, true },
    { "norm", "model.norm", JSON_STRING },
    { "norm_eps", "model.norm_eps", JSON_REAL },
    { "norm_bias", "model.norm_bias", JSON_TRUE },
    { "linear_bias", "model.linear_bias", JSON_TRUE },
    { "qkv_bias", "model.qkv_bias", JSON_TRUE, true },
    { "output_bias", "model.output_bias", JSON_TRUE, true },
    { "mlp_bias", "model.mlp_bias", JSON_TRUE, true },
    { "final_norm", "model.final_norm", JSON_TRUE },
    { "qk_norm", "model.qk_norm", JSON_TRUE },
    { "mlp", "model.mlp", JSON_STRING },
    { "position", "model.position", JSON_STRING },
    { "rope_theta", "model.rope_theta", JSON_REAL },
    { "nope_every", "model.nope_every", JSON_INTEGER, true },
    { "tied", "model.tied", JSON_TRUE },
    { "embed_norm", "model.embed_norm", JSON_TRUE, true },
    { "softcap", "model.softcap", JSON_REAL, true },
    { "window", "model.window", JSON_INTEGER, true },
    { "window_pattern", "model.window_pattern", JSON_STRING, true },
    { "residual_scale", "model.residual_scale", JSON_TRUE, true },
    { "value_embed", "model.value_embed", JSON_TRUE, true },
};

static int add_setting(const struct own_key *k, const json_t *value,
                       struct buf *out, struct err *e)
{
    const char *word = k->type == JSON_STRING ? json_string_value(value) : NULL;
    char number[NUM_TEXT] = "";

    if (k->type == JSON_TRUE && json_is_boolean(value))
        word = json_is_true(value) ? "yes" : "no";
    if (k->type == JSON_INTEGER && json_is_integer(value))
        snprintf(number, sizeof number, "%lld",
                 (long long)json_integer_value(value));
    if (k->type == JSON_REAL && json_is_number(value))
        num_shortest(number, json_number_value(value));
    word = *number ? number : word;
    if (!value && k->later)
        return 0;
    if (!word || strpbrk(word, "\r\n"))
        return err_set(e, ERR_INPUT,
                       "config.json: %s is not what gtrain export writes",
                       k->theirs);
    buf_printf(out, "%s=%s\n", k->ours, word);
    return 0;
}

int convert_settings_own(const json_t *o, struct buf *out, struct err *e)
{
    for (size_t i = 0; i < sizeof own_keys / sizeof own_keys[0]; i++)
        if (add_setting(&own_keys[i], json_object_get(o, own_keys[i].theirs),
                        out, e) < 0)
            return -1;
    buf_str(out, "model.vocab_multiple=1\n");
    return 0;
}
