#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"
#include "trainer/convert/convert.h"

/*
 * GGUF, version 3, as llama.cpp reads it: a head of keys and values, one
 * record a tensor, then the numbers, each tensor at a multiple of 32 bytes.
 * The shape's fastest dimension comes first.
 */
enum {
    VERSION = 3,
    ALIGN = 32,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    STRING = 8,
    ARRAY = 9
};

/* clang-format off */
static const struct convert_row gpt2_rows[] = {
    { "wte.weight", "token_embd.weight", CUT_ALL, LACK_NOT },
    { "wpe.weight", "position_embd.weight", CUT_ALL, LACK_NOT },
    { "h.%d.ln_1.weight", "blk.%d.attn_norm.weight", CUT_ALL, LACK_NOT },
    { "h.%d.ln_1.bias", "blk.%d.attn_norm.bias", CUT_ALL, LACK_NOT },
    { "h.%d.attn.qkv.weight", "blk.%d.attn_qkv.weight", CUT_ALL, LACK_NOT },
    { "h.%d.attn.qkv.bias", "blk.%d.attn_qkv.bias", CUT_ALL, LACK_NOT },
    { "h.%d.attn.proj.weight", "blk.%d.attn_output.weight", CUT_ALL, LACK_NOT },
    { "h.%d.attn.proj.bias", "blk.%d.attn_output.bias", CUT_ALL, LACK_NOT },
    { "h.%d.ln_2.weight", "blk.%d.ffn_norm.weight", CUT_ALL, LACK_NOT },
    { "h.%d.ln_2.bias", "blk.%d.ffn_norm.bias", CUT_ALL, LACK_NOT },
    { "h.%d.mlp.fc.weight", "blk.%d.ffn_up.weight", CUT_ALL, LACK_NOT },
    { "h.%d.mlp.fc.bias", "blk.%d.ffn_up.bias", CUT_ALL, LACK_NOT },
    { "h.%d.mlp.proj.weight", "blk.%d.ffn_down.weight", CUT_ALL, LACK_NOT },
    { "h.%d.mlp.proj.bias", "blk.%d.ffn_down.bias", CUT_ALL, LACK_NOT },
    { "ln_f.weight", "output_norm.weight", CUT_ALL, LACK_NOT },
    { "ln_f.bias", "output_norm.bias", CUT_ALL, LACK_NOT },
    { 0 }
};

/* Only Qwen3 has the norms of queries and keys. */
static const struct convert_row llama_rows[] = {
    { "wte.weight", "token_embd.weight", CUT_ALL, LACK_NOT },
    { "h.%d.ln_1.weight", "blk.%d.attn_norm.weight", CUT_ALL, LACK_NOT },
    { "h.%d.attn.qkv.weight", "blk.%d.attn_q.weight", CUT_Q, LACK_NOT },
    { "h.%d.attn.qkv.weight", "blk.%d.attn_k.weight", CUT_K, LACK_NOT },
    { "h.%d.attn.qkv.weight", "blk.%d.attn_v.weight", CUT_V, LACK_NOT },
    { "h.%d.attn.q_norm.weight", "blk.%d.attn_q_norm.weight", CUT_ALL,
      LACK_SKIP },
    { "h.%d.attn.k_norm.weight", "blk.%d.attn_k_norm.weight", CUT_ALL,
      LACK_SKIP },
    { "h.%d.attn.proj.weight", "blk.%d.attn_output.weight", CUT_ALL, LACK_NOT },
    { "h.%d.ln_2.weight", "blk.%d.ffn_norm.weight", CUT_ALL, LACK_NOT },
    { "h.%d.mlp.fc.weight", "blk.%d.ffn_gate.weight", CUT_GATE, LACK_NOT },
    { "h.%d.mlp.fc.weight", "blk.%d.ffn_up.weight", CUT_UP, LACK_NOT },
    { "h.%d.mlp.proj.weight", "blk.%d.ffn_down.weight", CUT_ALL, LACK_NOT },
    { "ln_f.weight", "output_norm.weight", CUT_ALL, LACK_NOT },
    { 0 }
};
/* clang-format on */

static const struct convert_row head_row = { "lm_head.weight", "output.weight",
                                             CUT_ALL, LACK_NOT };

/* ---- little-endian ---------------------------------------------------- */

static void put_number(struct buf *b, uint64_t n, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_char(b, (char)(n >> (8 * i) & 0xff));
}

static void put_text(struct buf *b, const char *s)
{
    put_number(b, strlen(s), 8);
    buf_str(b, s);
}

struct head {
    struct buf keys;
    uint64_t n;
    const char *type; /* of the model: before its keys */
};

static void key(struct head *h, const char *name, uint32_t type)
{
    struct buf full = BUF_INIT;

    buf_printf(&full, "%s%s%s", *name == '.' ? h->type : "", name, "");
    put_text(&h->keys, full.s);
    put_number(&h->keys, type, 4);
    buf_clear(&full);
    h->n++;
}

static void key_u32(struct head *h, const char *name, int64_t value)
{
    key(h, name, U32);
    put_number(&h->keys, (uint64_t)value, 4);
}

static void key_f32(struct head *h, const char *name, double value)
{
    const float f = (float)value;

    key(h, name, F32);
    buf_add(&h->keys, &f, sizeof f);
}

static void key_text(struct head *h, const char *name, const char *value)
{
    key(h, name, STRING);
    put_text(&h->keys, value);
}

static void key_array(struct head *h, const char *name, uint32_t type, size_t n)
{
    key(h, name, ARRAY);
    put_number(&h->keys, type, 4);
    put_number(&h->keys, n, 8);
}

/* ---- what the model is ------------------------------------------------ */

static void model_keys(struct head *h, const struct settings *s)
{
    const struct model_settings *m = &s->model;
    const bool gpt2 = strcmp(h->type, "gpt2") == 0;

    key_text(h, "general.architecture", h->type);
    key_u32(h, "general.file_type", 0);
    key_u32(h, ".context_length", m->context);
    key_u32(h, ".embedding_length", m->width);
    key_u32(h, ".feed_forward_length", s->is.d_ff);
    key_u32(h, ".block_count", m->layers);
    key_u32(h, ".attention.head_count", m->heads);
    if (gpt2) {
        key_f32(h, ".attention.layer_norm_epsilon", m->norm_eps);
        return;
    }
    key_u32(h, ".attention.head_count_kv", s->is.kv_heads);
    key_u32(h, ".attention.key_length", m->width / m->heads);
    key_u32(h, ".attention.value_length", m->width / m->heads);
    key_u32(h, ".rope.dimension_count", m->width / m->heads);
    key_f32(h, ".attention.layer_norm_rms_epsilon", m->norm_eps);
    key_f32(h, ".rope.freq_base", m->rope_theta);
}

/* ---- the tokenizer ---------------------------------------------------- */

static json_t *read_tokenizer(const char *path, struct err *e)
{
    char *file = path_is_folder(path) ? path_join(path, "tokenizer.json")
                                      : xstrdup(path);
    json_error_t why;
    json_t *o = json_load_file(file, 0, &why);

    if (!json_is_object(
            json_object_get(json_object_get(o, "model"), "vocab"))) {
        json_decref(o);
        o = NULL;
        err_set(e, ERR_INPUT,
                "%s: GGUF needs a tokenizer.json of byte-level "
                "BPE",
                file);
    }
    free(file);
    return o;
}

static void put_merge(struct buf *b, const json_t *merge)
{
    char *pair;

    if (json_is_string(merge)) {
        put_text(b, json_string_value(merge));
        return;
    }
    pair = xasprintf("%s %s", json_string_value(json_array_get(merge, 0)),
                     json_string_value(json_array_get(merge, 1)));
    put_text(b, pair);
    free(pair);
}

static int token_keys(struct head *h, const struct job *j, struct err *e)
{
    const int64_t n = j->set->model.vocab;
    const int32_t eot = tokenizer_eot(j->data.tokenizer);
    json_t *o = read_tokenizer(j->set->data.tokenizer, e), *value, *merges;
    const char **text = xcalloc((size_t)n, sizeof(*text)), *name;
    bool *special = xcalloc((size_t)n, sizeof *special);
    size_t i;

    json_object_foreach(json_object_get(json_object_get(o, "model"), "vocab"),
                        name, value) if (json_integer_value(value) >= 0 &&
                                         json_integer_value(value) < n)
        text[json_integer_value(value)] = name;
    json_array_foreach(json_object_get(o, "added_tokens"), i, value)
    {
        const json_int_t id = json_integer_value(json_object_get(value, "id"));

        if (id < 0 || id >= n)
            continue;
        text[id] = json_string_value(json_object_get(value, "content"));
        special[id] = true;
    }
    if (o) {
        key_text(h, "tokenizer.ggml.model", "gpt2");
        key_text(h, "tokenizer.ggml.pre", "gpt-2");
        key_array(h, "tokenizer.ggml.tokens", STRING, (size_t)n);
        for (int64_t k = 0; k < n; k++) {
            char unused[32];

            snprintf(unused, sizeof unused, "[unused %lld]", (long long)k);
            put_text(&h->keys, text[k] ? text[k] : unused);
        }
        /* 1 normal, 3 control, 5 unused */
        key_array(h, "tokenizer.ggml.token_type", I32, (size_t)n);
        for (int64_t k = 0; k < n; k++)
            put_number(&h->keys, special[k] ? 3 : text[k] ? 1 : 5, 4);
        merges = json_object_get(json_object_get(o, "model"), "merges");
        key_array(h, "tokenizer.ggml.merges", STRING, json_array_size(merges));
        json_array_foreach(merges, i, value) put_merge(&h->keys, value);
        if (eot >= 0) {
            key_u32(h, "tokenizer.ggml.bos_token_id", eot);
            key_u32(h, "tokenizer.ggml.eos_token_id", eot);
        }
    }
    free(text);
    free(special);
    json_decref(o);
    return e->kind == ERR_NONE ? 0 : -1;
}

/* ---- tensors ---------------------------------------------------------- */

/* llama.cpp turns neighbours of a "llama", not halves: (half, i) of a head
 * becomes (i, half). */
static void interleave(float *x, const struct convert_piece *p, int64_t D)
{
    float *head = xcalloc((size_t)(D * p->cols), sizeof *head);

    for (int64_t h = 0; h < p->rows; h += D) {
        memcpy(head, x + h * p->cols, (size_t)(D * p->cols) * sizeof *head);
        for (int64_t r = 0; r < D; r++)
            memcpy(x + (h + r % (D / 2) * 2 + r / (D / 2)) * p->cols,
                   head + r * p->cols, (size_t)p->cols * sizeof *head);
    }
    free(head);
}

struct gguf {
    const struct job *job;
    const float *weights;
    const char *type;
    struct buf infos;
    uint64_t n, at;
    FILE *fp; /* NULL while places are counted */
};

static void info(struct gguf *w, const char *name,
                 const struct convert_piece *p)
{
    const int64_t cols = p->cols ? p->cols : 1;

    put_text(&w->infos, name);
    put_number(&w->infos, p->cols ? 2 : 1, 4);
    if (p->cols)
        put_number(&w->infos, (uint64_t)p->cols, 8);
    put_number(&w->infos, (uint64_t)p->rows, 8);
    put_number(&w->infos, 0, 4); /* F32 */
    put_number(&w->infos, w->at, 8);
    w->at += ((uint64_t)(p->rows * cols) * 4 + ALIGN - 1) / ALIGN * ALIGN;
    w->n++;
}

static int numbers(struct gguf *w, const struct convert_row *row,
                   const struct graph_param *p,
                   const struct convert_piece *piece, struct err *e)
{
    const struct model_settings *m = &w->job->set->model;
    const size_t n = (size_t)(piece->rows * (piece->cols ? piece->cols : 1));
    float *x = mem_alloc(n, sizeof *x, "weights", e);

    if (!x)
        return -1;
    convert_copy(piece, (float *)(uintptr_t)(w->weights + p->at), x, false);
    if (strcmp(w->type, "llama") == 0 &&
        (row->cut == CUT_Q || row->cut == CUT_K))
        interleave(x, piece, m->width / m->heads);
    fwrite(x, sizeof *x, n, w->fp);
    for (size_t i = n * sizeof *x; i % ALIGN; i++)
        fputc(0, w->fp);
    free(x);
    return 0;
}

static int each_tensor(struct gguf *w, const struct convert_row *row,
                       struct err *e)
{
    const char *d = strstr(row->theirs, "%d");
    const int64_t times = d ? w->job->set->model.layers : 1;

    for (int l = 0; l < times; l++) {
        const struct graph_param *p =
            convert_param(&w->job->gpt.graph, row->ours, l);
        struct convert_piece piece;
        char name[64];

        if (!p && row->lack == LACK_NOT)
            return err_set(e, ERR_USAGE, "the model has no %s", row->ours);
        if (!p)
            continue;
        convert_piece(w->job, row, p, &piece);
        if (d)
            snprintf(name, sizeof name, "%.*s%d%s", (int)(d - row->theirs),
                     row->theirs, l, d + 2);
        else
            snprintf(name, sizeof name, "%s", row->theirs);
        if (!w->fp)
            info(w, name, &piece);
        else if (numbers(w, row, p, &piece, e) < 0)
            return -1;
    }
    return 0;
}

static int all_tensors(struct gguf *w, struct err *e)
{
    const struct convert_row *row =
        strcmp(w->type, "gpt2") == 0 ? gpt2_rows : llama_rows;

    for (; row->ours; row++)
        if (each_tensor(w, row, e) < 0)
            return -1;
    return w->job->set->model.tied ? 0 : each_tensor(w, &head_row, e);
}

/* ---- the file --------------------------------------------------------- */

static int check(const struct job *j, const char *type, struct err *e)
{
    const struct model_settings *m = &j->set->model;

    if (strcmp(type, "gpt2") == 0 &&
        (!m->linear_bias || !m->norm_bias || m->mlp != MLP_GELU_TANH))
        return err_set(e, ERR_USAGE,
                       "llama.cpp's GPT-2 has biases everywhere "
                       "and gelu_tanh");
    if (strcmp(type, "gpt2") != 0 && (m->linear_bias || m->mlp != MLP_SWIGLU))
        return err_set(e, ERR_USAGE,
                       "llama.cpp's Llama and Qwen3 have swiglu and no biases");
    if (!j->data.tokenizer)
        return err_set(e, ERR_USAGE,
                       "GGUF holds the tokenizer, too: give "
                       "--set data.tokenizer=PATH");
    return 0;
}

int convert_write_gguf(const struct job *j, const float *weights,
                       const char *path, struct err *e)
{
    const struct convert_family *f = convert_family(j->set, e);
    struct gguf w = { .job = j, .weights = weights, .infos = BUF_INIT };
    struct head h = { .keys = BUF_INIT };
    struct buf front = BUF_INIT;
    struct save s = SAVE_INIT;
    int ret = -1;

    if (!f || check(j, f->type, e) < 0)
        return -1;
    w.type = h.type = f->type;
    model_keys(&h, j->set);
    if (token_keys(&h, j, e) == 0 && all_tensors(&w, e) == 0 &&
        save_open(&s, path, e) == 0) {
        buf_str(&front, "GGUF");
        put_number(&front, VERSION, 4);
        put_number(&front, w.n, 8);
        put_number(&front, h.n, 8);
        buf_add(&front, h.keys.s, h.keys.len);
        buf_add(&front, w.infos.s, w.infos.len);
        while (front.len % ALIGN)
            buf_char(&front, '\0');
        fwrite(front.s, 1, front.len, s.fp);
        w.fp = s.fp;
        ret = all_tensors(&w, e);
        if (ret == 0)
            ret = save_commit(&s, e);
    }
    save_abandon(&s);
    buf_clear(&front);
    buf_clear(&h.keys);
    buf_clear(&w.infos);
    return ret;
}
