/*
 * convert_gguf_tokens - the tokenizer in a GGUF file
 *
 * llama.cpp has two kinds of tokenizers for BPE.  "gpt2" merges bytes by a list
 * of merges; a name selects the rules that divide text into pieces.  "llama"
 * merges characters: of all neighbours that make a token, the pair whose token
 * has the highest score, so it has every merge that is possible.
 */
#include "config.h"
#include "trainer/convert/convert_gguf_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "data/token/chat_template.h"
#include "data/token/sentencepiece.h"
#include "data/token/tokfile.h"

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

void gguf_add_number(struct buf *b, uint64_t n, int bytes)
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
    gguf_add_number(b, n, 8);
    buf_add(b, s, n);
}

void gguf_add_text(struct buf *b, const char *s)
{
    add_bytes(b, s, strlen(s));
}

static void add_key(struct gguf_head *h, const char *name, enum gguf_type type)
{
    char *full = xasprintf("%s%s", *name == '.' ? h->type : "", name);

    gguf_add_text(&h->keys, full);
    gguf_add_number(&h->keys, type, 4);
    free(full);
    h->n++;
}

void gguf_add_u32_key(struct gguf_head *h, const char *name, int64_t value)
{
    add_key(h, name, GGUF_U32);
    gguf_add_number(&h->keys, (uint64_t)value, 4);
}

void gguf_add_f32_key(struct gguf_head *h, const char *name, double value)
{
    add_key(h, name, GGUF_F32);
    add_f32(&h->keys, value);
}

static void add_bool_key(struct gguf_head *h, const char *name, bool value)
{
    add_key(h, name, GGUF_BOOL);
    gguf_add_number(&h->keys, value, 1);
}

void gguf_add_text_key(struct gguf_head *h, const char *name, const char *value)
{
    add_key(h, name, GGUF_STRING);
    gguf_add_text(&h->keys, value);
}

/* The n values follow. */
static void add_array_key(struct gguf_head *h, const char *name,
                          enum gguf_type type, size_t n)
{
    add_key(h, name, GGUF_ARRAY);
    gguf_add_number(&h->keys, type, 4);
    gguf_add_number(&h->keys, n, 8);
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
    struct buf name = BUF_INIT;

    if (id >= t->n_ids || t->token[id].len == 0)
        buf_printf(&name, "[unused %lld]", (long long)id);
    else if (s)
        buf_add(&name, t->text + s->name.at, s->name.len);
    else
        tokfile_add_name(&name, t, (int32_t)id);
    add_bytes(b, name.s, name.len);
    buf_clear(&name);
}

static void add_tokens(struct gguf_head *h, const struct tokenizer *t,
                       int64_t n)
{
    add_array_key(h, "tokenizer.ggml.tokens", GGUF_STRING, (size_t)n);
    for (int64_t id = 0; id < n; id++)
        add_token(&h->keys, t, id);
    add_array_key(h, "tokenizer.ggml.token_type", GGUF_I32, (size_t)n);
    for (int64_t id = 0; id < n; id++)
        gguf_add_number(&h->keys, (uint64_t)token_kind(t, id), 4);
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
    struct buf pair = BUF_INIT;

    if (!pre)
        return err_set(e, ERR_INPUT,
                       "llama.cpp has ignore_merges only with the "
                       "pre-tokenizer of Llama 3");
    gguf_add_text_key(h, "tokenizer.ggml.model", "gpt2");
    gguf_add_text_key(h, "tokenizer.ggml.pre", pre);
    add_array_key(h, "tokenizer.ggml.merges", GGUF_STRING, t->n_merges);
    for (size_t i = 0; i < t->n_merges; i++) {
        buf_trim(&pair, 0);
        tokfile_add_name(&pair, t, t->merge[i].left);
        buf_char(&pair, ' ');
        tokfile_add_name(&pair, t, t->merge[i].right);
        add_bytes(&h->keys, pair.s, pair.len);
    }
    buf_clear(&pair);
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
    struct buf name = BUF_INIT;
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
    buf_clear(&name);
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
    int32_t *order = xcalloc((size_t)t->n_ids, sizeof *order);
    int got = 0;

    if (t->unknown >= 0)
        got = err_set(e, ERR_INPUT,
                      "llama.cpp needs a tokenizer with byte_fallback");
    else if (t->whole || t->pretokenizer == PRETOKENIZE_SPACES)
        got =
            err_set(e, ERR_INPUT,
                    "llama.cpp has neither ignore_merges nor a Metaspace that "
                    "divides text, as this tokenizer does");
    else if (order_tokens(t, order) < 0 || count_all_pairs(t) != t->n_merges)
        got = err_set(e, ERR_INPUT,
                      "llama.cpp makes a token from any pair of tokens that it "
                      "consists of, but this tokenizer has merges only for "
                      "some of these pairs");
    if (got == 0) {
        gguf_add_text_key(h, "tokenizer.ggml.model", "llama");
        gguf_add_text_key(h, "tokenizer.ggml.pre", "default");
        add_bool_key(h, "tokenizer.ggml.add_space_prefix",
                     t->prefix != PREFIX_NONE);
        add_array_key(h, "tokenizer.ggml.scores", GGUF_F32, (size_t)n);
        for (int64_t id = 0; id < n; id++)
            add_f32(&h->keys, id < t->n_ids ? -order[id] : 0);
    }
    free(order);
    return got;
}

static void add_chat(struct gguf_head *h, const struct tokenizer *t)
{
    struct chat_template c;
    char *jinja;

    if (!chat_template_find(&c, t))
        return;
    jinja = chat_template_jinja(&c);
    gguf_add_text_key(h, "tokenizer.chat_template", jinja);
    gguf_add_u32_key(h, "tokenizer.ggml.eot_token_id", c.end);
    free(jinja);
}

int gguf_add_tokenizer(struct gguf_head *h, const struct tokenizer *t,
                       int64_t vocab, struct err *e)
{
    const int32_t eot = tokenizer_eot(t);
    int got;

    if (t->kind == TOKENIZER_CHARS)
        return err_set(e, ERR_INPUT,
                       "llama.cpp does not read tokenizers of characters");
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
            gguf_add_u32_key(h, "tokenizer.ggml.unknown_token_id", id);
    if (eot >= 0) {
        gguf_add_u32_key(h, "tokenizer.ggml.bos_token_id", eot);
        gguf_add_u32_key(h, "tokenizer.ggml.eos_token_id", eot);
    }
    add_bool_key(h, "tokenizer.ggml.add_bos_token", false);
    add_chat(h, t);
    return 0;
}
