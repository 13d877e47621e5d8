/*
 * convert_gguf - a model as a GGUF file, version 3, which llama.cpp reads
 *
 * The file is a head of keys and values, a record for each tensor, then the
 * numbers, each tensor at a multiple of 32 bytes.  The fastest dimension of a
 * shape comes first.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/save.h"
#include "data/token/bpe.h"
#include "data/token/tokenizer.h"
#include "data/token/tokfile.h"
#include "kernels/half.h"
#include "trainer/convert/convert.h"

/* Keys and values; numbers are little-endian.  A name that begins with a dot
 * follows the type of the model. */
struct gguf_head {
    struct buf keys;
    uint64_t n;
    const char *type; /* of the model, before its keys */
};

/* Kinds of tokens. */
enum {
    TOKEN_NORMAL = 1,
    TOKEN_UNKNOWN = 2,
    TOKEN_CONTROL = 3, /* only in text in which special tokens are recognised */
    TOKEN_USER = 4,    /* in any text */
    TOKEN_UNUSED = 5,
    TOKEN_BYTE = 6
};

/* ---- keys -------------------------------------------------------------- */

enum gguf_type {
    GGUF_U32 = 4,
    GGUF_I32 = 5,
    GGUF_F32 = 6,
    GGUF_BOOL = 7,
    GGUF_STRING = 8,
    GGUF_ARRAY = 9
};

static void add_number(struct buf *b, uint64_t n, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_char(b, (char)(n >> (8 * i) & 0xff));
}

static void add_f32(struct buf *b, double value)
{
    const float f = (float)value;

    buf_add(b, &f, sizeof f);
}

static void add_bytes(struct buf *b, const void *s, size_t n)
{
    add_number(b, n, 8);
    buf_add(b, s, n);
}

static void add_text(struct buf *b, const char *s)
{
    add_bytes(b, s, strlen(s));
}

static void add_key(struct gguf_head *h, const char *name, enum gguf_type type)
{
    AUTO_FREE char *full = xasprintf("%s%s", *name == '.' ? h->type : "", name);

    add_text(&h->keys, full);
    add_number(&h->keys, type, 4);
    h->n++;
}

static void add_u32_key(struct gguf_head *h, const char *name, int64_t value)
{
    add_key(h, name, GGUF_U32);
    add_number(&h->keys, (uint64_t)value, 4);
}

static void add_f32_key(struct gguf_head *h, const char *name, double value)
{
    add_key(h, name, GGUF_F32);
    add_f32(&h->keys, value);
}

static void add_bool_key(struct gguf_head *h, const char *name, bool value)
{
    add_key(h, name, GGUF_BOOL);
    add_number(&h->keys, value, 1);
}

static void add_text_key(struct gguf_head *h, const char *name,
                         const char *value)
{
    add_key(h, name, GGUF_STRING);
    add_text(&h->keys, value);
}

/* The n values follow. */
static void add_array_key(struct gguf_head *h, const char *name,
                          enum gguf_type type, size_t n)
{
    add_key(h, name, GGUF_ARRAY);
    add_number(&h->keys, type, 4);
    add_number(&h->keys, n, 8);
}

/* ---- tokens ------------------------------------------------------------ */

/* Is this the token of a byte of unknown characters? */
static bool is_byte(const struct tokenizer *t, int64_t id)
{
    return t->kind == TOKENIZER_SENTENCEPIECE && t->token[id].len == 1 &&
           t->byte_id[*token_text(t, (int32_t)id)] == id;
}

static bool has_name(const struct tokenizer *t, const struct special *s,
                     const char *name)
{
    return s->name.len == strlen(name) &&
           memcmp(t->text + s->name.at, name, s->name.len) == 0;
}

static int token_kind(const struct tokenizer *t, int64_t id)
{
    const struct special *s;

    if (id >= t->n_ids || t->token[id].len == 0)
        return TOKEN_UNUSED;
    if (is_byte(t, id))
        return TOKEN_BYTE;
    s = tokenizer_find_special(t, id);
    if (!s)
        return TOKEN_NORMAL;
    if (t->kind == TOKENIZER_SENTENCEPIECE && has_name(t, s, "<unk>"))
        return TOKEN_UNKNOWN;
    return s->flags & SPECIAL_ALWAYS ? TOKEN_USER : TOKEN_CONTROL;
}

static void add_token(struct buf *b, const struct tokenizer *t, int64_t id)
{
    const struct special *s = tokenizer_find_special(t, id);
    AUTO(buf_clear) struct buf name = BUF_INIT;

    if (id >= t->n_ids || t->token[id].len == 0)
        buf_printf(&name, "[unused %lld]", (long long)id);
    else if (s)
        buf_add(&name, t->text + s->name.at, s->name.len);
    else
        tokfile_add_name(&name, t, (int32_t)id);
    add_bytes(b, name.s, name.len);
}

static void add_tokens(struct gguf_head *h, const struct tokenizer *t,
                       int64_t n)
{
    add_array_key(h, "tokenizer.ggml.tokens", GGUF_STRING, (size_t)n);
    for (int64_t id = 0; id < n; id++)
        add_token(&h->keys, t, id);
    add_array_key(h, "tokenizer.ggml.token_type", GGUF_I32, (size_t)n);
    for (int64_t id = 0; id < n; id++)
        add_number(&h->keys, (uint64_t)token_kind(t, id), 4);
}

/* ---- "gpt2" ------------------------------------------------------------ */

/*
 * The names of pre-tokenizers in llama.cpp.  Only with llama-bpe does a piece
 * that is a token stay one (ignore_merges); dbrx has the same pieces.
 */
static const char *piece_rules(const struct tokenizer *t)
{
    static const char *const names[] = {
        [PRETOKENIZE_GPT2] = "gpt-2",  [PRETOKENIZE_CL100K] = "dbrx",
        [PRETOKENIZE_LLAMA3] = "dbrx", [PRETOKENIZE_O200K] = "gpt-4o",
        [PRETOKENIZE_QWEN2] = "qwen2", [PRETOKENIZE_DIGITS] = "smollm",
    };
    _Static_assert(sizeof names / sizeof names[0] == PRETOKENIZE_COUNT,
                   "every pre-tokenizer needs a name");

    if (t->whole)
        return t->pretokenizer == PRETOKENIZE_LLAMA3 ? "llama-bpe" : NULL;
    return names[t->pretokenizer];
}

static int add_gpt2(struct gguf_head *h, const struct tokenizer *t,
                    struct err *e)
{
    const char *pre = piece_rules(t);
    AUTO(buf_clear) struct buf pair = BUF_INIT;

    if (!pre)
        return err_input(e, "llama.cpp has ignore_merges only with the "
                            "pre-tokenizer of Llama 3");
    add_text_key(h, "tokenizer.ggml.model", "gpt2");
    add_text_key(h, "tokenizer.ggml.pre", pre);
    add_array_key(h, "tokenizer.ggml.merges", GGUF_STRING, t->n_merges);
    for (size_t i = 0; i < t->n_merges; i++) {
        buf_trim(&pair, 0);
        tokfile_add_name(&pair, t, t->merge[i].left);
        buf_char(&pair, ' ');
        tokfile_add_name(&pair, t, t->merge[i].right);
        add_bytes(&h->keys, pair.s, pair.len);
    }
    return 0;
}

/* ---- "llama" ----------------------------------------------------------- */

/* Count the pairs of tokens that make this text. */
static size_t count_pairs(const struct tokenizer *t, const void *text, size_t n)
{
    const uint8_t *s = text;
    size_t count = 0;

    for (size_t i = 1; i < n; i++)
        count += tokenizer_find(t, s, i) >= 0 &&
                 tokenizer_find(t, s + i, n - i) >= 0;
    return count;
}

/* Count the pairs of tokens that make the name of a token, for all tokens. */
static size_t count_all_pairs(const struct tokenizer *t)
{
    AUTO(buf_clear) struct buf name = BUF_INIT;
    size_t count = 0;

    for (int32_t id = 0; id < t->n_ids; id++) {
        const struct special *s = tokenizer_find_special(t, id);

        buf_trim(&name, 0);
        if (s)
            sentencepiece_add_spaces(&name, t->text + s->name.at, s->name.len);
        else
            buf_add(&name, token_text(t, id), t->token[id].len);
        count += count_pairs(t, name.s, name.len);
    }
    return count;
}

/* Number the tokens in the order of their merges, from 1; -1 if a token has
 * merges before and after those of another. */
static int order_tokens(const struct tokenizer *t, int32_t *order)
{
    int32_t last = -1, n = 0;

    for (size_t i = 0; i < t->n_merges; i++) {
        const int32_t into = t->merge[i].into;

        if (into == last)
            continue;
        if (order[into] > 0)
            return -1;
        order[into] = ++n;
        last = into;
    }
    return 0;
}

static int add_llama(struct gguf_head *h, const struct tokenizer *t, int64_t n,
                     struct err *e)
{
    AUTO_FREE int32_t *order = xcalloc((size_t)t->n_ids, sizeof *order);
    int got = 0;

    if (t->unknown >= 0)
        got = err_input(e, "llama.cpp needs a tokenizer with byte_fallback");
    else if (t->whole || t->pretokenizer == PRETOKENIZE_SPACES)
        got =
            err_input(e, "llama.cpp has neither ignore_merges nor a Metaspace "
                         "that divides text, as this tokenizer does");
    else if (order_tokens(t, order) < 0 || count_all_pairs(t) != t->n_merges)
        got =
            err_input(e, "llama.cpp makes a token from any pair of tokens that "
                         "it consists of, but this tokenizer has merges only "
                         "for some of these pairs");
    if (got == 0) {
        add_text_key(h, "tokenizer.ggml.model", "llama");
        add_text_key(h, "tokenizer.ggml.pre", "default");
        add_bool_key(h, "tokenizer.ggml.add_space_prefix",
                     t->prefix != PREFIX_NONE);
        add_array_key(h, "tokenizer.ggml.scores", GGUF_F32, (size_t)n);
        for (int64_t id = 0; id < n; id++)
            add_f32(&h->keys, id < t->n_ids ? -order[id] : 0);
    }
    return got;
}

/*
 * Add the keys of the tokenizer, with unused tokens up to `vocab`.  Fails if
 * llama.cpp would give other ids.
 */
static int add_tokenizer(struct gguf_head *h, const struct engine_data *d,
                         int64_t vocab, struct err *e)
{
    const struct tokenizer *t = d->tokenizer;
    const int32_t eot = tokenizer_eot(t);
    int got;

    if (t->kind == TOKENIZER_CHARS)
        return err_input(e, "llama.cpp does not read tokenizers of characters");
    if (t->nfc)
        log_warn("llama.cpp does not normalize text to NFC, as this tokenizer "
                 "does");
    got = t->kind == TOKENIZER_BPE ? add_gpt2(h, t, e)
                                   : add_llama(h, t, vocab, e);
    if (got < 0)
        return -1;
    add_tokens(h, t, vocab);
    for (int64_t id = 0; id < vocab; id++)
        if (token_kind(t, id) == TOKEN_UNKNOWN)
            add_u32_key(h, "tokenizer.ggml.unknown_token_id", id);
    if (eot >= 0) {
        add_u32_key(h, "tokenizer.ggml.bos_token_id", eot);
        add_u32_key(h, "tokenizer.ggml.eos_token_id", eot);
    }
    add_bool_key(h, "tokenizer.ggml.add_bos_token", false);
    if (d->form.tokenizer) {
        AUTO_FREE char *jinja = chat_template_jinja(&d->form);

        add_text_key(h, "tokenizer.chat_template", jinja);
        add_u32_key(h, "tokenizer.ggml.eot_token_id", d->form.end);
    }
    return 0;
}

enum { VERSION = 3, ALIGN = 32 };

/* ---- numbers ---------------------------------------------------------- */

enum { BLOCK = 32 };

/* clang-format off */
/* The types of numbers: fp32 and fp16, or integers of 8 and 4 bits, 32 of which
 * share a scale in fp16. */
static const struct {
    int id;           /* by which GGUF knows the type of a tensor */
    int block, bytes; /* numbers and bytes of a block */
    int file_type;    /* of a file of such tensors */
} number_types[] = {
    [CONVERT_GGUF] =      { 0, 1, 4, 0 },
    [CONVERT_GGUF_F16] =  { 1, 1, 2, 1 },
    [CONVERT_GGUF_Q4_0] = { 2, BLOCK, 2 + BLOCK / 2, 2 },
    [CONVERT_GGUF_Q8_0] = { 8, BLOCK, 2 + BLOCK, 7 },
};
/* clang-format on */

static size_t numbers_bytes(enum convert_format type, int64_t n)
{
    return (size_t)(n / number_types[type].block) *
           (size_t)number_types[type].bytes;
}

static void write_half(float x, FILE *fp)
{
    const uint16_t h = f16_from_float(x);

    fwrite(&h, sizeof h, 1, fp);
}

/* The number of the largest magnitude of a block. */
static float extreme_of(const float *x)
{
    float most = 0;

    for (int i = 0; i < BLOCK; i++)
        if (fabsf(x[i]) > fabsf(most))
            most = x[i];
    return most;
}

/* A scale and 32 numbers of 8 bits. */
static void write_q8_0(const float *x, FILE *fp)
{
    const float scale = fabsf(extreme_of(x)) / 127;
    const float times = scale > 0 ? 1 / scale : 0;

    write_half(scale, fp);
    for (int i = 0; i < BLOCK; i++)
        fputc((int)lrintf(x[i] * times) & 0xff, fp);
}

/* A scale and 32 numbers of 4 bits, 8 of which stands for zero; the second
 * half of them in the upper halves of the bytes. */
static void write_q4_0(const float *x, FILE *fp)
{
    const float scale = extreme_of(x) / -8;
    const float times = fabsf(scale) > 0 ? 1 / scale : 0;
    int n[BLOCK];

    write_half(scale, fp);
    for (int i = 0; i < BLOCK; i++)
        n[i] = (int)fminf(rintf(x[i] * times), 7) + 8;
    for (int i = 0; i < BLOCK / 2; i++)
        fputc(n[i] | n[i + BLOCK / 2] << 4, fp);
}

static void put_numbers(enum convert_format type, const float *x, int64_t n,
                        FILE *fp)
{
    if (type == CONVERT_GGUF) {
        fwrite(x, sizeof *x, (size_t)n, fp);
        return;
    }
    for (int64_t i = 0; i < n; i += number_types[type].block)
        if (type == CONVERT_GGUF_F16)
            write_half(x[i], fp);
        else if (type == CONVERT_GGUF_Q8_0)
            write_q8_0(x + i, fp);
        else
            write_q4_0(x + i, fp);
}

/* ---- the model -------------------------------------------------------- */

static void add_model_keys(struct gguf_head *h, const struct settings *s,
                           enum convert_format type)
{
    const struct model_settings *m = &s->model;
    const bool gpt2 = strcmp(h->type, "gpt2") == 0;
    struct rope_scaling r;

    add_text_key(h, "general.architecture", h->type);
    add_u32_key(h, "general.file_type", number_types[type].file_type);
    if (type == CONVERT_GGUF_Q8_0 || type == CONVERT_GGUF_Q4_0)
        add_u32_key(h, "general.quantization_version", 2);
    add_u32_key(h, ".context_length", m->context);
    add_u32_key(h, ".embedding_length", m->width);
    add_u32_key(h, ".feed_forward_length", s->is.d_ff);
    add_u32_key(h, ".block_count", m->layers);
    add_u32_key(h, ".attention.head_count", m->heads);
    if (gpt2) {
        add_f32_key(h, ".attention.layer_norm_epsilon", m->norm_eps);
        return;
    }
    add_u32_key(h, ".attention.head_count_kv", s->is.kv_heads);
    add_u32_key(h, ".attention.key_length", s->is.head_dim);
    add_u32_key(h, ".attention.value_length", s->is.head_dim);
    add_u32_key(h, ".rope.dimension_count", s->is.head_dim);
    add_f32_key(h, ".attention.layer_norm_rms_epsilon", m->norm_eps);
    add_f32_key(h, ".rope.freq_base", m->rope_theta);
    if (rope_scaling_parse(m->rope_scaling, &r) &&
        strcmp(r.kind, "yarn") == 0) {
        add_text_key(h, ".rope.scaling.type", r.kind);
        add_f32_key(h, ".rope.scaling.factor", r.factor);
        add_u32_key(h, ".rope.scaling.original_context_length",
                    (uint32_t)r.context);
    }
}

/* ---- tensors ---------------------------------------------------------- */

/* For a "llama", llama.cpp rotates neighbouring elements of a head, and gtrain
 * element i of each half: row (half, i) becomes row (i, half). */
static void interleave(float *x, const struct convert_slice *p, int64_t D)
{
    const int64_t cols = p->cols ? p->cols : 1;
    AUTO_FREE float *head = xcalloc((size_t)(D * cols), sizeof *head);

    for (int64_t h = 0; h < p->rows; h += D) {
        memcpy(head, x + h * cols, (size_t)(D * cols) * sizeof *head);
        for (int64_t r = 0; r < D; r++)
            memcpy(x + (h + r % (D / 2) * 2 + r / (D / 2)) * cols,
                   head + r * cols, (size_t)cols * sizeof *head);
    }
}

struct gguf_tensors {
    const struct engine *engine;
    const float *weights;
    const char *type;
    enum convert_format numbers; /* of matrices */
    struct buf records;
    uint64_t n, at;
    FILE *fp; /* NULL: make records and count offsets */
};

/* Vectors and positions are few and stay in fp32, as do matrices with rows of a
 * length that the type does not allow. */
static enum convert_format numbers_of(const struct gguf_tensors *w,
                                      const char *name,
                                      const struct convert_slice *p)
{
    return p->cols > 0 && p->cols % number_types[w->numbers].block == 0 &&
                   strcmp(name, "position_embd.weight") != 0
               ? w->numbers
               : CONVERT_GGUF;
}

static void add_record(struct gguf_tensors *w, const char *name,
                       const struct convert_slice *p)
{
    const enum convert_format type = numbers_of(w, name, p);
    const size_t bytes = numbers_bytes(type, convert_slice_count(p));

    add_text(&w->records, name);
    add_number(&w->records, p->cols ? 2 : 1, 4);
    if (p->cols)
        add_number(&w->records, (uint64_t)p->cols, 8);
    add_number(&w->records, (uint64_t)p->rows, 8);
    add_number(&w->records, (uint64_t)number_types[type].id, 4);
    add_number(&w->records, w->at, 8);
    w->at += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    w->n++;
}

static int write_numbers(struct gguf_tensors *w, const struct convert_tensor *t,
                         const struct convert_slice *slice, struct err *e)
{
    const enum convert_format type = numbers_of(w, t->gguf, slice);
    const int64_t n = convert_slice_count(slice);
    AUTO_FREE float *x = mem_alloc((size_t)n, sizeof *x, "weights", e);

    if (!x)
        return -1;
    convert_to_theirs(slice, w->weights + t->param->at, x);
    if ((strcmp(w->type, "llama") == 0 || strcmp(w->type, "smollm3") == 0) &&
        (slice->kind == SLICE_Q || slice->kind == SLICE_K))
        interleave(x, slice, w->engine->set->is.head_dim);
    put_numbers(type, x, n, w->fp);
    for (size_t i = numbers_bytes(type, n); i % ALIGN; i++)
        fputc(0, w->fp);
    return 0;
}

static int add_tensor(void *arg, const struct convert_tensor *t, struct err *e)
{
    struct gguf_tensors *w = arg;
    struct convert_slice slice = t->slice;

    slice.transposed = false;
    if (w->fp)
        return write_numbers(w, t, &slice, e);
    add_record(w, t->gguf, &slice);
    return 0;
}

/* llama.cpp divides the rate of each pair by a number of this tensor. */
static void add_rope_factors(struct gguf_tensors *w)
{
    const struct settings *s = w->engine->set;
    const struct rope r = rope_scaling_rope(s);
    const int64_t n = s->is.head_dim / 2;
    const struct convert_slice all = { .rows = n };

    if (r.scaling != ROPE_LLAMA3)
        return;
    if (!w->fp)
        add_record(w, "rope_freqs.weight", &all);
    for (int64_t i = 0; i < n && w->fp; i++) {
        const double rate = pow(s->model.rope_theta, -(double)i / (double)n);
        const float by = (float)(rate / rope_scaled(&r, i, rate));

        fwrite(&by, sizeof by, 1, w->fp);
    }
    for (size_t i = (size_t)n * sizeof(float); i % ALIGN && w->fp; i++)
        fputc(0, w->fp);
}

static int add_tensors(struct gguf_tensors *w, const struct convert_family *f,
                       struct err *e)
{
    if (convert_walk(w->engine, f, add_tensor, w, e) < 0)
        return -1;
    if (strcmp(w->type, "gpt2") != 0)
        add_rope_factors(w);
    return 0;
}

/* ---- the file --------------------------------------------------------- */

int convert_check_gguf(const struct settings *s, struct err *e)
{
    const struct model_settings *m = &s->model;
    const struct convert_family *f = convert_family(s, e);

    if (!f)
        return -1;
    if (strcmp(f->type, "gpt2") == 0 &&
        (!convert_has_biases(s) || m->mlp != MLP_GELU_TANH))
        return err_usage(e, "llama.cpp's GPT-2 needs biases everywhere and "
                            "gelu_tanh");
    if (strcmp(f->type, "gpt2") != 0 && m->mlp != MLP_SWIGLU)
        return err_usage(e, "llama.cpp's Llama and Qwen need swiglu");
    if (m->nope_every && m->nope_every != 4)
        return err_usage(e, "llama.cpp's SmolLM3 needs model.nope_every = 4");
    if (strcmp(f->type, "qwen3") == 0 && s->is.qkv_bias)
        return err_usage(e, "llama.cpp's Qwen3 has no biases");
    return 0;
}

int convert_write_gguf(const struct engine *eng, const float *weights,
                       enum convert_format format, const char *path,
                       struct err *e)
{
    const struct convert_family *f = convert_family(eng->set, e);
    struct gguf_tensors w = { .engine = eng,
                              .weights = weights,
                              .numbers = format,
                              .records = BUF_INIT };
    struct gguf_head h = { .keys = BUF_INIT };
    AUTO(buf_clear) struct buf front = BUF_INIT;
    AUTO(save_abandon) struct save s = { 0 };
    int ret = -1;

    if (convert_check_gguf(eng->set, e) < 0)
        return -1;
    if (!eng->data.tokenizer)
        return err_usage(e, "GGUF needs a tokenizer; use --set "
                            "data.tokenizer=PATH to name it");
    w.type = h.type = f->type;
    add_model_keys(&h, eng->set, format);
    if (add_tokenizer(&h, &eng->data, eng->set->model.vocab, e) == 0 &&
        add_tensors(&w, f, e) == 0 && save_open(&s, path, e) == 0) {
        buf_str(&front, "GGUF");
        add_number(&front, VERSION, 4);
        add_number(&front, w.n, 8);
        add_number(&front, h.n, 8);
        buf_add(&front, h.keys.s, h.keys.len);
        buf_add(&front, w.records.s, w.records.len);
        while (front.len % ALIGN)
            buf_char(&front, '\0');
        fwrite(front.s, 1, front.len, s.fp);
        w.fp = s.fp;
        ret = add_tensors(&w, f, e);
        if (ret == 0)
            ret = save_commit(&s, e);
    }
    buf_clear(&h.keys);
    buf_clear(&w.records);
    return ret;
}
