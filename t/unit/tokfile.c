/*
 * tokfile - the files of tokenizers, read and written
 */
#include "config.h"
#include "data/token/tokfile.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/utf8.h"
#include "t/lib/tap.h"
#include "t/unit/few_merges.h"

/* Every reader of files must say what it does not like. */
static void broken_files(void)
{
    static const struct {
        const char *text, *want;
    } merges[] = {
        { "a\n", "line 1: expected two names" },
        { "a b\n\nab q c\n", "line 3: expected two names" },
        { "zz b\n", "line 1: 'zz' is not a known token" },
        { "a b\na b\n", "line 2: ids 256 and 257 have the same bytes" },
        { "a \xC5\x84\n", "a character stands for no byte" },
    }, tiktoken[] = {
        { "IQ== 0\nIg== x\n", "line 2: the rank is not a number" },
        { "IQ== 0\n?Q== 1\n", "line 2: expected a token in Base64" },
        { "IQ==\n", "line 1: expected a token in Base64" },
        { "IQ== 0\nIg== 0\n", "line 2: two tokens have the id 0" },
        { "IQ== 0\nIQ== 1\n", "line 2: ids 0 and 1 have the same bytes" },
        { "IQ== 3000000\n", "id 3000000 is not between" },
    }, model[] = {
        { "\n\x0E\n\x05<unk>", "SentencePiece's own file is not supported" },
    }, json[] = {
        { "", "line 1, column 0: " },
        { "{}", "there is no model" },
        { "{\"model\":{\"type\":\"WordPiece\"}}",
          "a model other than BPE is not" },
        { "{\"normalizer\":{\"type\":\"NFKC\"}}", "normalizer NFKC is not" },
        { "{\"pre_tokenizer\":{\"type\":\"Metaspace\"}}",
          "a Metaspace other than U+2581 is not" },
        { "{\"pre_tokenizer\":{\"type\":\"Whitespace\"}}",
          "pre-tokenizer Whitespace is not" },
        { "{\"pre_tokenizer\":{\"type\":\"ByteLevel\","
          "\"add_prefix_space\":true}}", "add_prefix_space is not" },
        { "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":"
          "{\"Regex\":\"a+\"}}}", "pattern of the pre-tokenizer is none of" },
        { "{\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Removed\","
          "\"invert\":false}}", "that removes text is not" },
        { "{\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":"
          "\"Contiguous\"}}", "that joins pieces (Contiguous) is not" },
        { "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":["
          "{\"type\":\"ByteLevel\"},{\"type\":\"ByteLevel\"}]}}",
          "ByteLevel twice is not" },
        { "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":["
          "{\"type\":\"ByteLevel\"},{\"type\":\"Split\",\"pattern\":{}}]}}",
          "a Split after ByteLevel is not" },
        { "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":"
          "\"'(?:[sdmt]|ll|ve|re)| ?\\\\p{L}+| ?\\\\p{N}+| ?[^\\\\s\\\\p{L}"
          "\\\\p{N}]+|\\\\s+(?!\\\\S)|\\\\s+\"}},"
          "\"model\":{\"vocab\":{\"a\":0},\"merges\":[]}}",
          "there is neither a pre-tokenizer ByteLevel nor" },
        { "{\"added_tokens\":[{\"id\":2,\"content\":\"x\"}],"
          "\"pre_tokenizer\":{\"type\":\"ByteLevel\"},"
          "\"model\":{\"vocab\":{\"a\":0},\"merges\":[]}}",
          "'x' has id 2, but Hugging Face's tokenizers would give it id 1" },
        { "{\"model\":{\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}",
          "model.vocab: two tokens have the id 0" },
        { "{\"model\":{\"vocab\":{\"a\":0,\"a\":1},\"merges\":[]}}",
          "model.vocab: ids 0 and 1 have the same bytes" },
        { "{\"model\":{\"vocab\":{\"a\":0.5},\"merges\":[]}}",
          "the id of 'a' is not an integer" },
        { "{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}",
          "model.merges[0]: 'b' is not in the vocabulary" },
        { "{\"model\":{\"vocab\":{\"a\":0},\"merges\":[7]}}",
          "model.merges[0]: expected two names" },
        { "{\"model\":{\"vocab\":{\"a\":0,\"b\":1},\"merges\":[[\"a\",\"b\"]]"
          "}}", "the merged token has no id" },
        { "{\"model\":{\"vocab\":{\"a\":-1},\"merges\":[]}}",
          "id -1 is not between" },
        { "{\"model\":{\"vocab\":{},\"vocab\":{},\"merges\":[]}}",
          "duplicate object key" },
        { "{\"pre_tokenizer\":{\"type\":\"ByteLevel\"},"
          "\"model\":{\"vocab\":{\"\\ud800\":1},\"merges\":[]}}",
          "has a character that stands for no byte" },
        { "{\"model\":{\"vocab\":{\"\xFF\":1},\"merges\":[]}}",
          "model.vocab: the name with id 1 is not text" },
        { "{\"model\":{\"vocab\":{\"\\u0000\":1},\"merges\":[]}}",
          "model.vocab: the name with id 1 is not text" },
        { "{\"model\":{\"vocab\":{\"\xC5\x84\":1,\"\xC5\x84\":2},"
          "\"merges\":[]}}", "occurs twice" },
        { "{\"model\":{\"vocab\":{\"a\":0},\"merges\":[[\"a\"]]}}",
          "model.merges[0]: expected two names" },
        { "{\"model\":{\"vocab\":{\"a\":0},\"merges\":[[\"a\",\"a\",\"a\"]]"
          "}}", "model.merges[0]: expected two names" },
        { "{\"model\":{\"vocab\":[],\"merges\":[]}}",
          "there is no model with vocab and merges" },
        { "{\"model\":{\"vocab\":{\"\\u00\":1}}}", "invalid escape" },
        { "{\"a\":[[[[1,2", "line 1, column" },
    }, vocab[] = {
        { "{\"a\":0} x", "there is something after the object" },
        { "{\"a\":+1}", "the id of 'a' is not an integer" },
        { "{\"a\":1", "name 2: the text ends" },
        { "[1]", "not a JSON object" },
    }, pickle[] = {
        { "", "it ends early" },
        { "}.", "it has no dictionary stoi" },
        { "(.", "it is not a dictionary" },
        { "u.", "items without a dictionary" },
        { "cos\nsystem\n", "instruction 0x63" },
        { "h\x05.", "an unknown memo" },
        { "X\xFF\xFF\xFF\x7F.", "a string is longer than the file" },
    };
    static const struct {
        const char *what;
        int (*parse)(struct tokenizer *, const char *, size_t, struct err *);
        const void *cases;
        size_t n;
    } groups[] = {
#define GROUP(name)                                                            \
    { #name, tokfile_parse_##name, name, sizeof name / sizeof name[0] }
        GROUP(merges), GROUP(tiktoken), GROUP(json),
        GROUP(vocab),  GROUP(pickle),   GROUP(model),
#undef GROUP
    };

    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        const struct {
            const char *text, *want;
        } *c = groups[g].cases;

        for (size_t i = 0; i < groups[g].n; i++) {
            struct tokenizer *t =
                tokenizer_new(TOKENIZER_BPE, PRETOKENIZE_GPT2);
            struct err e = { 0 };
            const int got =
                groups[g].parse(t, c[i].text, strlen(c[i].text), &e);

            if (!ok(got < 0 && strstr(e.text, c[i].want),
                    "a bad %s file is refused: %s", groups[g].what, c[i].want))
                diag("%d %s", got, e.text);
            tokenizer_free(t);
        }
    }
}

/* os.system("touch pwned"), as Python would run it. */
static void calling_pickle(void)
{
    static const char text[] = "\x80\x02"
                               "cos\nsystem\nX\x0b\0\0\0touch pwned\x85R.";
    struct tokenizer *t = tokenizer_new(TOKENIZER_BPE, PRETOKENIZE_GPT2);
    struct err e = { 0 };

    ok(tokfile_parse_pickle(t, text, sizeof text - 1, &e) < 0 &&
           strstr(e.text, "instruction 0x63"),
       "a pickle that would call a function is refused");
    tokenizer_free(t);
}

static char *temp_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    char *path = xasprintf("%s/tokenizer-XXXXXX", tmp ? tmp : "/tmp");

    if (!mkdtemp(path)) {
        perror(path);
        exit(1);
    }
    return path;
}

/* Written, and read again by each of the readers. */
static void there_and_back(enum pretokenizer kind)
{
    static const char *const names[] = { "tokenizer.json", "merges.txt",
                                         "tokenizer.tiktoken", "vocab.bpe" };
    char *folder = temp_folder(), *path;
    struct err e = { 0 };
    struct tokenizer *t = tokenizer_new(TOKENIZER_BPE, kind);

    if (tokfile_parse_merges(t, few_merges, strlen(few_merges), &e) < 0 ||
        tokenizer_ready(t, &e) < 0) {
        ok(false, "a file of merges loads: %s", e.text);
        return;
    }
    ok(tokfile_write_folder(t, folder, &e) == 0 &&
           tokfile_write(t, folder, "tiktoken", &e) == 0 &&
           tokfile_write(t, folder, "gpt2", &e) == 0 &&
           tokfile_write(t, folder, "llmc", &e) == 0 &&
           tokfile_write(t, folder, "nanogpt", &e) < 0,
       "a tokenizer that pre-tokenizes as %s is written",
       pretokenize_names[kind]);
    for (int i = 0; i < (kind == PRETOKENIZE_GPT2 ? 4 : 1); i++) {
        struct tokenizer *back = NULL;

        path = path_join(folder, names[i]);
        if (tokfile_load(&back, path, i == 2 ? kind : PRETOKENIZE_ALL, &e) < 0)
            diag("%s", e.text);
        ok(back && strcmp(tokenizer_hash(back), tokenizer_hash(t)) == 0,
           "%s gives the tokenizer with %s back", names[i],
           pretokenize_names[kind]);
        tokenizer_free(back);
        free(path);
    }
    tokenizer_free(t);
    t = NULL;
    path = path_join(folder, "tokenizer.tiktoken");
    ok(tokfile_load(&t, path, PRETOKENIZE_ALL, &e) < 0 &&
           strstr(e.text, "no known tokenizer has") &&
           strstr(e.text, "vocab --split"),
       "a .tiktoken file of unknown size is refused without %s",
       pretokenize_names[kind]);
    free(path);
    path = path_join(folder, "tokenizer.json");
    ok(tokfile_load(&t, path, (kind + 1) % PRETOKENIZE_COUNT, &e) < 0 &&
           strstr(e.text, "names its pre-tokenizer"),
       "tokenizer.json with %s is refused with another pre-tokenizer",
       pretokenize_names[kind]);
    free(path);
    path_remove(folder, &e);
    free(folder);
}

/* A list of n tokens: bytes, pairs of bytes, and what is left of three. */
static void add_list(struct buf *b, int n)
{
    static const char digit[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (int i = 0, k = i; i < n; i++, k = i) {
        const int len = i < 256 ? 1 : i < 256 + 65536 ? 2 : 3;
        uint32_t bits;

        k -= len == 1 ? 0 : len == 2 ? 256 : 256 + 65536;
        bits = (uint32_t)k << 8 * (3 - len);
        buf_printf(b, "%c%c%c%c %d\n", digit[bits >> 18],
                   digit[bits >> 12 & 63],
                   len < 2 ? '=' : digit[bits >> 6 & 63],
                   len < 3 ? '=' : digit[bits & 63], i);
    }
}

/* The number of tokens tells what the file does not say. */
static void known_sizes(void)
{
    static const struct {
        int n, vocab;
        enum pretokenizer split;
        bool nfc;
        int32_t id;
        const char *name;
    } cases[] = {
        { 100256, 100277, PRETOKENIZE_CL100K, false, 100276,
          "<|endofprompt|>" },
        { 128000, 128256, PRETOKENIZE_LLAMA3, false, 128009, "<|eot_id|>" },
        { 151643, 151851, PRETOKENIZE_QWEN2, true, 151645, "<|im_end|>" },
        { 199998, 200019, PRETOKENIZE_O200K, false, 199999, "<|endoftext|>" },
        { 200000, 202048, PRETOKENIZE_O200K, false, 200092, "<|patch|>" },
        { 200000, 202048, PRETOKENIZE_O200K, false, 201143,
          "<|reasoning_thinking_end|>" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tokenizer *t = tokenizer_new(TOKENIZER_BPE, PRETOKENIZE_ALL);
        struct buf b = BUF_INIT;
        struct err e = { 0 };
        const struct special *s;

        add_list(&b, cases[i].n);
        if (tokfile_parse_model(t, b.s, b.len, &e) < 0)
            diag("%s", e.text);
        s = tokenizer_find_special(t, cases[i].id);
        ok(t->n_ids == cases[i].vocab && t->pretokenizer == cases[i].split &&
               t->nfc == cases[i].nfc && s &&
               s->name.len == strlen(cases[i].name) &&
               memcmp(t->text + s->name.at, cases[i].name, s->name.len) == 0,
           "a list of %d tokens has %s", cases[i].n, cases[i].name);
        tokenizer_free(t);
        buf_clear(&b);
    }
}

static void characters(void)
{
    static const char text[] = "\n aé漢😀";
    char *folder = temp_folder();
    struct tokenizer *t = tokenizer_new(TOKENIZER_CHARS, PRETOKENIZE_GPT2),
                     *back;
    struct err e = { 0 };
    struct ids ids = { 0 };
    struct buf out = BUF_INIT;
    int64_t id = 0;

    for (size_t i = 0, n; i < strlen(text); i += n) {
        uint32_t c;

        n = utf8_decode((const uint8_t *)text + i,
                        (const uint8_t *)text + strlen(text), &c);
        tokenizer_add(t, id++, text + i, n, &e);
    }
    ok(tokenizer_ready(t, &e) == 0 && tokenizer_vocab(t) == 6 &&
           tokenizer_eot(t) == -1,
       "six characters make a tokenizer");
    ok(tokfile_write_folder(t, folder, &e) == 0,
       "a character tokenizer is written as meta.pkl");
    back = load(folder);
    ok(back && strcmp(tokenizer_hash(back), tokenizer_hash(t)) == 0,
       "meta.pkl gives the character tokenizer back");
    ok(tokenizer_encode(t,
                        "a漢z\xFF"
                        "é",
                        strlen("a漢z\xFF"
                               "é"),
                        0, &ids) == 2 &&
           ids.n == 3 && ids.id[1] == 4,
       "characters that it lacks are counted and left out");
    tokenizer_decode(t, ids.id, ids.n, &out);
    ok(strcmp(out.s, "a漢é") == 0, "known characters are decoded");
    buf_clear(&out);
    ids_clear(&ids);
    tokenizer_free(t);
    tokenizer_free(back);
    path_remove(folder, &e);
    free(folder);
}

/* Added tokens that are not special are cut out of any text. */
static void added_tokens(void)
{
    static const char json[] =
        "{\"added_tokens\":[{\"id\":3,\"content\":\"ba\",\"special\":false},"
        "{\"id\":4,\"content\":\"aa\",\"special\":true}],\"pre_tokenizer\":"
        "{\"type\":\"ByteLevel\"},\"model\":{\"vocab\":{\"a\":0,\"b\":1,\"ab\":"
        "2},\"merges\":[[\"a\",\"b\"]]}}";
    static const int32_t want[2][3] = { { 0, 0, 3 }, { 4, 3, 2 } };
    char *folder = temp_folder(), *path = path_join(folder, "tokenizer.json");
    struct tokenizer *t = tokenizer_new(TOKENIZER_BPE, PRETOKENIZE_GPT2), *back;
    struct ids ids = { 0 };
    struct err e = { 0 };

    ok(tokfile_parse_json(t, json, strlen(json), &e) == 0 &&
           tokenizer_ready(t, &e) == 0 &&
           tokfile_write(t, folder, "hf", &e) == 0,
       "a tokenizer with added tokens is read, and written");
    back = load(path);
    ok(back && strcmp(tokenizer_hash(back), tokenizer_hash(t)) == 0,
       "added tokens are the same when they are read again");
    for (int i = 0; i < 2; i++) {
        struct encoder *enc = encoder_new(t, NULL, i ? ENCODER_SPECIAL : 0);

        ids.n = 0;
        encoder_run(enc, i ? "aabaab" : "aaba", i ? 6 : 4, &ids);
        ok(ids.n == 3 && memcmp(ids.id, want[i], sizeof want[i]) == 0,
           i ? "special added tokens are recognised on demand"
             : "other added tokens are always recognised");
        encoder_free(enc);
    }
    ids_clear(&ids);
    tokenizer_free(back);
    tokenizer_free(t);
    path_remove(folder, &e);
    free(path);
    free(folder);
}

int main(void)
{
    broken_files();
    calling_pickle();
    for (int kind = 0; kind < PRETOKENIZE_COUNT; kind++)
        there_and_back((enum pretokenizer)kind);
    known_sizes();
    characters();
    added_tokens();
    return done_testing();
}
