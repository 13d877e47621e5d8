/*
 * sentencepiece - ids of tokenizers as Llama 2, Mistral and Gemma have them
 */
#include "config.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/rng.h"
#include "data/token/bpe.h"
#include "data/token/tokfile.h"
#include "t/lib/tap.h"
#include "t/unit/few_merges.h"

static bool same_ids(const struct ids *ids, const json_t *want)
{
    if (ids->n != json_array_size(want))
        return false;
    for (size_t i = 0; i < ids->n; i++)
        if (ids->id[i] != json_integer_value(json_array_get(want, i)))
            return false;
    return true;
}

/* The tokens of bytes are not in the file of this test. */
static void add_bytes(json_t *model)
{
    for (int i = 0; i < 256; i++) {
        char name[8];

        snprintf(name, sizeof name, "<0x%02X>", i);
        json_object_set_new(json_object_get(model, "vocab"), name,
                            json_integer(3 + i));
    }
}

static struct tokenizer *parse(const json_t *file, struct err *e)
{
    struct tokenizer *t = tokenizer_new(TOKENIZER_BPE, PRETOKENIZE_GPT2);
    char *text = json_dumps(file, 0);

    if (tokfile_parse_json(t, text, strlen(text), e) < 0 ||
        tokenizer_ready(t, e) < 0) {
        tokenizer_free(t);
        t = NULL;
    }
    free(text);
    return t;
}

/* What encode() is given besides a text. */
enum { PLAIN, CACHED, SPECIAL, WAYS };

static void check_rows(const struct tokenizer *t, const json_t *rows,
                       const char *name)
{
    static const char *const what[] = {
        [PLAIN] = "texts have their ids",
        [CACHED] = "texts have their ids with a cache",
        [SPECIAL] = "texts have their ids with special tokens",
    };
    struct piece_cache *cache = piece_cache_new();
    struct buf text = BUF_INIT;
    struct ids ids = { 0 };
    int bad[WAYS] = { 0 }, lost = 0;
    const json_t *row;
    size_t i;

    for (int w = 0; w < WAYS; w++) {
        struct encoder *enc = encoder_new(t, w == CACHED ? cache : NULL,
                                          w == SPECIAL ? ENCODER_SPECIAL : 0);

        json_array_foreach(rows, i, row)
        {
            const json_t *from = json_array_get(row, 0);
            const char *want = json_string_value(json_array_get(row, 3));

            ids.n = 0;
            encoder_run(enc, json_string_value(from), json_string_length(from),
                        &ids);
            bad[w] +=
                !same_ids(&ids, json_array_get(row, w == SPECIAL ? 2 : 1));
            buf_trim(&text, 0);
            tokenizer_decode(t, ids.id, ids.n, &text);
            tokenizer_drop_space(t, &text, 0);
            lost += w == PLAIN && strcmp(text.s, want) != 0;
        }
        encoder_free(enc);
        ok(json_array_size(rows) > 20 && bad[w] == 0, "%s: %s", name, what[w]);
    }
    ok(lost == 0, "%s: ids are decoded to the text of Hugging Face", name);
    ids_clear(&ids);
    buf_clear(&text);
    piece_cache_free(cache);
}

static void write_and_read(const struct tokenizer *t, const char *name)
{
    char *folder = xasprintf("%s/sentencepiece.XXXXXX",
                             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    struct tokenizer *back = NULL;
    struct err e = { 0 };

    if (!mkdtemp(folder) || tokfile_write_folder(t, folder, &e) < 0 ||
        tokenizer_load(&back, folder, &e) < 0)
        diag("%s", e.text);
    ok(back && strcmp(tokenizer_hash(back), tokenizer_hash(t)) == 0,
       "%s: the tokenizer that is written is the same", name);
    for (int i = 0; i < 3; i++) {
        static const char *const forms[] = { "merges", "tiktoken", "llmc" };

        ok(tokfile_write(t, folder, forms[i], &e) < 0 &&
               strstr(e.text, "a SentencePiece tokenizer cannot be written"),
           "%s: a form that cannot hold the tokenizer is refused: %s", name,
           forms[i]);
        e = (struct err){ 0 };
    }
    tokenizer_free(back);
    path_remove(folder, &e);
    free(folder);
}

/* Text of a few words, spaces and characters, which have no rules. */
static void make_text(struct buf *b, int n)
{
    static const char *const parts[] = {
        " the", " of", " ",    "é",  "x", "\n", "ab", "\xF0\x9F\x98\x80",
        "was",  "!",   "\xFF", "and"
    };

    for (int i = 0; i < n; i++)
        buf_str(b, parts[rng_word(3, 0, (uint64_t)i) %
                         (sizeof parts / sizeof parts[0])]);
}

/* A long text has the ids of its parts, of which none is a window of bpe.c. */
static void divided(const struct tokenizer *t, const char *name)
{
    struct buf text = BUF_INIT;
    struct ids whole = { 0 }, parts = { 0 };
    size_t at = 0;

    make_text(&text, 3000);
    tokenizer_encode(t, text.s, text.len, 0, &whole);
    while (at < text.len) {
        size_t n = text.len - at;

        if (tokenizer_boundary(t) == BOUNDARY_SPACE && n > 100) {
            n = boundary_before_space(text.s + at, 100, 0);
            n = n ? n : text.len - at;
        }
        tokenizer_encode(t, text.s + at, n, at > 0 ? ENCODER_CONTINUE : 0,
                         &parts);
        at += n;
    }
    ok(whole.n > 1000 && whole.n == parts.n &&
           memcmp(whole.id, parts.id, whole.n * sizeof *whole.id) == 0,
       "%s: the parts of a text have the ids of the whole", name);
    ids_clear(&whole);
    ids_clear(&parts);
    buf_clear(&text);
}

/* The text as one piece of known characters. */
static void long_piece(const struct tokenizer *t, const char *name)
{
    struct buf text = BUF_INIT;
    struct ids ids = { 0 };
    int32_t *want;
    size_t n = 0, got;

    for (int i = 0; i < 2000; i++) {
        static const char *const parts[] = { "a", "n", "d", "th", "e", "é" };

        buf_str(&text, parts[rng_word(5, 0, (uint64_t)i) % 6]);
    }
    want = xcalloc(text.len, sizeof *want);
    for (size_t i = 0; i < text.len; n++) {
        const size_t len = (text.s[i] & 0x80) ? 2 : 1;

        want[n] = tokenizer_find(t, text.s + i, len);
        i += len;
    }
    n = merge_slowly(t, want, n);
    ids_reserve(&ids, text.len);
    got = bpe_piece(t, (const uint8_t *)text.s, text.len, ids.id);
    ok(got == n && memcmp(ids.id, want, n * sizeof *want) == 0,
       "%s: a long piece is merged as the definition says", name);
    free(want);
    ids_clear(&ids);
    buf_clear(&text);
}

static void check_line(const char *line)
{
    json_t *o = json_loads(line, JSON_ALLOW_NUL, NULL);
    json_t *file = json_object_get(o, "tokenizer");
    json_t *model = json_object_get(file, "model");
    const char *name = json_string_value(json_object_get(o, "name"));
    struct err e = { 0 };
    struct tokenizer *t;

    if (json_is_true(json_object_get(model, "byte_fallback")))
        add_bytes(model);
    t = parse(file, &e);
    if (!ok(t, "%s: the file is read", name))
        diag("%s", e.text);
    if (t) {
        check_rows(t, json_object_get(o, "rows"), name);
        write_and_read(t, name);
        divided(t, name);
        if (tokenizer_find(t, "é", 2) >= 0)
            long_piece(t, name);
        tokenizer_free(t);
    }
    json_decref(o);
}

static void known_texts(void)
{
    const char *top = getenv("top_srcdir");
    char *path =
        xasprintf("%s/t/reference/sentencepiece.json", top ? top : ".");
    FILE *fp = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;

    ok(fp, "the known tokenizers are there");
    while (fp && getline(&line, &room, fp) > 0)
        check_line(line);
    if (fp)
        fclose(fp);
    free(line);
    free(path);
}

#define MARK "\xE2\x96\x81"
#define REPLACE                                                                \
    "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},"     \
    "\"content\":\"" MARK "\"},"
#define VOCAB "\"vocab\":{\"" MARK "\":0,\"a\":1,\"<unk>\":2}"

/* What would give other ids is refused, and the message says why. */
static void refused(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "{" REPLACE "\"model\":{" VOCAB ",\"merges\":[]}}",
          "there is neither byte_fallback nor a token unk_token" },
        { "{" REPLACE "\"model\":{" VOCAB
          ",\"merges\":[],\"unk_token\":\"b\"}}",
          "there is neither byte_fallback nor a token unk_token" },
        { "{" REPLACE "\"model\":{" VOCAB ",\"merges\":[],\"byte_fallback\":"
          "true}}",
          "byte_fallback needs the token <0x00>" },
        { "{" REPLACE "\"model\":{\"vocab\":{\"a\":0},\"merges\":[],"
          "\"unk_token\":\"a\"}}",
          "U+2581 is not in the vocabulary" },
        { "{" REPLACE "\"model\":{\"vocab\":{\"" MARK "\":0,\"a\":1,\"a" MARK
          "\":2},\"merges\":[[\"a\",\"" MARK "\"]],\"unk_token\":\"a\"}}",
          "a merge with unk_token is not supported" },
        { "{" REPLACE
          "\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"model\":{" VOCAB
          ",\"merges\":[]}}",
          "beside ByteLevel is not supported" },
        { "{" REPLACE "\"pre_tokenizer\":{\"type\":\"Metaspace\"}}",
          "Metaspace with another such rule is not" },
        { "{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\"}}",
          "a Metaspace other than U+2581 is not" },
        { "{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" MARK
          "\",\"prepend_scheme\":\"last\"}}",
          "this prepend_scheme" },
        { "{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" MARK
          "\",\"add_prefix_space\":false}}",
          "that is not its prepend_scheme" },
        { "{\"normalizer\":{\"type\":\"Prepend\",\"prepend\":\"" MARK "\"}}",
          "Prepend without Replace is not" },
        { "{\"normalizer\":{\"type\":\"Prepend\",\"prepend\":\"x\"}}",
          "a normalizer that prepends anything but U+2581" },
        { "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" \"},"
          "\"content\":\"" MARK "\"}}",
          "that replaces anything but spaces" },
        { "{\"normalizer\":{\"type\":\"Precompiled\"}}",
          "normalizer Precompiled is not" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tokenizer *t = tokenizer_new(TOKENIZER_BPE, PRETOKENIZE_GPT2);
        struct err e = { 0 };
        const int got =
            tokfile_parse_json(t, cases[i].text, strlen(cases[i].text), &e);

        if (!ok(got < 0 && strstr(e.text, cases[i].want),
                "a file is refused (%zu): %s", i, cases[i].want))
            diag("%d %s", got, e.text);
        tokenizer_free(t);
    }
}

int main(void)
{
    known_texts();
    refused();
    return done_testing();
}
