/*
 * tokfile_write - a tokenizer in the forms of other programs
 */
#include "config.h"
#include "data/token/tokfile.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/path.h"
#include "common/save.h"
#include "common/utf8.h"

static void quote_char(struct buf *b, uint32_t c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *at = c && c < 0x80 ? strchr(from, (int)c) : NULL;

    if (at)
        buf_printf(b, "\\%c", to[at - from]);
    else if (c >= 0x20 && c < 0x7F)
        buf_char(b, (char)c);
    else if (c < 0x10000)
        buf_printf(b, "\\u%04x", c);
    else
        buf_printf(b, "\\u%04x\\u%04x", 0xD7C0 + (c >> 10),
                   0xDC00 + (c & 0x3FF));
}

/*
 * A JSON string in the form of OpenAI's encoder.json: ASCII, with lower-case
 * hexadecimal digits.  (jansson writes upper-case digits.)
 */
static void quote_text(struct buf *b, const void *text, size_t n)
{
    const uint8_t *p = text, *const end = p + n;

    buf_char(b, '"');
    while (p < end) {
        uint32_t c;

        p += utf8_decode(p, end, &c);
        quote_char(b, c == UTF8_BAD ? UTF8_REPLACEMENT : c);
    }
    buf_char(b, '"');
}

void tokfile_quote(struct buf *b, const struct tokenizer *t, int32_t id)
{
    quote_text(b, token_text(t, id), t->token[id].len);
}

/* Append the name of a token in the alphabet of GPT-2's files, in UTF-8. */
static void add_name(struct buf *b, const struct tokenizer *t, int32_t id)
{
    const uint8_t *s = token_text(t, id);

    for (uint32_t i = 0; i < t->token[id].len; i++) {
        uint8_t out[UTF8_MAX];

        buf_add(b, out, utf8_encode(out, bpe_byte_char(s[i])));
    }
}

static void quote_name(struct buf *b, const struct tokenizer *t, int32_t id)
{
    struct buf name = BUF_INIT;

    add_name(&name, t, id);
    quote_text(b, name.s, name.len);
    buf_clear(&name);
}

static void add_vocab(struct buf *b, const struct tokenizer *t,
                      const char *indent)
{
    const char *comma = "";

    for (int32_t id = 0; id < t->n_ids; id++) {
        if (t->token[id].len == 0)
            continue;
        buf_printf(b, "%s%s", comma, indent);
        (token_is_special(t, id) ? tokfile_quote : quote_name)(b, t, id);
        buf_printf(b, ": %d", id);
        comma = ",";
    }
}

static void add_specials(struct buf *b, const struct tokenizer *t)
{
    for (size_t i = 0; i < t->n_specials; i++) {
        const int32_t id = t->special[i].id;

        buf_printf(b, "%s\n    {\"id\": %d, \"content\": ", i > 0 ? "," : "",
                   id);
        tokfile_quote(b, t, id);
        buf_printf(b,
                   ", \"single_word\": false, \"lstrip\": false, \"rstrip\": "
                   "false, \"normalized\": false, \"special\": %s}",
                   t->special[i].always ? "false" : "true");
    }
    buf_str(b, t->n_specials > 0 ? "\n  " : "");
}

static void add_merges(struct buf *b, const struct tokenizer *t)
{
    for (size_t i = 0; i < t->n_merges; i++) {
        buf_str(b, i > 0 ? ",\n      [" : "\n      [");
        quote_name(b, t, t->merge[i].left);
        buf_str(b, ", ");
        quote_name(b, t, t->merge[i].right);
        buf_char(b, ']');
    }
    buf_str(b, t->n_merges > 0 ? "\n    " : "");
}

static void add_pretokenizer(struct buf *b, enum pretokenizer kind)
{
    static const char byte_level[] =
        "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
        "\"trim_offsets\": true, \"use_regex\": %s}";
    const char *pattern = pretokenize_pattern(kind);

    if (kind == PRETOKENIZE_GPT2) {
        buf_printf(b, byte_level, "true");
        return;
    }
    buf_str(b, "{\"type\": \"Sequence\", \"pretokenizers\": [\n    {\"type\": "
               "\"Split\", \"pattern\": {\"Regex\": ");
    quote_text(b, pattern, strlen(pattern));
    buf_str(b, "}, \"behavior\": \"Isolated\", \"invert\": false},\n    ");
    buf_printf(b, byte_level, "false");
    buf_str(b, "]}");
}

static int add_tokenizer_json(struct buf *b, const struct tokenizer *t,
                              struct err *e)
{
    (void)e;
    buf_str(b, "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n"
               "  \"padding\": null,\n  \"added_tokens\": [");
    add_specials(b, t);
    buf_printf(b, "],\n  \"normalizer\": %s,\n  \"pre_tokenizer\": ",
               t->nfc ? "{\"type\": \"NFC\"}" : "null");
    add_pretokenizer(b, t->pretokenizer);
    buf_str(b, ",\n  \"post_processor\": null,\n  \"decoder\": {\"type\": "
               "\"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": "
               "true, \"use_regex\": true},\n  \"model\": {\n    \"type\": "
               "\"BPE\",\n    \"dropout\": null,\n    \"unk_token\": null,\n"
               "    \"continuing_subword_prefix\": null,\n    "
               "\"end_of_word_suffix\": null,\n    \"fuse_unk\": false,\n"
               "    \"byte_fallback\": false,\n");
    buf_printf(b, "    \"ignore_merges\": %s,\n    \"vocab\": {",
               t->whole ? "true" : "false");
    add_vocab(b, t, "\n      ");
    buf_str(b, "\n    },\n    \"merges\": [");
    add_merges(b, t);
    buf_str(b, "]\n  }\n}\n");
    return 0;
}

static int add_merges_txt(struct buf *b, const struct tokenizer *t,
                          struct err *e)
{
    (void)e;
    buf_str(b, "#version: 0.2\n");
    for (size_t i = 0; i < t->n_merges; i++) {
        add_name(b, t, t->merge[i].left);
        buf_char(b, ' ');
        add_name(b, t, t->merge[i].right);
        buf_char(b, '\n');
    }
    return 0;
}

static int add_vocab_json(struct buf *b, const struct tokenizer *t,
                          struct err *e)
{
    (void)e;
    buf_char(b, '{');
    add_vocab(b, t, "\n");
    buf_str(b, "\n}\n");
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
static int add_pickle(struct buf *b, const struct tokenizer *t, struct err *e)
{
    (void)e;
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
        return err_set(e, ERR_INPUT,
                       "llm.c's file needs an end-of-text token, which this "
                       "tokenizer does not have");
    buf_add(b, header, sizeof header);
    for (int32_t id = 0; id < t->n_ids; id++) {
        const uint32_t n = t->token[id].len;

        if (n == 0 || n > 255)
            return err_set(e, ERR_INPUT,
                           "id %d has %u bytes; a token in llm.c's file has 1 "
                           "to 255",
                           id, n);
        buf_char(b, (char)n);
        buf_add(b, token_text(t, id), n);
    }
    return 0;
}

typedef int content_fn(struct buf *, const struct tokenizer *, struct err *);

static const struct form {
    const char *name;
    bool chars;
    struct {
        const char *file;
        content_fn *content;
    } file[2];
} forms[] = {
    { "hf", false, { { "tokenizer.json", add_tokenizer_json } } },
    { "merges",
      false,
      { { "merges.txt", add_merges_txt }, { "vocab.json", add_vocab_json } } },
    { "gpt2",
      false,
      { { "vocab.bpe", add_merges_txt }, { "encoder.json", add_vocab_json } } },
    { "tiktoken", false, { { "tokenizer.tiktoken", tokfile_add_tiktoken } } },
    { "llmc", false, { { "gpt2_tokenizer.bin", add_llmc } } },
    { "nanogpt", true, { { "meta.pkl", add_pickle } } },
};

static int write_file(const struct tokenizer *t, const char *folder,
                      const char *name, content_fn *content, struct err *e)
{
    char *path = path_join(folder, name);
    struct save s = SAVE_INIT;
    struct buf text = BUF_INIT;
    int got = content(&text, t, e);

    if (got < 0)
        err_wrap(e, "%s", path);
    else
        got = save_open(&s, path, e);
    if (got == 0) {
        fwrite(text.s, 1, text.len, s.fp);
        got = save_commit(&s, e);
    }
    buf_clear(&text);
    free(path);
    return got;
}

int tokfile_write(const struct tokenizer *t, const char *folder,
                  const char *form, struct err *e)
{
    const struct form *k = forms;
    const struct form *const end = forms + sizeof forms / sizeof forms[0];

    while (k < end && strcmp(k->name, form) != 0)
        k++;
    if (k == end)
        return err_set(e, ERR_USAGE,
                       "'%s' is not a form of tokenizer files; use hf, merges, "
                       "gpt2, tiktoken, llmc or nanogpt",
                       form);
    if (k->chars != (t->kind == TOKENIZER_CHARS))
        return err_set(e, ERR_USAGE, "a %s tokenizer cannot be written as %s",
                       k->chars ? "BPE" : "character", form);
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
    if (tokfile_write(t, folder, "merges", e) < 0)
        return -1;
    return tokfile_write(t, folder, "hf", e);
}
