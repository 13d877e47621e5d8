/*
 * convert_gguf - a model as a GGUF file, version 3, which llama.cpp reads
 *
 * The file is a head of keys and values, a record for each tensor, then the
 * numbers, each tensor at a multiple of 32 bytes.  The fastest dimension of a
 * shape comes first.
 */
#include "config.h"
#include "trainer/convert/convert_gguf_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/save.h"
#include "kernels/half.h"
#include "trainer/model/rope_scaling.h"

enum { VERSION = 3, ALIGN = 32 };

/* ---- numbers ---------------------------------------------------------- */

/*
 * The types of numbers: fp32 and fp16, or integers of 8 and 4 bits, 32 of which
 * share a scale in fp16.
 */
enum gguf_numbers {
    GGUF_NUMBERS_F32,
    GGUF_NUMBERS_F16,
    GGUF_NUMBERS_Q8_0,
    GGUF_NUMBERS_Q4_0
};

enum { BLOCK = 32 };

/* clang-format off */
static const struct gguf_numbers_type {
    int id;           /* by which GGUF knows the type of a tensor */
    int block, bytes; /* numbers and bytes of a block */
    int file_type;    /* of a file of such tensors */
} gguf_numbers_types[] = {
    [GGUF_NUMBERS_F32] =  { 0, 1, 4, 0 },
    [GGUF_NUMBERS_F16] =  { 1, 1, 2, 1 },
    [GGUF_NUMBERS_Q4_0] = { 2, BLOCK, 2 + BLOCK / 2, 2 },
    [GGUF_NUMBERS_Q8_0] = { 8, BLOCK, 2 + BLOCK, 7 },
};
/* clang-format on */

/* Can rows of `cols` numbers have this type? */
static bool gguf_numbers_fit(enum gguf_numbers type, int64_t cols)
{
    return cols > 0 && cols % gguf_numbers_types[type].block == 0;
}

static size_t gguf_numbers_bytes(enum gguf_numbers type, int64_t n)
{
    return (size_t)(n / gguf_numbers_types[type].block) *
           (size_t)gguf_numbers_types[type].bytes;
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

static void gguf_numbers_write(enum gguf_numbers type, const float *x,
                               int64_t n, FILE *fp)
{
    if (type == GGUF_NUMBERS_F32) {
        fwrite(x, sizeof *x, (size_t)n, fp);
        return;
    }
    for (int64_t i = 0; i < n; i += gguf_numbers_types[type].block)
        if (type == GGUF_NUMBERS_F16)
            write_half(x[i], fp);
        else if (type == GGUF_NUMBERS_Q8_0)
            write_q8_0(x + i, fp);
        else
            write_q4_0(x + i, fp);
}

/* ---- the model -------------------------------------------------------- */

static void add_model_keys(struct gguf_head *h, const struct settings *s,
                           enum gguf_numbers type)
{
    const struct model_settings *m = &s->model;
    const bool gpt2 = strcmp(h->type, "gpt2") == 0;
    struct rope_scaling r;

    gguf_add_text_key(h, "general.architecture", h->type);
    gguf_add_u32_key(h, "general.file_type",
                     gguf_numbers_types[type].file_type);
    if (type == GGUF_NUMBERS_Q8_0 || type == GGUF_NUMBERS_Q4_0)
        gguf_add_u32_key(h, "general.quantization_version", 2);
    gguf_add_u32_key(h, ".context_length", m->context);
    gguf_add_u32_key(h, ".embedding_length", m->width);
    gguf_add_u32_key(h, ".feed_forward_length", s->is.d_ff);
    gguf_add_u32_key(h, ".block_count", m->layers);
    gguf_add_u32_key(h, ".attention.head_count", m->heads);
    if (gpt2) {
        gguf_add_f32_key(h, ".attention.layer_norm_epsilon", m->norm_eps);
        return;
    }
    gguf_add_u32_key(h, ".attention.head_count_kv", s->is.kv_heads);
    gguf_add_u32_key(h, ".attention.key_length", s->is.head_dim);
    gguf_add_u32_key(h, ".attention.value_length", s->is.head_dim);
    gguf_add_u32_key(h, ".rope.dimension_count", s->is.head_dim);
    gguf_add_f32_key(h, ".attention.layer_norm_rms_epsilon", m->norm_eps);
    gguf_add_f32_key(h, ".rope.freq_base", m->rope_theta);
    if (rope_scaling_parse(m->rope_scaling, &r) &&
        strcmp(r.kind, "yarn") == 0) {
        gguf_add_text_key(h, ".rope.scaling.type", r.kind);
        gguf_add_f32_key(h, ".rope.scaling.factor", r.factor);
        gguf_add_u32_key(h, ".rope.scaling.original_context_length",
                         (uint32_t)r.context);
    }
}

/* ---- tensors ---------------------------------------------------------- */

/* For a "llama", llama.cpp rotates neighbouring elements of a head, and gtrain
 * element i of each half: row (half, i) becomes row (i, half). */
static void interleave(float *x, const struct convert_slice *p, int64_t D)
{
    const int64_t cols = p->cols ? p->cols : 1;
    float *head = xcalloc((size_t)(D * cols), sizeof *head);

    for (int64_t h = 0; h < p->rows; h += D) {
        memcpy(head, x + h * cols, (size_t)(D * cols) * sizeof *head);
        for (int64_t r = 0; r < D; r++)
            memcpy(x + (h + r % (D / 2) * 2 + r / (D / 2)) * cols,
                   head + r * cols, (size_t)cols * sizeof *head);
    }
    free(head);
}

struct gguf_tensors {
    const struct engine *engine;
    const float *weights;
    const char *type;
    enum gguf_numbers numbers; /* of matrices */
    struct buf records;
    uint64_t n, at;
    FILE *fp; /* NULL: make records and count offsets */
};

/* Vectors and positions are few and stay in fp32, as do matrices with rows of a
 * length that the type does not allow. */
static enum gguf_numbers numbers_of(const struct gguf_tensors *w,
                                    const char *name,
                                    const struct convert_slice *p)
{
    return gguf_numbers_fit(w->numbers, p->cols) &&
                   strcmp(name, "position_embd.weight") != 0
               ? w->numbers
               : GGUF_NUMBERS_F32;
}

static void add_record(struct gguf_tensors *w, const char *name,
                       const struct convert_slice *p)
{
    const enum gguf_numbers type = numbers_of(w, name, p);
    const size_t bytes = gguf_numbers_bytes(type, convert_slice_count(p));

    gguf_add_text(&w->records, name);
    gguf_add_number(&w->records, p->cols ? 2 : 1, 4);
    if (p->cols)
        gguf_add_number(&w->records, (uint64_t)p->cols, 8);
    gguf_add_number(&w->records, (uint64_t)p->rows, 8);
    gguf_add_number(&w->records, (uint64_t)gguf_numbers_types[type].id, 4);
    gguf_add_number(&w->records, w->at, 8);
    w->at += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    w->n++;
}

static int write_numbers(struct gguf_tensors *w, const struct convert_tensor *t,
                         const struct convert_slice *slice, struct err *e)
{
    const enum gguf_numbers type = numbers_of(w, t->gguf, slice);
    const int64_t n = convert_slice_count(slice);
    float *x = mem_alloc((size_t)n, sizeof *x, "weights", e);

    if (!x)
        return -1;
    convert_to_theirs(slice, w->weights + t->param->at, x);
    if ((strcmp(w->type, "llama") == 0 || strcmp(w->type, "smollm3") == 0) &&
        (slice->kind == SLICE_Q || slice->kind == SLICE_K))
        interleave(x, slice, w->engine->set->is.head_dim);
    gguf_numbers_write(type, x, n, w->fp);
    for (size_t i = gguf_numbers_bytes(type, n); i % ALIGN; i++)
        fputc(0, w->fp);
    free(x);
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
        return err_set(e, ERR_USAGE,
                       "llama.cpp's GPT-2 needs biases everywhere and "
                       "gelu_tanh");
    if (strcmp(f->type, "gpt2") != 0 && m->mlp != MLP_SWIGLU)
        return err_set(e, ERR_USAGE, "llama.cpp's Llama and Qwen need swiglu");
    if (m->nope_every && m->nope_every != 4)
        return err_set(e, ERR_USAGE,
                       "llama.cpp's SmolLM3 needs model.nope_every = 4");
    if (strcmp(f->type, "qwen3") == 0 && s->is.qkv_bias)
        return err_set(e, ERR_USAGE, "llama.cpp's Qwen3 has no biases");
    return 0;
}

int convert_write_gguf(const struct engine *eng, const float *weights,
                       enum convert_format format, const char *path,
                       struct err *e)
{
    static const enum gguf_numbers types[] = {
        [CONVERT_GGUF] = GGUF_NUMBERS_F32,
        [CONVERT_GGUF_F16] = GGUF_NUMBERS_F16,
        [CONVERT_GGUF_Q8_0] = GGUF_NUMBERS_Q8_0,
        [CONVERT_GGUF_Q4_0] = GGUF_NUMBERS_Q4_0
    };
    const enum gguf_numbers numbers = types[format];
    const struct convert_family *f = convert_family(eng->set, e);
    struct gguf_tensors w = { .engine = eng,
                              .weights = weights,
                              .numbers = numbers,
                              .records = BUF_INIT };
    struct gguf_head h = { .keys = BUF_INIT };
    struct buf front = BUF_INIT;
    struct save s = { 0 };
    int ret = -1;

    if (convert_check_gguf(eng->set, e) < 0)
        return -1;
    if (!eng->data.tokenizer)
        return err_set(e, ERR_USAGE,
                       "GGUF needs a tokenizer; use --set "
                       "data.tokenizer=PATH to name it");
    w.type = h.type = f->type;
    add_model_keys(&h, eng->set, numbers);
    if (gguf_add_tokenizer(&h, eng->data.tokenizer, eng->set->model.vocab, e) ==
            0 &&
        add_tensors(&w, f, e) == 0 && save_open(&s, path, e) == 0) {
        buf_str(&front, "GGUF");
        gguf_add_number(&front, VERSION, 4);
        gguf_add_number(&front, w.n, 8);
        gguf_add_number(&front, h.n, 8);
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
    save_abandon(&s);
    buf_clear(&front);
    buf_clear(&h.keys);
    buf_clear(&w.records);
    return ret;
}
