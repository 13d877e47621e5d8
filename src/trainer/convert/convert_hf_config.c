/*
 * convert_hf_config - config.json and the tokenizer of a Hugging Face model
 */
#include "config.h"
#include "trainer/convert/convert.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/save.h"
#include "data/token/tokenizer.h"
#include "data/token/tokfile.h"

/* ---- keys -------------------------------------------------------------- */

/* What stands for the default of a key that is written, and read elsewhere. */
static const char written[] = "";

#define IS(member) offsetof(struct settings, is.member)
/* clang-format off */
static const struct hf_key gpt2_keys[] = {
    { "n_layer", "model.layers", "12", "num_hidden_layers" },
    { "n_head", "model.heads", "12", "num_attention_heads" },
    { "n_embd", "model.width", "768", "hidden_size" },
    { "n_inner", "model.d_ff", "0", NULL, IS(d_ff) },
    { "n_positions", "model.context", "1024", "max_position_embeddings" },
    { "n_ctx", "model.context", written },
    { "vocab_size", "model.vocab", "50257" },
    { "layer_norm_epsilon", "model.norm_eps", "1e-5" },
    { "resid_pdrop", "model.dropout", written },
    { "attn_pdrop", "model.dropout_attention", written },
    { "embd_pdrop", "model.dropout_embedding", written },
    { 0 }
};
static const struct hf_key llama_keys[] = {
    { "num_hidden_layers", "model.layers" },
    { "num_attention_heads", "model.heads" },
    { "num_key_value_heads", "model.kv_heads", "0", NULL, IS(kv_heads) },
    { "head_dim", "model.head_dim", written, NULL, IS(head_dim) },
    { "hidden_size", "model.width" },
    { "intermediate_size", "model.d_ff", NULL, NULL, IS(d_ff) },
    { "max_position_embeddings", "model.context" },
    { "vocab_size", "model.vocab" },
    { "rms_norm_eps", "model.norm_eps", "1e-6" },
    { "rope_theta", "model.rope_theta", written },
    { "attention_bias", "model.output_bias", written, NULL,
      IS(output_bias) },
    { "mlp_bias", "model.mlp_bias", written, NULL, IS(mlp_bias) },
    { 0 }
};
/* Of a model that transformers has no class for: modeling_gtrain.py, which is
 * written beside it, has one.  The first versions did not write all of them. */
static const struct hf_key own_keys[] = {
    { "vocab_size", "model.vocab" },
    { "max_position_embeddings", "model.context" },
    { "hidden_size", "model.width" },
    { "intermediate_size", "model.d_ff", NULL, NULL, IS(d_ff) },
    { "num_hidden_layers", "model.layers" },
    { "num_attention_heads", "model.heads" },
    { "num_key_value_heads", "model.kv_heads", NULL, NULL, IS(kv_heads) },
    { "head_dim", "model.head_dim", "", NULL, IS(head_dim) },
    { "norm", "model.norm" },
    { "norm_eps", "model.norm_eps" },
    { "norm_bias", "model.norm_bias" },
    { "linear_bias", "model.linear_bias" },
    { "qkv_bias", "model.qkv_bias", "", NULL, IS(qkv_bias) },
    { "output_bias", "model.output_bias", "", NULL, IS(output_bias) },
    { "mlp_bias", "model.mlp_bias", "", NULL, IS(mlp_bias) },
    { "final_norm", "model.final_norm" },
    { "qk_norm", "model.qk_norm" },
    { "mlp", "model.mlp" },
    { "position", "model.position" },
    { "rope_theta", "model.rope_theta" },
    { "nope_every", "model.nope_every", "" },
    { "tied", "model.tied" },
    { "embed_norm", "model.embed_norm", "" },
    { "softcap", "model.softcap", "" },
    { "window", "model.window", "" },
    { "window_pattern", "model.window_pattern", "" },
    { "residual_scale", "model.residual_scale", "" },
    { "value_embed", "model.value_embed", "" },
    { 0 }
};
/* clang-format on */
#undef IS

/* Is it true or false in the file? */
static bool is_flag(const struct hf_key *k, const struct setting *row)
{
    return row->type == CONF_BOOL || (row->type == CONF_WORD && k->is);
}

/* ---- writing ---------------------------------------------------------- */

/* Activations, whose names are the same for a gated MLP and a plain one.  The
 * first row of a kind is the one that is written. */
static const struct {
    const char *theirs, *plain, *gated;
    enum model_mlp kind;
} acts[] = {
    { "gelu_new", "gelu_tanh", NULL, MLP_GELU_TANH },
    { "gelu_pytorch_tanh", "gelu_tanh", NULL, MLP_GELU_TANH },
    { "gelu", "gelu", NULL, MLP_GELU },
    { "gelu", NULL, "geglu", MLP_GEGLU },
    { "relu", "relu", NULL, MLP_RELU },
    { "silu", NULL, "swiglu", MLP_SWIGLU },
    { "swish", NULL, "swiglu", MLP_SWIGLU },
};

enum { ACTS = sizeof acts / sizeof acts[0] };

static const char *name_of_act(const struct settings *s)
{
    int i = 0;

    while (i < ACTS - 1 && acts[i].kind != s->model.mlp)
        i++;
    return acts[i].theirs;
}

/* Set a key to the value of the setting. */
static void write_key(json_t *o, const struct hf_key *k,
                      const struct settings *s)
{
    const struct setting *row = conf_find(&s->conf, k->ours);
    const void *at = (const char *)s + (k->is ? k->is : row->at);
    json_t *value = NULL;

    if (row->type == CONF_INT)
        value = json_integer((json_int_t) * (const int64_t *)at);
    else if (row->type == CONF_REAL)
        value = json_real(*(const double *)at);
    else if (is_flag(k, row))
        value = json_boolean(*(const bool *)at);
    else if (row->type == CONF_WORD)
        value = json_string(row->words[*(const int *)at]);
    else
        value = json_string(*(const char *const *)at);
    json_object_set_new(o, k->theirs, value);
}

static int write_json(json_t *o, const char *folder, const char *name,
                      struct err *e)
{
    AUTO_FREE char *path = path_join(folder, name);
    AUTO_FREE char *json = json_dumps(o, JSON_INDENT(2) | JSON_SORT_KEYS);
    AUTO_FREE char *text = xasprintf("%s\n", json);
    const int ret = save_text(path, text, e);

    json_decref(o);
    return ret;
}

/* The tokenizer is BPE; transformers does not read tokenizers of characters. */
static int write_tokenizer(const struct engine_data *d, const char *folder,
                           struct err *e)
{
    const struct tokenizer *t = d->tokenizer;
    const int32_t eot = tokenizer_eot(t);
    AUTO(buf_clear) struct buf text = BUF_INIT;
    json_t *o = json_object();

    if (d->form.tokenizer) {
        AUTO_FREE char *jinja = chat_template_jinja(&d->form);

        json_object_set_new(o, "chat_template", json_string(jinja));
    }
    json_object_set_new(o, "tokenizer_class",
                        json_string("PreTrainedTokenizerFast"));
    if (eot >= 0) {
        tokenizer_decode(t, &eot, 1, &text);
        json_object_set_new(o, "bos_token", json_string(text.s));
        json_object_set_new(o, "eos_token", json_string(text.s));
    }
    if (write_json(o, folder, "tokenizer_config.json", e) < 0)
        return -1;
    return tokfile_write(t, folder, "hf", e);
}

int convert_describe_hf(const struct engine *eng,
                        const struct convert_family *f, const char *folder,
                        struct err *e)
{
    static const struct convert_family own = { "gtrain", "GTrainForCausalLM",
                                               "", NULL };
    const bool gpt2 = f && strcmp(f->type, "gpt2") == 0;
    const int32_t eot =
        eng->data.tokenizer ? tokenizer_eot(eng->data.tokenizer) : -1;
    const bool tied =
        f && eng->set->model.tied; /* our class has no such pair */
    const struct hf_key *k;
    json_t *o;

    if (!f && *eng->set->model.rope_scaling)
        return err_usage(e, "the class for models that are like none of "
                            "transformers cannot scale rotary angles; unset "
                            "model.rope_scaling");
    o = json_object();
    for (k = gpt2 ? gpt2_keys : f ? llama_keys : own_keys; k->theirs; k++)
        write_key(o, k, eng->set);
    if (f)
        json_object_set_new(o, gpt2 ? "activation_function" : "hidden_act",
                            json_string(name_of_act(eng->set)));
    else
        json_object_set_new(o, "auto_map",
                            json_pack("{s:s, s:s}", "AutoConfig",
                                      "modeling_gtrain.GTrainConfig",
                                      "AutoModelForCausalLM",
                                      "modeling_gtrain.GTrainForCausalLM"));
    if (f && !gpt2)
        hf_rope_describe(o, eng->set);
    f = f ? f : &own;
    if (strcmp(f->type, "qwen2") == 0) { /* its biases are always there */
        json_object_del(o, "attention_bias");
        json_object_del(o, "mlp_bias");
    }
    json_object_set_new(o, "model_type", json_string(f->type));
    json_object_set_new(o, "architectures", json_pack("[s]", f->architecture));
    json_object_set_new(o, "tie_word_embeddings", json_boolean(tied));
    json_object_set_new(o, "dtype", json_string("float32"));
    if (eot >= 0) {
        json_object_set_new(o, "bos_token_id", json_integer(eot));
        json_object_set_new(o, "eos_token_id",
                            eng->data.form.tokenizer
                                ? json_pack("[i, i]", eot, eng->data.form.end)
                                : json_integer(eot));
    }
    if (write_json(o, folder, "config.json", e) < 0)
        return -1;
    if (!eng->data.tokenizer || eng->data.tokenizer->kind == TOKENIZER_CHARS)
        return 0;
    return write_tokenizer(&eng->data, folder, e);
}

/* ---- reading ---------------------------------------------------------- */

json_t *convert_json(const char *folder, const char *name, struct err *e)
{
    AUTO_FREE char *path = path_join(folder, name);
    AUTO(buf_clear) struct buf text = BUF_INIT;
    json_error_t why;
    json_t *o = NULL;

    if (buf_read_file(&text, path, 1 << 26, e) == 0) {
        o = json_loadb(text.s, text.len, 0, &why);
        if (!o)
            err_input(e, "%s:%d: %s", path, why.line, why.text);
        else if (!json_is_object(o))
            err_input(e, "%s is not a JSON object", path);
        if (!json_is_object(o)) {
            json_decref(o);
            o = NULL;
        }
    }
    return o;
}

/* clang-format off */
static const struct hf_kind {
    const char *type;
    const struct hf_key *keys;
    const char *act_key, *act; /* the key of the activation, and its default */
    bool tied;                 /* default of tie_word_embeddings */
    int window, nope;          /* defaults of sliding_window and of
                                * no_rope_layer_interval; 0: none */
    const char *head_dim;      /* and of head_dim; 0: as ours */
    const char *qkv_bias, *output_bias, *mlp_bias; /* yes, no, or a key */
    const char *fixed;
    struct hf_flag { /* a key that must have this value, if it is there */
        const char *key;
        bool is;
    } flags[4]; /* ends with a NULL */
} kinds[] = {
    { "gpt2", gpt2_keys, "activation_function", "gelu_new", true, 0, 0,
      "0", "yes", "yes", "yes",
      "model.norm=layernorm\nmodel.position=learned\n",
      { { "scale_attn_weights", true },
        { "scale_attn_by_inverse_layer_idx", false },
        { "add_cross_attention", false } } },
    { "llama", llama_keys, "hidden_act", "silu", false, 0, 0,
      "0", "attention_bias", "attention_bias", "mlp_bias",
      "model.norm=rmsnorm\nmodel.position=rope\n" },
    { "mistral", llama_keys, "hidden_act", "silu", false, 4096, 0,
      "0", "no", "no", "no", "model.norm=rmsnorm\nmodel.position=rope\n" },
    { "qwen2", llama_keys, "hidden_act", "silu", false, 0, 0,
      "0", "yes", "no", "no", "model.norm=rmsnorm\nmodel.position=rope\n",
      { { "use_sliding_window", false } } },
    { "qwen3", llama_keys, "hidden_act", "silu", false, 0, 0,
      "128", "attention_bias", "attention_bias", "no",
      "model.norm=rmsnorm\nmodel.position=rope\nmodel.qk_norm=yes\n",
      { { "use_sliding_window", false } } },
    { "smollm3", llama_keys, "hidden_act", "silu", true, 0, 4,
      "0", "attention_bias", "attention_bias", "mlp_bias",
      "model.norm=rmsnorm\nmodel.position=rope\n",
      { { "use_sliding_window", false } } },
};

/* What any model may say, and gtrain has nothing for. */
static const char *const unknown[] = { "per_layer_config", "pruned_heads",
                                       "quantization_config" };

/* Keys that do not change what is computed, beside what is read. */
static const char *const harmless[] = {
    "_attn_implementation", "_name_or_path", "architectures",
    "attention_dropout", "attn_pdrop", "base_model_tp_plan",
    "begin_suppress_tokens", "bos_token_id", "chunk_size_feed_forward",
    "cross_attention_hidden_size", "decoder_start_token_id", "dtype",
    "embd_pdrop", "eos_token_id", "finetuning_task", "gradient_checkpointing",
    "id2label", "initializer_range", "is_decoder", "is_encoder_decoder",
    "label2id", "max_window_layers", "model_type", "n_ctx", "output_attentions",
    "output_hidden_states", "pad_token_id", "prefix", "pretraining_tp",
    "problem_type", "reorder_and_upcast_attn", "resid_pdrop", "return_dict",
    "sep_token_id", "summary_activation", "summary_first_dropout",
    "summary_proj_to_labels", "summary_type", "summary_use_proj",
    "task_specific_params", "tie_encoder_decoder", "tokenizer_class",
    "torch_dtype", "torchscript", "transformers_version", "unsloth_fixed",
    "unsloth_version", "use_bfloat16", "use_cache",
    /* of generation, which older versions of transformers write here */
    "bad_words_ids", "diversity_penalty", "do_sample", "early_stopping",
    "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty",
    "forced_bos_token_id", "forced_eos_token_id", "length_penalty",
    "max_length", "max_new_tokens", "min_length", "no_repeat_ngram_size",
    "num_beam_groups", "num_beams", "num_return_sequences", "output_scores",
    "remove_invalid_values", "repetition_penalty", "return_dict_in_generate",
    "suppress_tokens", "temperature", "top_k", "top_p", "typical_p"
};
/* What is read of any model, and of those like Llama. */
static const char *const read[] = { "is_causal", "tie_word_embeddings" };
static const char *const read_llama[] = {
    "head_dim", "layer_types", "partial_rotary_factor", "rope_parameters",
    "rope_scaling", "rope_theta", "sliding_window", "no_rope_layer_interval",
    "no_rope_layers"
};
/* clang-format on */

bool hf_config_has(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);

    return value && !json_is_null(value);
}

static bool is_true(const json_t *o, const char *key)
{
    return json_is_true(json_object_get(o, key));
}

int hf_config_reject(struct err *e, const json_t *o, const char *key,
                     const char *why)
{
    AUTO_FREE char *value =
        json_dumps(json_object_get(o, key), JSON_ENCODE_ANY);

    err_input(e, "config.json: %s = %.60s: %s", key, value ? value : "null",
              why);
    return -1;
}

int hf_config_read(const json_t *o, const struct hf_key *k, struct buf *out,
                   struct err *e)
{
    static const struct conf all = { .table = settings_table };
    const struct setting *row = conf_find(&all, k->ours);
    const bool named = !k->alias || !hf_config_has(o, k->alias);
    const json_t *value = json_object_get(o, named ? k->theirs : k->alias);
    const char *word = json_string_value(value);
    const bool number = row->type == CONF_INT || row->type == CONF_REAL;
    char text[NUM_TEXT];
    const char *given = text;

    if (!named && hf_config_has(o, k->theirs) &&
        !json_equal(value, json_object_get(o, k->theirs)))
        return hf_config_reject(e, o, k->alias,
                                "the file has another value for it");
    if (!value || json_is_null(value)) {
        if (!k->otherwise)
            return err_input(e, "config.json: %s is missing", k->theirs);
        if (*k->otherwise)
            buf_printf(out, "%s=%s\n", k->ours, k->otherwise);
        return 0;
    }
    if (number && json_is_integer(value))
        snprintf(text, sizeof text, "%lld",
                 (long long)json_integer_value(value));
    else if (number && json_is_number(value))
        num_shortest(text, json_number_value(value));
    else if (is_flag(k, row) && json_is_boolean(value))
        snprintf(text, sizeof text, json_is_true(value) ? "yes" : "no");
    else if (!number && word && !strpbrk(word, "\r\n"))
        given = word;
    else
        return hf_config_reject(e, o, k->theirs,
                                number ? "gtrain needs a number"
                                       : "gtrain export does not write this");
    buf_printf(out, "%s=%s\n", k->ours, given);
    return 0;
}

static int read_keys(const json_t *o, const struct hf_key *k, struct buf *out,
                     struct err *e)
{
    for (; k->theirs; k++)
        if (k->otherwise != written && hf_config_read(o, k, out, e) < 0)
            return -1;
    return 0;
}

static int add_act(const json_t *o, const struct hf_kind *k, struct buf *out,
                   struct err *e)
{
    const char *act = hf_config_has(o, k->act_key)
                          ? json_string_value(json_object_get(o, k->act_key))
                          : k->act;
    const bool gated = k->keys == llama_keys;

    for (int i = 0; act && i < ACTS; i++) {
        const char *ours = gated ? acts[i].gated : acts[i].plain;

        if (ours && strcmp(act, acts[i].theirs) == 0) {
            buf_printf(out, "model.mlp=%s\n", ours);
            return 0;
        }
    }
    return hf_config_reject(e, o, k->act_key, "gtrain has no such activation");
}

/* gtrain cannot attend to a part of the context only. */
static int check_window(const json_t *o, const struct hf_kind *k, struct err *e)
{
    const json_t *window = json_object_get(o, "sliding_window");
    const double size = window ? json_number_value(window) : k->window;
    const json_t *types = json_object_get(o, "layer_types"), *type;
    size_t i;

    json_array_foreach(types, i, type)
    {
        const char *name = json_string_value(type);

        if (!name || strcmp(name, "full_attention") != 0)
            return hf_config_reject(e, o, "layer_types",
                                    "gtrain attends to the whole context");
    }
    /* Qwen has a flag for this. */
    if (!k->flags[0].key && (size > 0 || hf_config_has(o, "sliding_window")) &&
        size < json_number_value(json_object_get(o, "max_position_embeddings")))
        return hf_config_reject(e, o, "sliding_window",
                                "gtrain attends to the whole context");
    return 0;
}

/* Heads of another width than that of the stream divided by their number. */
static int add_head_dim(const json_t *o, const struct hf_kind *k,
                        struct buf *out, struct err *e)
{
    const struct hf_key size = { "head_dim", "model.head_dim", k->head_dim };
    const json_t *given = json_object_get(o, "head_dim");
    const json_t *heads = json_object_get(o, "num_attention_heads");
    const double width = json_number_value(json_object_get(o, "hidden_size"));

    if (json_number_value(given) * json_number_value(heads) == width)
        return 0;
    return hf_config_read(o, &size, out, e);
}

static int add_llama(const json_t *o, const struct hf_kind *k, struct buf *out,
                     struct err *e)
{
    if (add_head_dim(o, k, out, e) < 0 || check_window(o, k, e) < 0)
        return -1;
    return hf_rope_read(o, k->nope, out, e);
}

/* yes or no, from that or a key of the file */
static const char *find_bias(const json_t *o, const char *bias)
{
    const bool is = strcmp(bias, "yes") == 0 || is_true(o, bias);

    return is ? "yes" : "no";
}

static int add_model(const json_t *o, const struct hf_kind *k,
                     const char *folder, struct buf *out, struct err *e)
{
    const bool says_tied = hf_config_has(o, "tie_word_embeddings")
                               ? is_true(o, "tie_word_embeddings")
                               : k->tied;
    const bool tied = says_tied && !convert_has_own_head(folder);

    if (read_keys(o, k->keys, out, e) < 0)
        return -1;
    for (const struct hf_flag *f = k->flags; f->key; f++)
        if (hf_config_has(o, f->key) && is_true(o, f->key) != f->is)
            return hf_config_reject(e, o, f->key, "gtrain has no such model");
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        if (json_object_size(json_object_get(o, unknown[i])))
            return hf_config_reject(e, o, unknown[i],
                                    "gtrain has no such model");
    if (json_object_get(o, "is_causal") && !is_true(o, "is_causal"))
        return hf_config_reject(e, o, "is_causal", "gtrain has no such model");
    if (add_act(o, k, out, e) < 0)
        return -1;
    buf_printf(out,
               "%smodel.linear_bias=%s\nmodel.qkv_bias=%s\n"
               "model.output_bias=%s\nmodel.tied=%s\n"
               "model.norm_bias=yes\nmodel.final_norm=yes\n"
               "model.vocab_multiple=1\n",
               k->fixed, find_bias(o, k->mlp_bias), find_bias(o, k->qkv_bias),
               find_bias(o, k->output_bias), tied ? "yes" : "no");
    return k->keys == llama_keys ? add_llama(o, k, out, e) : 0;
}

#define IN(list, key) is_in(list, sizeof list / sizeof *list, key)

static bool is_in(const char *const *list, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] && strcmp(list[i], key) == 0)
            return true;
    return false;
}

static bool is_read(const struct hf_kind *k, const char *key)
{
    const char *const own[] = { k->act_key, k->qkv_bias, k->output_bias,
                                k->mlp_bias };

    for (const struct hf_key *n = k->keys; n->theirs; n++)
        if (n->otherwise != written &&
            (strcmp(n->theirs, key) == 0 ||
             (n->alias && strcmp(n->alias, key) == 0)))
            return true;
    for (const struct hf_flag *f = k->flags; f->key; f++)
        if (strcmp(f->key, key) == 0)
            return true;
    return IN(own, key) || IN(read, key) || IN(unknown, key) ||
           (k->keys == llama_keys && IN(read_llama, key));
}

/* Name the keys that might change what is computed; false and null do not. */
static void warn_unread(json_t *o, const struct hf_kind *k, const char *folder)
{
    AUTO(buf_clear) struct buf keys = { 0 };
    const char *key;
    json_t *value;

    json_object_foreach(o, key, value)
    {
        if (!json_is_null(value) && !json_is_false(value) && !is_read(k, key) &&
            !IN(harmless, key))
            buf_printf(&keys, "%s%s", keys.len ? ", " : "", key);
    }
    if (keys.len)
        log_warn("%s: config.json: gtrain does not know these keys: %s; if "
                 "they change what the model computes, gtrain computes "
                 "something else",
                 folder, keys.s);
}

/* The tokenizer next to the model, if gtrain can read it. */
static void add_tokenizer(const json_t *o, const char *folder, struct buf *out)
{
    const json_int_t vocab =
        json_integer_value(json_object_get(o, "vocab_size"));
    AUTO_FREE char *path = path_join(folder, "tokenizer.json");
    struct tokenizer *t = NULL;
    struct err why = { 0 };

    if (!path_exists(path))
        ;
    else if (tokenizer_load(&t, path, &why) < 0)
        log_warn("the tokenizer is not imported: %s", why.text);
    else if (vocab > 0 && tokenizer_vocab(t) > vocab)
        log_warn("the tokenizer is not imported: %s has more ids than the "
                 "model",
                 path);
    else
        buf_printf(out, "data.tokenizer=%s\n", path);
    tokenizer_free(t);
}

int convert_settings_hf(const char *folder, struct buf *out, struct err *e)
{
    json_auto_t *o = convert_json(folder, "config.json", e);
    const char *type = json_string_value(json_object_get(o, "model_type"));
    const struct hf_kind *k = kinds,
                         *end = kinds + sizeof kinds / sizeof *kinds;
    int ret = o ? 0 : -1;

    while (k < end && (!type || strcmp(type, k->type) != 0))
        k++;
    if (ret == 0 && type && strcmp(type, "gtrain") == 0) {
        buf_str(out, "model.vocab_multiple=1\n");
        ret = read_keys(o, own_keys, out, e);
    } else if (ret == 0 && k == end)
        ret =
            hf_config_reject(e, o, "model_type",
                             "gtrain reads gpt2, llama, mistral, qwen2, qwen3, "
                             "smollm3 and what gtrain export writes");
    else if (ret == 0)
        ret = add_model(o, k, folder, out, e);
    if (ret == 0 && k < end)
        warn_unread(o, k, folder);
    if (ret == 0)
        add_tokenizer(o, folder, out);
    return ret < 0 ? err_wrap(e, "%s", folder) : 0;
}
