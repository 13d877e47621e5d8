#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/save.h"
#include "trainer/convert.h"
#include "trainer/tensors.h"

static const struct convert_row head_row = { "lm_head.weight", "lm_head.weight",
                                             CUT_ALL, false };

static int times(const struct job *j, const struct convert_row *row)
{
    return strstr(row->ours, "%d") ? (int)j->set->model.layers : 1;
}

static char *their_name(struct arena *mem, const struct convert_family *f,
                        const struct convert_row *row, int layer)
{
    const char *d = strstr(row->theirs, "%d");
    const char *prefix = row == &head_row ? "" : f->prefix;

    if (!d)
        return arena_printf(mem, "%s%s", prefix, row->theirs);
    return arena_printf(mem, "%s%.*s%d%s", prefix, (int)(d - row->theirs),
                        row->theirs, layer, d + 2);
}

/* ---- writing ---------------------------------------------------------- */

static json_t *describe_gpt2(const struct settings *s)
{
    static const char *const act[] = {
        [MLP_GELU] = "gelu", [MLP_GELU_TANH] = "gelu_new", [MLP_RELU] = "relu"
    };
    const struct model_settings *m = &s->model;

    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:f, s:f, s:f}",
        "vocab_size", (json_int_t)m->vocab, "n_positions",
        (json_int_t)m->context, "n_ctx", (json_int_t)m->context, "n_embd",
        (json_int_t)m->width, "n_layer", (json_int_t)m->layers, "n_head",
        (json_int_t)m->heads, "n_inner", (json_int_t)s->is.d_ff,
        "activation_function", act[m->mlp], "layer_norm_epsilon", m->norm_eps,
        "resid_pdrop", m->dropout, "attn_pdrop", m->dropout_attention,
        "embd_pdrop", m->dropout_embedding);
}

static json_t *describe_llama(const struct settings *s)
{
    const struct model_settings *m = &s->model;

    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:f, s:b, s:b}",
        "vocab_size", (json_int_t)m->vocab, "max_position_embeddings",
        (json_int_t)m->context, "hidden_size", (json_int_t)m->width,
        "intermediate_size", (json_int_t)s->is.d_ff, "num_hidden_layers",
        (json_int_t)m->layers, "num_attention_heads", (json_int_t)m->heads,
        "num_key_value_heads", (json_int_t)s->is.kv_heads, "head_dim",
        (json_int_t)(m->width / m->heads), "hidden_act", "silu", "rms_norm_eps",
        m->norm_eps, "rope_theta", m->rope_theta, "attention_bias", 0,
        "mlp_bias", 0);
}

static int write_config(const struct job *j, const struct convert_family *f,
                        const char *folder, struct err *e)
{
    const bool gpt2 = strcmp(f->type, "gpt2") == 0;
    json_t *o = gpt2 ? describe_gpt2(j->set) : describe_llama(j->set);
    const int32_t eot = j->tokenizer ? tokenizer_eot(j->tokenizer) : -1;
    char *path = path_join(folder, "config.json"), *text;
    struct save s = SAVE_INIT;
    int ret;

    json_object_set_new(o, "model_type", json_string(f->type));
    json_object_set_new(o, "architectures", json_pack("[s]", f->architecture));
    json_object_set_new(o, "tie_word_embeddings",
                        json_boolean(j->set->model.tied));
    json_object_set_new(o, "dtype", json_string("float32"));
    if (eot >= 0) {
        json_object_set_new(o, "bos_token_id", json_integer(eot));
        json_object_set_new(o, "eos_token_id", json_integer(eot));
    }
    text = json_dumps(o, JSON_INDENT(2) | JSON_SORT_KEYS);
    ret = save_open(&s, path, e);
    if (ret == 0) {
        fprintf(s.fp, "%s\n", text);
        ret = save_commit(&s, e);
    }
    save_abandon(&s);
    free(text);
    free(path);
    json_decref(o);
    return ret;
}

/* Everything their file holds. */
struct writing {
    const struct job *job;
    const struct convert_family *family;
    const float *weights;
    struct array *array;
    int n, room;
    struct arena mem; /* names */
};

static int add_array(struct writing *w, const struct convert_row *row,
                     int layer, struct err *e)
{
    const struct graph *g = &w->job->gpt.graph;
    const struct param *p = convert_param(g, row->ours, layer);
    struct array a = { .type = "F32" };
    struct convert_piece piece;
    float *data;

    if (!p) {
        /* a bias of ours that is not there: as long as the weight has rows */
        char *of =
            xasprintf("%.*s.weight", (int)strlen(row->ours) - 5, row->ours);

        p = convert_param(g, of, layer);
        free(of);
        piece = (struct convert_piece){ .rows = g->node[p->node].val.dim[0] };
        data = mem_alloc((size_t)piece.rows, sizeof *data, "weights", e);
        if (data)
            memset(data, 0, (size_t)piece.rows * sizeof *data);
    } else {
        convert_piece(w->job, row, p, &piece);
        data = mem_alloc((size_t)(piece.rows * (piece.cols ? piece.cols : 1)),
                         sizeof *data, "weights", e);
        if (data)
            convert_copy(&piece, (float *)(uintptr_t)(w->weights + p->at), data,
                         false);
    }
    if (!data)
        return -1;
    a.name = their_name(&w->mem, w->family, row, layer);
    a.rank = piece.cols ? 2 : 1;
    a.dim[0] = piece.turned ? piece.cols : piece.rows;
    a.dim[1] = piece.turned ? piece.rows : piece.cols;
    a.data = data;
    a.bytes = (size_t)array_count(&a) * sizeof *data;
    GROW(w->array, w->n, w->room);
    w->array[w->n++] = a;
    return 0;
}

int convert_write_hf(const struct job *j, const float *weights,
                     const char *folder, struct err *e)
{
    struct writing w = { .job = j, .weights = weights };
    char *path = path_join(folder, "model.safetensors");
    int ret = 0;

    w.family = convert_family(j->set, e);
    if (!w.family || path_make(folder, e) < 0)
        ret = -1;
    for (const struct convert_row *row = w.family ? w.family->rows : NULL;
         ret == 0 && row->ours; row++)
        for (int l = 0; l < times(j, row) && ret == 0; l++)
            ret = add_array(&w, row, l, e);
    if (ret == 0 && !j->set->model.tied)
        ret = add_array(&w, &head_row, 0, e);
    if (ret == 0)
        ret = tensors_write(path, w.array, w.n, e);
    if (ret == 0)
        ret = write_config(j, w.family, folder, e);
    for (int i = 0; i < w.n; i++)
        free((void *)(uintptr_t)w.array[i].data);
    free(w.array);
    arena_clear(&w.mem);
    free(path);
    return ret;
}

/* ---- reading ---------------------------------------------------------- */

static json_t *read_config(const char *folder, struct err *e)
{
    char *path = path_join(folder, "config.json");
    struct buf text = BUF_INIT;
    json_error_t why;
    json_t *o = NULL;

    if (buf_read_file(&text, path, 1 << 20, e) == 0) {
        o = json_loadb(text.s, text.len, 0, &why);
        if (!json_is_object(o)) {
            err_set(e, ERR_INPUT, "%s:%d: %s", path, why.line, why.text);
            json_decref(o);
            o = NULL;
        }
    }
    buf_clear(&text);
    free(path);
    return o;
}

struct translation {
    const char *theirs, *ours;
};

static const struct translation gpt2_keys[] = {
    { "n_layer", "model.layers" },
    { "n_head", "model.heads" },
    { "n_embd", "model.width" },
    { "n_inner", "model.d_ff" },
    { "n_positions", "model.context" },
    { "vocab_size", "model.vocab" },
    { "layer_norm_epsilon", "model.norm_eps" },
    { NULL, NULL },
};
static const struct translation llama_keys[] = {
    { "num_hidden_layers", "model.layers" },
    { "num_attention_heads", "model.heads" },
    { "num_key_value_heads", "model.kv_heads" },
    { "hidden_size", "model.width" },
    { "intermediate_size", "model.d_ff" },
    { "max_position_embeddings", "model.context" },
    { "vocab_size", "model.vocab" },
    { "rms_norm_eps", "model.norm_eps" },
    { "rope_theta", "model.rope_theta" },
    { NULL, NULL },
};
static const char gpt2_fixed[] = "model.norm=layernorm\nmodel.norm_bias=yes\n"
                                 "model.linear_bias=yes\n"
                                 "model.position=learned\n";
static const char llama_fixed[] = "model.norm=rmsnorm\nmodel.mlp=swiglu\n"
                                  "model.linear_bias=no\n"
                                  "model.position=rope\n";
static const struct translation acts[] = {
    { "gelu_new", "gelu_tanh" },
    { "gelu_pytorch_tanh", "gelu_tanh" },
    { "gelu", "gelu" },
    { "relu", "relu" },
    { NULL, NULL },
};

static void translate(const json_t *o, const struct translation *keys,
                      struct buf *out)
{
    char text[NUM_TEXT];

    for (; keys->theirs; keys++) {
        const json_t *value = json_object_get(o, keys->theirs);

        if (json_is_integer(value))
            buf_printf(out, "%s=%lld\n", keys->ours,
                       (long long)json_integer_value(value));
        else if (json_is_real(value)) {
            num_repr(text, json_real_value(value));
            buf_printf(out, "%s=%s\n", keys->ours, text);
        }
    }
}

static int translate_gpt2(const json_t *o, struct buf *out, struct err *e)
{
    const char *act =
        json_string_value(json_object_get(o, "activation_function"));

    translate(o, gpt2_keys, out);
    buf_str(out, gpt2_fixed);
    for (const struct translation *a = acts; a->theirs; a++)
        if (strcmp(act ? act : "gelu_new", a->theirs) == 0) {
            buf_printf(out, "model.mlp=%s\n", a->ours);
            return 0;
        }
    return err_set(e, ERR_INPUT,
                   "config.json: the activation %s is not one "
                   "of ours",
                   act);
}

int convert_settings_hf(const char *folder, struct buf *out, struct err *e)
{
    json_t *o = read_config(folder, e);
    const char *type = json_string_value(json_object_get(o, "model_type"));
    const json_t *tied = json_object_get(o, "tie_word_embeddings");
    const json_t *scaling = json_object_get(o, "rope_scaling");
    bool tie = json_is_true(tied);
    int ret = o ? 0 : -1;

    if (ret == 0 && type && strcmp(type, "gpt2") == 0) {
        tie = !json_is_false(tied);
        ret = translate_gpt2(o, out, e);
    } else if (ret == 0 && type &&
               (strcmp(type, "llama") == 0 || strcmp(type, "qwen3") == 0)) {
        translate(o, llama_keys, out);
        buf_str(out, llama_fixed);
        buf_printf(out, "model.qk_norm=%s\n",
                   strcmp(type, "qwen3") == 0 ? "yes" : "no");
        if (scaling && !json_is_null(scaling) && json_is_object(scaling) &&
            json_object_get(scaling, "factor"))
            ret = err_set(e, ERR_INPUT,
                          "config.json: rope_scaling is not "
                          "something we compute");
    } else if (ret == 0) {
        ret = err_set(e, ERR_INPUT,
                      "config.json: the model type %s is none "
                      "of gpt2, llama, qwen3",
                      type ? type : "(none)");
    }
    buf_printf(out,
               "model.tied=%s\nmodel.final_norm=yes\n"
               "model.vocab_multiple=1\n",
               tie ? "yes" : "no");
    json_decref(o);
    return ret;
}

static int take_array(const struct job *j, const struct convert_family *f,
                      const struct convert_row *row, int layer,
                      const struct tensors *t, float *weights, struct err *e)
{
    struct arena mem = ARENA_INIT;
    const char *name = their_name(&mem, f, row, layer);
    const struct param *p = convert_param(&j->gpt.graph, row->ours, layer);
    const struct array *a = tensors_find(t, name);
    struct convert_piece piece;
    float *data = NULL;
    int ret = -1;

    if (!a && strncmp(name, f->prefix, strlen(f->prefix)) == 0)
        a = tensors_find(t, name + strlen(f->prefix));
    convert_piece(j, row, p, &piece);
    if (!a)
        err_set(e, ERR_INPUT, "there is no tensor %s", name);
    else if (array_count(a) != piece.rows * (piece.cols ? piece.cols : 1))
        err_set(e, ERR_INPUT, "%s has %lld numbers, not %lld", name,
                (long long)array_count(a),
                (long long)(piece.rows * (piece.cols ? piece.cols : 1)));
    else
        data = mem_alloc((size_t)array_count(a), sizeof *data, name, e);
    if (data && array_floats(a, data, e) == 0) {
        convert_copy(&piece, weights + p->at, data, true);
        ret = 0;
    }
    free(data);
    arena_clear(&mem);
    return ret;
}

int convert_read_hf(const struct job *j, float *weights, const char *folder,
                    struct err *e)
{
    const struct convert_family *f = convert_family(j->set, e);
    char *path = path_join(folder, "model.safetensors");
    struct tensors *t = NULL;
    int ret = f ? tensors_open(&t, path, e) : -1;

    for (const struct convert_row *row = f ? f->rows : NULL;
         ret == 0 && row->ours; row++)
        for (int l = 0; l < times(j, row) && ret == 0; l++)
            ret = take_array(j, f, row, l, t, weights, e);
    if (ret == 0 && !j->set->model.tied)
        ret = take_array(j, f, &head_row, 0, t, weights, e);
    tensors_close(t);
    if (ret < 0)
        err_wrap(e, "%s", path);
    free(path);
    return ret;
}
