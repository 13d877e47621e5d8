/*
 * tokfile_write - a tokenizer in the forms of other programs
 */
#include "config.h"
#include "data/token/tokfile.h"

#include <jansson.h>
#include <string.h>

#include "common/output/emit.h"
#include "common/path.h"
#include "common/save.h"
#include "common/utf8.h"
#include "data/token/bpe.h"

/* Append the name of a token as SentencePiece's files have it. */
static void add_marked_name(struct buf *b, const struct tokenizer *t,
                            int32_t id)
{
    const uint8_t *s = token_text(t, id);

    if (t->token[id].len == 1 && t->byte_id[*s] == id)
        buf_printf(b, "<0x%02X>", *s);
    else
        sentencepiece_add_marks(b, s, t->token[id].len);
}

void tokfile_add_name(struct buf *b, const struct tokenizer *t, int32_t id)
{
    const uint8_t *s = token_text(t, id);

    if (t->kind == TOKENIZER_SENTENCEPIECE) {
        add_marked_name(b, t, id);
        return;
    }
    for (uint32_t i = 0; i < t->token[id].len; i++) {
        uint8_t out[UTF8_MAX];

        buf_add(b, out, utf8_encode(out, bpe_byte_char(s[i])));
    }
}

static void emit_name(struct emit *o, const char *key,
                      const struct tokenizer *t, int32_t id)
{
    AUTO(buf_clear) struct buf name = BUF_INIT;

    tokfile_add_name(&name, t, id);
    emit_bytes(o, key, name.s, name.len);
}

/* The number of ids in the vocabulary.  In SentencePiece's tokenizers, a token
 * that was only added must not become one that merges can make. */
static int32_t vocab_size(const struct tokenizer *t)
{
    int32_t n = t->n_ids;

    while (t->kind == TOKENIZER_SENTENCEPIECE && n > 0 &&
           tokenizer_find_special(t, n - 1) &&
           tokenizer_find(t, token_text(t, n - 1), t->token[n - 1].len) !=
               n - 1)
        n--;
    return n;
}

static void emit_vocab(struct emit *o, const struct tokenizer *t)
{
    const int32_t n = vocab_size(t);
    AUTO(buf_clear) struct buf name = BUF_INIT, member = BUF_INIT;

    for (int32_t id = 0; id < n; id++) {
        const struct special *s = tokenizer_find_special(t, id);

        if (t->token[id].len == 0)
            continue;
        buf_trim(&name, 0);
        buf_trim(&member, 0);
        if (s)
            buf_add(&name, t->text + s->name.at, s->name.len);
        else
            tokfile_add_name(&name, t, id);
        emit_quote(&member, name.s, name.len, true);
        buf_printf(&member, ": %d", id);
        emit_raw(o, NULL, member.s); /* a name may hold NUL */
    }
}

static void emit_specials(struct emit *o, const struct tokenizer *t)
{
    emit_array(o, "added_tokens");
    for (size_t i = 0; i < t->n_specials; i++) {
        const struct special *s = &t->special[i];

        emit_object(o, NULL);
        emit_int(o, "id", s->id);
        emit_bytes(o, "content", t->text + s->name.at, s->name.len);
        emit_bool(o, "single_word", s->flags & SPECIAL_WORD);
        emit_bool(o, "lstrip", s->flags & SPECIAL_LSTRIP);
        emit_bool(o, "rstrip", s->flags & SPECIAL_RSTRIP);
        emit_bool(o, "normalized", s->flags & SPECIAL_NORMALIZED);
        emit_bool(o, "special", ~s->flags & SPECIAL_ALWAYS);
        emit_object_end(o);
    }
    emit_array_end(o);
}

static void emit_merges(struct emit *o, const struct tokenizer *t)
{
    emit_array(o, "merges");
    for (size_t i = 0; i < t->n_merges; i++) {
        emit_array(o, NULL);
        emit_name(o, NULL, t, t->merge[i].left);
        emit_name(o, NULL, t, t->merge[i].right);
        emit_array_end(o);
    }
    emit_array_end(o);
}

/* ---- the rules of tokenizer.json ----------------------------------------*/

static json_t *byte_level(bool space, bool regex)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel",
                     "add_prefix_space", space, "trim_offsets", true,
                     "use_regex", regex);
}

static json_t *replace(const char *from, const char *to)
{
    return json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern",
                     "String", from, "content", to);
}

static json_t *metaspace(const struct tokenizer *t)
{
    static const char *const schemes[] = { [PREFIX_NONE] = "never",
                                           [PREFIX_ALWAYS] = "always",
                                           [PREFIX_UNLESS_SPACE] = "always",
                                           [PREFIX_FIRST] = "first" };

    return json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement",
                     SENTENCEPIECE_SPACE, "prepend_scheme", schemes[t->prefix],
                     "split", t->pretokenizer == PRETOKENIZE_SPACES);
}

static json_t *pretokenizer(const struct tokenizer *t)
{
    json_t *split;

    if (t->kind == TOKENIZER_SENTENCEPIECE)
        return t->metaspace ? metaspace(t) : NULL;
    if (t->pretokenizer == PRETOKENIZE_GPT2)
        return byte_level(false, true);
    split = json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern",
                      "Regex", pretokenize_pattern(t->pretokenizer), "behavior",
                      "Isolated", "invert", false);
    return json_pack("{s:s, s:[o, o]}", "type", "Sequence", "pretokenizers",
                     split, byte_level(false, false));
}

static json_t *normalizer(const struct tokenizer *t)
{
    json_t *nfc = t->nfc ? json_pack("{s:s}", "type", "NFC") : NULL, *list;

    if (t->kind != TOKENIZER_SENTENCEPIECE || t->metaspace)
        return nfc;
    list = json_array();
    if (nfc)
        json_array_append_new(list, nfc);
    if (t->prefix == PREFIX_ALWAYS)
        json_array_append_new(list, json_pack("{s:s, s:s}", "type", "Prepend",
                                              "prepend", SENTENCEPIECE_SPACE));
    json_array_append_new(list, replace(" ", SENTENCEPIECE_SPACE));
    return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", list);
}

static json_t *decoder(const struct tokenizer *t)
{
    json_t *list;

    if (t->kind != TOKENIZER_SENTENCEPIECE)
        return byte_level(true, true);
    list = json_pack("[o, {s:s}, {s:s}]", replace(SENTENCEPIECE_SPACE, " "),
                     "type", "ByteFallback", "type", "Fuse");
    if (t->prefix != PREFIX_NONE)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:i, s:i}", "type", "Strip",
                                        "content", " ", "start", 1, "stop", 0));
    return json_pack("{s:s, s:o}", "type", "Sequence", "decoders", list);
}

/* A rule, or NULL. */
static void emit_rule(struct emit *o, const char *key, json_t *rule)
{
    AUTO_FREE char *text = rule ? json_dumps(rule, JSON_ENSURE_ASCII) : NULL;

    emit_raw(o, key, text ? text : "null");
    json_decref(rule);
}

/* ---- files --------------------------------------------------------------- */

static void emit_model(struct emit *o, const struct tokenizer *t)
{
    const bool bytes = t->kind == TOKENIZER_SENTENCEPIECE && t->unknown < 0;

    emit_object(o, "model");
    o->lines = 2;
    emit_text(o, "type", "BPE");
    emit_null(o, "dropout");
    if (t->unknown >= 0)
        emit_name(o, "unk_token", t, t->unknown);
    else
        emit_null(o, "unk_token");
    emit_null(o, "continuing_subword_prefix");
    emit_null(o, "end_of_word_suffix");
    emit_bool(o, "fuse_unk", t->fuse_unknown);
    emit_bool(o, "byte_fallback", bytes);
    emit_bool(o, "ignore_merges", t->whole);
    o->lines = 3;
    emit_object(o, "vocab");
    emit_vocab(o, t);
    emit_object_end(o);
    emit_merges(o, t);
    emit_object_end(o);
}

static int add_tokenizer_json(struct buf *b, const struct tokenizer *t,
                              struct err *e UNUSED)
{
    struct emit o = { b, .spaced = true, .ascii = true, .lines = 1 };

    emit_object(&o, NULL);
    emit_text(&o, "version", "1.0");
    emit_null(&o, "truncation");
    emit_null(&o, "padding");
    o.lines = 2;
    emit_specials(&o, t);
    o.lines = 1;
    emit_rule(&o, "normalizer", normalizer(t));
    emit_rule(&o, "pre_tokenizer", pretokenizer(t));
    emit_null(&o, "post_processor");
    emit_rule(&o, "decoder", decoder(t));
    emit_model(&o, t);
    emit_object_end(&o);
    emit_newline(&o);
    return 0;
}

static int add_merges_txt(struct buf *b, const struct tokenizer *t,
                          struct err *e UNUSED)
{
    buf_str(b, "#version: 0.2\n");
    for (size_t i = 0; i < t->n_merges; i++) {
        tokfile_add_name(b, t, t->merge[i].left);
        buf_char(b, ' ');
        tokfile_add_name(b, t, t->merge[i].right);
        buf_char(b, '\n');
    }
    return 0;
}

static int add_vocab_json(struct buf *b, const struct tokenizer *t,
                          struct err *e UNUSED)
{
    struct emit o = { b, .spaced = true, .ascii = true, .lines = 1,
                      .no_indent = true };

    emit_object(&o, NULL);
    emit_vocab(&o, t);
    emit_object_end(&o);
    emit_newline(&o);
    return 0;
}

static void pickle_int(struct buf *b, int64_t n)
{
    buf_char(b, 'J');
    for (int i = 0; i < 4; i++)
        buf_char(b, (char)(n >> (8 * i)));
}

static void pickle_text(struct buf *b, const void *s, size_t n)
{
    buf_char(b, 'X');
    for (int i = 0; i < 4; i++)
        buf_char(b, (char)(n >> (8 * i)));
    buf_add(b, s, n);
}

/* { "vocab_size": n, "itos": { id: char }, "stoi": { char: id } } */
static int add_pickle(struct buf *b, const struct tokenizer *t,
                      struct err *e UNUSED)
{
    buf_str(b, "\x80\x02}(");
    pickle_text(b, "vocab_size", 10);
    pickle_int(b, t->n_ids);
    pickle_text(b, "itos", 4);
    buf_str(b, "}(");
    for (int32_t id = 0; id < t->n_ids; id++) {
        pickle_int(b, id);
        pickle_text(b, token_text(t, id), t->token[id].len);
    }
    buf_char(b, 'u');
    pickle_text(b, "stoi", 4);
    buf_str(b, "}(");
    for (int32_t id = 0; id < t->n_ids; id++) {
        pickle_text(b, token_text(t, id), t->token[id].len);
        pickle_int(b, id);
    }
    buf_str(b, "uu.");
    return 0;
}

/* llm.c's gpt2_tokenizer.bin: a header, then the length and bytes of each
 * token.
 */
static int add_llmc(struct buf *b, const struct tokenizer *t, struct err *e)
{
    uint32_t header[256] = { 20240328, 2, (uint32_t)t->n_ids,
                             (uint32_t)t->eot };

    if (t->eot < 0)
        return err_input(e,
                         "llm.c's file needs an end-of-text token, which this "
                         "tokenizer does not have");
    buf_add(b, header, sizeof header);
    for (int32_t id = 0; id < t->n_ids; id++) {
        const uint32_t n = t->token[id].len;

        if (n == 0 || n > 255)
            return err_input(
                e, "id %d has %u bytes; a token in llm.c's file has 1 to 255",
                id, n);
        buf_char(b, (char)n);
        buf_add(b, token_text(t, id), n);
    }
    return 0;
}

typedef int content_fn(struct buf *, const struct tokenizer *, struct err *);

enum { BPE = 1 << TOKENIZER_BPE, CHARS = 1 << TOKENIZER_CHARS };
enum { SENTENCEPIECE = 1 << TOKENIZER_SENTENCEPIECE };

static const struct form {
    const char *name;
    int kinds; /* of tokenizers that have this form */
    struct {
        const char *file;
        content_fn *content;
    } file[2];
} forms[] = {
    { "hf", BPE | SENTENCEPIECE, { { "tokenizer.json", add_tokenizer_json } } },
    { "merges",
      BPE,
      { { "merges.txt", add_merges_txt }, { "vocab.json", add_vocab_json } } },
    { "gpt2",
      BPE,
      { { "vocab.bpe", add_merges_txt }, { "encoder.json", add_vocab_json } } },
    { "tiktoken", BPE, { { "tokenizer.tiktoken", tokfile_add_tiktoken } } },
    { "llmc", BPE, { { "gpt2_tokenizer.bin", add_llmc } } },
    { "nanogpt", CHARS, { { "meta.pkl", add_pickle } } },
};

static int write_file(const struct tokenizer *t, const char *folder,
                      const char *name, content_fn *content, struct err *e)
{
    AUTO_FREE char *path = path_join(folder, name);
    AUTO(buf_clear) struct buf text = BUF_INIT;
    int got = content(&text, t, e);

    if (got < 0)
        err_wrap(e, "%s", path);
    else
        got = save_bytes(path, text.s, text.len, e);
    return got;
}

int tokfile_write(const struct tokenizer *t, const char *folder,
                  const char *form, struct err *e)
{
    static const char *const kinds[] = {
        [TOKENIZER_BPE] = "BPE",
        [TOKENIZER_CHARS] = "character",
        [TOKENIZER_SENTENCEPIECE] = "SentencePiece",
    };
    const struct form *k = forms;
    const struct form *const end = forms + sizeof forms / sizeof forms[0];

    while (k < end && strcmp(k->name, form) != 0)
        k++;
    if (k == end)
        return err_usage(e,
                         "'%s' is not a form of tokenizer files; use hf, "
                         "merges, gpt2, tiktoken, llmc or nanogpt",
                         form);
    if (!(k->kinds & 1 << t->kind))
        return err_usage(e, "a %s tokenizer cannot be written as %s",
                         kinds[t->kind], form);
    for (int i = 0; i < 2 && k->file[i].file; i++)
        if (write_file(t, folder, k->file[i].file, k->file[i].content, e) < 0)
            return -1;
    return 0;
}

int tokfile_write_folder(const struct tokenizer *t, const char *folder,
                         struct err *e)
{
    if (t->kind == TOKENIZER_CHARS)
        return tokfile_write(t, folder, "nanogpt", e);
    if (t->kind == TOKENIZER_BPE && tokfile_write(t, folder, "merges", e) < 0)
        return -1;
    return tokfile_write(t, folder, "hf", e);
}
