#include "config.h"
#include "data/token/tokfile.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/path.h"
#include "common/save.h"
#include "common/utf8.h"
#include "data/token/json.h"

/* The name of a token in the alphabet of GPT-2's files, in UTF-8. */
static void add_name(struct buf *b, const struct tokenizer *t, int32_t id)
{
    const uint8_t *s = token_text(t, id);

    for (uint32_t i = 0; i < t->token[id].len; i++) {
        uint8_t out[UTF8_MAX];

        buf_add(b, out, utf8_encode(out, bpe_byte_char(s[i])));
    }
}

static void add_json_name(struct buf *b, const struct tokenizer *t, int32_t id)
{
    struct buf name = BUF_INIT;

    add_name(&name, t, id);
    json_quote(b, name.s, name.len);
    buf_clear(&name);
}

static void add_json_text(struct buf *b, const struct tokenizer *t, int32_t id)
{
    json_quote(b, (const char *)token_text(t, id), t->token[id].len);
}

static void add_vocab(struct buf *b, const struct tokenizer *t,
                      const char *indent)
{
    const char *comma = "";

    for (int32_t id = 0; id < t->n_ids; id++) {
        if (t->token[id].len == 0)
            continue;
        buf_printf(b, "%s%s", comma, indent);
        (token_is_special(t, id) ? add_json_text : add_json_name)(b, t, id);
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
        add_json_text(b, t, id);
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
        add_json_name(b, t, t->merge[i].left);
        buf_str(b, ", ");
        add_json_name(b, t, t->merge[i].right);
        buf_char(b, ']');
    }
    buf_str(b, t->n_merges > 0 ? "\n    " : "");
}

static void add_pre_tokenizer(struct buf *b, enum split split)
{
    static const char byte_level[] =
        "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
        "\"trim_offsets\": true, \"use_regex\": %s}";
    const char *pattern = split_pattern(split);

    if (split == SPLIT_GPT2) {
        buf_printf(b, byte_level, "true");
        return;
    }
    buf_str(b, "{\"type\": \"Sequence\", \"pretokenizers\": [\n    {\"type\": "
               "\"Split\", \"pattern\": {\"Regex\": ");
    json_quote(b, pattern, strlen(pattern));
    buf_str(b, "}, \"behavior\": \"Isolated\", \"invert\": false},\n    ");
    buf_printf(b, byte_level, "false");
    buf_str(b, "]}");
}

static void add_tokenizer_json(struct buf *b, const struct tokenizer *t)
{
    buf_str(b, "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n"
               "  \"padding\": null,\n  \"added_tokens\": [");
    add_specials(b, t);
    buf_str(b, "],\n  \"normalizer\": null,\n  \"pre_tokenizer\": ");
    add_pre_tokenizer(b, t->split);
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
}

static void add_merges_txt(struct buf *b, const struct tokenizer *t)
{
    buf_str(b, "#version: 0.2\n");
    for (size_t i = 0; i < t->n_merges; i++) {
        add_name(b, t, t->merge[i].left);
        buf_char(b, ' ');
        add_name(b, t, t->merge[i].right);
        buf_char(b, '\n');
    }
}

static void add_vocab_json(struct buf *b, const struct tokenizer *t)
{
    buf_char(b, '{');
    add_vocab(b, t, "\n");
    buf_str(b, "\n}\n");
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
static void add_pickle(struct buf *b, const struct tokenizer *t)
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
}

static int json_of(struct buf *b, const struct tokenizer *t, struct err *e)
{
    (void)e;
    add_tokenizer_json(b, t);
    return 0;
}

static int merges_of(struct buf *b, const struct tokenizer *t, struct err *e)
{
    (void)e;
    add_merges_txt(b, t);
    return 0;
}

static int vocab_of(struct buf *b, const struct tokenizer *t, struct err *e)
{
    (void)e;
    add_vocab_json(b, t);
    return 0;
}

static int pickle_of(struct buf *b, const struct tokenizer *t, struct err *e)
{
    (void)e;
    add_pickle(b, t);
    return 0;
}

/* llm.c's gpt2_tokenizer.bin: a header, then a length and the bytes of each. */
static int llmc_of(struct buf *b, const struct tokenizer *t, struct err *e)
{
    uint32_t header[256] = { 20240328, 2, (uint32_t)t->n_ids,
                             (uint32_t)t->eot };

    if (t->eot < 0)
        return err_set(e, ERR_INPUT,
                       "llm.c's file needs a token that ends "
                       "documents");
    buf_add(b, header, sizeof header);
    for (int32_t id = 0; id < t->n_ids; id++) {
        const uint32_t n = t->token[id].len;

        if (n == 0 || n > 255)
            return err_set(e, ERR_INPUT,
                           "id %d stands for %u bytes; llm.c's "
                           "file can hold 1 to 255",
                           id, n);
        buf_char(b, (char)n);
        buf_add(b, token_text(t, id), n);
    }
    return 0;
}

typedef int content_fn(struct buf *, const struct tokenizer *, struct err *);

static const struct kind {
    const char *name;
    bool chars;
    struct {
        const char *file;
        content_fn *content;
    } file[2];
} kinds[] = {
    { "hf", false, { { "tokenizer.json", json_of } } },
    { "merges",
      false,
      { { "merges.txt", merges_of }, { "vocab.json", vocab_of } } },
    { "gpt2",
      false,
      { { "vocab.bpe", merges_of }, { "encoder.json", vocab_of } } },
    { "tiktoken", false, { { "tokenizer.tiktoken", tokfile_add_tiktoken } } },
    { "llmc", false, { { "gpt2_tokenizer.bin", llmc_of } } },
    { "nanogpt", true, { { "meta.pkl", pickle_of } } },
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
                  const char *kind, struct err *e)
{
    const struct kind *k = kinds;
    const struct kind *const end = kinds + sizeof kinds / sizeof kinds[0];

    while (k < end && strcmp(k->name, kind) != 0)
        k++;
    if (k == end)
        return err_set(e, ERR_USAGE,
                       "'%s' is no kind of tokenizer file: hf, "
                       "merges, gpt2, tiktoken, llmc or nanogpt",
                       kind);
    if (k->chars != (t->kind == TOKENIZER_CHARS))
        return err_set(e, ERR_USAGE,
                       "a tokenizer of %s cannot be written as "
                       "%s",
                       k->chars ? "BPE" : "characters", kind);
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
