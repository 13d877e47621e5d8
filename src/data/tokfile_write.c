#include "config.h"
#include "data/tokfile.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/path.h"
#include "common/save.h"
#include "data/json.h"
#include "data/utf8.h"

/* The name of a token in the alphabet of GPT-2's files, in UTF-8. */
static void add_name(struct buf *b, const struct tokenizer *t, int32_t id)
{
    const uint8_t *s = token_text(t, id);

    for (uint32_t i = 0; i < t->token[id].len; i++) {
        uint8_t out[UTF8_MAX];

        buf_add(b, out, utf8_put(out, bpe_byte_char(s[i])));
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
        const int32_t id = t->special[i];

        buf_printf(b, "%s\n    {\"id\": %d, \"content\": ", i > 0 ? "," : "",
                   id);
        add_json_text(b, t, id);
        buf_str(b, ", \"single_word\": false, \"lstrip\": false, \"rstrip\": "
                   "false, \"normalized\": false, \"special\": true}");
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

typedef void add_fn(struct buf *, const struct tokenizer *);

static int write_file(const struct tokenizer *t, const char *folder,
                      const char *name, add_fn *add, struct err *e)
{
    char *path = path_join(folder, name);
    struct save s = SAVE_INIT;
    struct buf text = BUF_INIT;
    int got = save_open(&s, path, e);

    if (got == 0) {
        add(&text, t);
        fwrite(text.s, 1, text.len, s.fp);
        got = save_commit(&s, e);
    }
    buf_clear(&text);
    free(path);
    return got;
}

int tokfile_write_folder(const struct tokenizer *t, const char *folder,
                         struct err *e)
{
    if (t->kind == TOKENIZER_CHARS)
        return write_file(t, folder, "meta.pkl", add_pickle, e);
    if (write_file(t, folder, "merges.txt", add_merges_txt, e) < 0 ||
        write_file(t, folder, "vocab.json", add_vocab_json, e) < 0)
        return -1;
    return write_file(t, folder, "tokenizer.json", add_tokenizer_json, e);
}
