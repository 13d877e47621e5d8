/*
 * tokenizer - ids of known texts, and the files tokenizers come in
 */
#include "config.h"
#include "data/token/tokenizer.h"
#include "t/lib/tap.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/rng.h"
#include "common/utf8.h"
#include "data/shards/decoder.h"
#include "data/token/bpe.h"
#include "data/token/tokfile.h"

static char *data_path(const char *name)
{
    const char *data = getenv("GT_TESTDATA"), *top = getenv("top_srcdir");
    char *path = data
                     ? xasprintf("%s/%s", data, name)
                     : xasprintf("%s/../shared/data/%s", top ? top : ".", name);

    if (!path_exists(path)) {
        free(path);
        return NULL;
    }
    return path;
}

static size_t from_hex(const char *hex, char *out)
{
    size_t n = 0;
    unsigned byte;

    for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
        out[n++] = (char)byte;
    return n;
}

static bool same_ids(const struct ids *ids, const json_t *want)
{
    if (ids->n != json_array_size(want))
        return false;
    for (size_t i = 0; i < ids->n; i++)
        if (ids->id[i] != json_integer_value(json_array_get(want, i)))
            return false;
    return true;
}

/* One way to encode, and the field that says what comes out. */
static const struct way {
    const char *what;
    const char *field; /* else "ids" */
    int flags;
    bool cached;
} ways[] = {
    { "without a cache", "ids_raw", 0, false },
    { "with a cache", "ids_raw", 0, true },
    { "with special tokens", "ids_special", ENCODER_SPECIAL, true },
    { "with U+FFFD for bad bytes", "ids_replace", ENCODER_REPLACE, true },
};

enum { WAYS = sizeof ways / sizeof ways[0] };

struct vectors {
    const struct tokenizer *t;
    struct encoder *enc[WAYS];
    int rows, bad[WAYS], lost;
};

static void check_row(struct vectors *v, const json_t *row)
{
    const char *hex = json_string_value(json_object_get(row, "hex"));
    char *text = xmalloc(strlen(hex) + 1);
    const size_t n = from_hex(hex, text);
    struct ids ids = IDS_INIT;
    struct buf back = BUF_INIT;

    for (int w = 0; w < WAYS; w++) {
        const json_t *want = json_object_get(row, ways[w].field);

        if (!want)
            want = json_object_get(row, "ids");
        if (!want) /* ids of bad bytes, and another treatment */
            continue;
        ids.n = 0;
        if (v->enc[w])
            encoder_run(v->enc[w], text, n, &ids);
        else
            tokenizer_encode(v->t, text, n, &ids);
        if (!same_ids(&ids, want) && v->bad[w]++ < 5)
            diag("%s: %s", ways[w].what, hex);
        if (ways[w].flags & ENCODER_REPLACE)
            continue;
        buf_trim(&back, 0);
        tokenizer_decode(v->t, ids.id, ids.n, &back);
        v->lost += back.len != n || memcmp(back.s, text, n) != 0;
    }
    ids_clear(&ids);
    buf_clear(&back);
    free(text);
    v->rows++;
}

static void known_texts(const struct tokenizer *t, const char *name)
{
    char *path = data_path("gpt2_vectors.jsonl");
    FILE *fp = path ? fopen(path, "r") : NULL;
    struct vectors v = { .t = t };
    struct lexicon *lexicon = lexicon_new(t);
    char *line = NULL;
    size_t room = 0;

    if (!fp) {
        lexicon_free(lexicon);
        skip("known texts", "gpt2_vectors.jsonl is not there");
        return;
    }
    for (int w = 0; w < WAYS; w++)
        if (ways[w].cached)
            v.enc[w] = encoder_new(t, lexicon, ways[w].flags);
    while (getline(&line, &room, fp) > 0) {
        json_t *row = json_loads(line, JSON_ALLOW_NUL, NULL);

        check_row(&v, row);
        json_decref(row);
    }
    for (int w = 0; w < WAYS; w++) {
        ok(v.rows > 500 && v.bad[w] == 0, "%s: %d known texts %s", name, v.rows,
           ways[w].what);
        encoder_free(v.enc[w]);
    }
    ok(v.lost == 0, "%s: ids give the bytes back", name);
    lexicon_free(lexicon);
    fclose(fp);
    free(line);
    free(path);
}

static struct tokenizer *load(const char *path)
{
    struct tokenizer *t;
    struct err e = ERR_INIT;

    if (tokenizer_load(&t, path, &e) < 0)
        diag("%s", e.text);
    return t;
}

static void gpt2_files(void)
{
    static const char *const names[] = {
        "gpt2/tokenizer.json", "gpt2/vocab.bpe", "gpt2/r50k_base.tiktoken",
        "gpt2/encoder.json",   "gpt2",
    };
    char hash[65] = "";

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = data_path(names[i]);
        struct tokenizer *t = path ? load(path) : NULL;

        if (!path) {
            skip(names[i], "it is not there");
            continue;
        }
        if (ok(t != NULL, "%s loads", names[i])) {
            if (!hash[0])
                snprintf(hash, sizeof hash, "%s", tokenizer_hash(t));
            ok(tokenizer_vocab(t) == 50257 && tokenizer_eot(t) == 50256,
               "%s has 50257 ids, the last of them <|endoftext|>", names[i]);
            ok(strcmp(tokenizer_hash(t), hash) == 0,
               "%s has the hash that tokenizer.json has", names[i]);
            if (i < 3)
                known_texts(t, names[i]);
        }
        tokenizer_free(t);
        free(path);
    }
}

/* A tokenizer of a few merges: no file needed. */
static const char few_merges[] = "#version: 0.2\n"
                                 "a b\n"
                                 "ab c\n"
                                 "# #\n"
                                 "x x\n"
                                 "xx xx\n"
                                 "xxxx xxxx\n"
                                 "xxxxxxxx xxxxxxxx\n"
                                 "\xC4\xA0 abc\n";

static struct tokenizer *parse_merges(const char *text, struct err *e)
{
    struct tokenizer *t = tokenizer_new(TOKENIZER_BPE, PRETOKENIZE_GPT2);

    if (tokfile_parse_merges(t, text, strlen(text), e) < 0 ||
        tokenizer_ready(t, e) < 0) {
        tokenizer_free(t);
        return NULL;
    }
    return t;
}

/* BPE as it is defined: the lowest rank anywhere, the leftmost of equals. */
static size_t merge_slowly(const struct tokenizer *t, const uint8_t *s,
                           size_t n, int32_t *id)
{
    for (size_t i = 0; i < n; i++)
        id[i] = t->byte_id[s[i]];
    for (;;) {
        uint32_t best = NO_RANK;
        size_t at = 0;

        for (size_t i = 0; i + 1 < n; i++) {
            const uint32_t r =
                bpe_rank(t, (uint32_t)id[i], (uint32_t)id[i + 1]);

            if (r < best) {
                best = r;
                at = i;
            }
        }
        if (best == NO_RANK)
            return n;
        id[at] = t->merge[best].into;
        memmove(id + at + 1, id + at + 2, (n - at - 2) * sizeof *id);
        n--;
    }
}

/* Long pieces of few letters: what windows and passes must get right. */
static void long_pieces(const struct tokenizer *t, const char *name)
{
    enum { LONGEST = 3000 };
    static const char *const alphabets[] = {
        "x", "-", "ab", "abc", "aeinorst", "xxxxxxxxxxxxxxxxxxxy", "etaoinsh-=",
    };
    uint8_t s[LONGEST];
    int32_t want[LONGEST], got[LONGEST];
    int bad = 0, tried = 0;

    for (size_t a = 0; a < sizeof alphabets / sizeof alphabets[0]; a++) {
        const size_t letters = strlen(alphabets[a]);

        for (uint64_t seed = 0; seed < 12; seed++) {
            const size_t n =
                seed < 6 ? 60 + (size_t)seed * 13 : LONGEST - (size_t)seed * 77;
            size_t n_want, n_got;

            for (size_t i = 0; i < n; i++)
                s[i] = (uint8_t)alphabets[a][rng_word(seed, a, i) % letters];
            n_want = merge_slowly(t, s, n, want);
            n_got = bpe_piece(t, s, n, got);
            tried++;
            bad +=
                n_got != n_want || memcmp(got, want, n_got * sizeof *got) != 0;
        }
    }
    ok(bad == 0, "%s: %d long pieces come out as BPE is defined", name, tried);
}

static void merges_alone(void)
{
    struct err e = ERR_INIT;
    struct tokenizer *t = parse_merges(few_merges, &e);
    struct ids ids = IDS_INIT;

    if (!ok(t != NULL, "a file of merges loads"))
        return;
    ok(tokenizer_vocab(t) == 256 + 8 + 1 && tokenizer_eot(t) == 264,
       "it has bytes, merges and <|endoftext|>");
    tokenizer_encode(t, "abc abc ###", 11, &ids);
    ok(ids.n == 5 && ids.id[0] == 257 && ids.id[1] == 263 && ids.id[2] == 220 &&
           ids.id[3] == 258 && ids.id[4] == 2,
       "'#' begins a merge like any other");
    ids_clear(&ids);
    long_pieces(t, "a few merges");
    tokenizer_free(t);
}

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
    }, json[] = {
        { "", "line 1, column 0: " },
        { "{}", "there is no model" },
        { "{\"model\":{\"type\":\"WordPiece\"}}",
          "a model other than BPE is not" },
        { "{\"normalizer\":{\"type\":\"NFC\"}}", "a normalizer is not" },
        { "{\"pre_tokenizer\":{\"type\":\"Metaspace\"}}",
          "pre-tokenizer Metaspace is not" },
        { "{\"pre_tokenizer\":{\"type\":\"ByteLevel\","
          "\"add_prefix_space\":true}}", "add_prefix_space is not" },
        { "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":"
          "{\"Regex\":\"a+\"}}}", "pattern of the pre-tokenizer is not" },
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
          "there is no pre-tokenizer ByteLevel" },
        { "{\"added_tokens\":[{\"id\":2,\"content\":\"x\"}],"
          "\"pre_tokenizer\":{\"type\":\"ByteLevel\"},"
          "\"model\":{\"vocab\":{\"a\":0},\"merges\":[]}}",
          "'x' has id 2, but Hugging Face's tokenizers would give it id 1" },
        { "{\"model\":{\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}",
          "model.vocab: two tokens have the id 0" },
        { "{\"model\":{\"vocab\":{\"a\":0,\"a\":1},\"merges\":[]}}",
          "duplicate object key" },
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
        { "{\"model\":{\"vocab\":{\"\\ud800\":1},\"merges\":[]}}",
          "invalid Unicode" },
        { "{\"model\":{\"vocab\":{\"\xFF\":1},\"merges\":[]}}",
          "unable to decode byte 0xff" },
        { "{\"model\":{\"vocab\":{\"\\u00\":1}}}", "invalid escape" },
        { "{\"added_tokens\":[{\"id\":1,\"content\":\"x\",\"lstrip\":true}],"
          "\"pre_tokenizer\":{\"type\":\"ByteLevel\"},"
          "\"model\":{\"vocab\":{\"a\":0},\"merges\":[]}}",
          "added_tokens[0]: lstrip is not" },
        { "{\"a\":[[[[1,2", "line 1, column" },
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
        GROUP(merges),
        GROUP(tiktoken),
        GROUP(json),
        GROUP(pickle),
#undef GROUP
    };

    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        const struct {
            const char *text, *want;
        } *c = groups[g].cases;

        for (size_t i = 0; i < groups[g].n; i++) {
            struct tokenizer *t =
                tokenizer_new(TOKENIZER_BPE, PRETOKENIZE_GPT2);
            struct err e = ERR_INIT;
            const int got =
                groups[g].parse(t, c[i].text, strlen(c[i].text), &e);

            if (!ok(got < 0 && strstr(e.text, c[i].want), "bad %s: %s",
                    groups[g].what, c[i].want))
                diag("%d %s", got, e.text);
            tokenizer_free(t);
        }
    }
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
    struct err e = ERR_INIT;
    struct tokenizer *t = parse_merges(few_merges, &e);

    t->pretokenizer = kind;
    tokenizer_ready(t, &e);
    ok(tokfile_write_folder(t, folder, &e) == 0 &&
           tokfile_write(t, folder, "tiktoken", &e) == 0 &&
           tokfile_write(t, folder, "gpt2", &e) == 0 &&
           tokfile_write(t, folder, "llmc", &e) == 0 &&
           tokfile_write(t, folder, "nanogpt", &e) < 0,
       "a tokenizer that pre-tokenizes as %s is written",
       pretokenize_names[kind]);
    for (int i = 0; i < (kind == PRETOKENIZE_GPT2 ? 4 : 1); i++) {
        struct tokenizer *back;

        path = path_join(folder, names[i]);
        back = load(path);
        ok(back && strcmp(tokenizer_hash(back), tokenizer_hash(t)) == 0,
           "%s gives it back", names[i]);
        tokenizer_free(back);
        free(path);
    }
    tokenizer_free(t);
    path_remove(folder, &e);
    free(folder);
}

static void characters(void)
{
    static const char text[] = "\n aé漢😀";
    char *folder = temp_folder();
    struct tokenizer *t = tokenizer_new(TOKENIZER_CHARS, PRETOKENIZE_GPT2),
                     *back;
    struct err e = ERR_INIT;
    struct ids ids = IDS_INIT;
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
       "a tokenizer of six characters");
    ok(tokfile_write_folder(t, folder, &e) == 0, "it is written as meta.pkl");
    back = load(folder);
    ok(back && strcmp(tokenizer_hash(back), tokenizer_hash(t)) == 0,
       "and comes back");
    ok(tokenizer_encode(t,
                        "a漢z\xFF"
                        "é",
                        strlen("a漢z\xFF"
                               "é"),
                        &ids) == 2 &&
           ids.n == 3 && ids.id[1] == 4,
       "characters that it lacks are counted and left out");
    tokenizer_decode(t, ids.id, ids.n, &out);
    ok(strcmp(out.s, "a漢é") == 0, "the others come back");
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
    struct ids ids = IDS_INIT;
    struct err e = ERR_INIT;

    ok(tokfile_parse_json(t, json, strlen(json), &e) == 0 &&
           tokenizer_ready(t, &e) == 0 &&
           tokfile_write(t, folder, "hf", &e) == 0,
       "a tokenizer with added tokens is read, and written");
    back = load(path);
    ok(back && strcmp(tokenizer_hash(back), tokenizer_hash(t)) == 0,
       "and is the same when it is read again");
    for (int i = 0; i < 2; i++) {
        struct encoder *enc = encoder_new(t, NULL, i ? ENCODER_SPECIAL : 0);

        ids.n = 0;
        encoder_run(enc, i ? "aabaab" : "aaba", i ? 6 : 4, &ids);
        ok(ids.n == 3 && memcmp(ids.id, want[i], sizeof want[i]) == 0,
           i ? "all of them are recognised on demand"
             : "those that are not special always are recognised");
        encoder_free(enc);
    }
    ids_clear(&ids);
    tokenizer_free(back);
    tokenizer_free(t);
    path_remove(folder, &e);
    free(path);
    free(folder);
}

static void other_files(void)
{
    static const struct {
        const char *name;
        int64_t vocab;
    } files[] = {
        { "bpe/tiny_hf_1000.tokenizer.json", 1000 },
        { "bpe/tiny_minbpe_512.merges.txt", 513 },
        { "bpe/cs336/train-bpe-reference-merges.txt", 500 },
        { "formats/meta_by_hand.pkl", 65 },
    };
    char *gpt2 = data_path("gpt2/tokenizer.json");

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *path = data_path(files[i].name);
        struct tokenizer *t = path ? load(path) : NULL;

        if (!path)
            skip(files[i].name, "it is not there");
        else if (!ok(t && tokenizer_vocab(t) == files[i].vocab,
                     "%s has %lld ids", files[i].name,
                     (long long)files[i].vocab) &&
                 t)
            diag("%lld", (long long)tokenizer_vocab(t));
        tokenizer_free(t);
        free(path);
    }
    if (gpt2) {
        struct tokenizer *t = load(gpt2);

        long_pieces(t, "gpt2");
        tokenizer_free(t);
    } else {
        skip("long pieces with GPT-2's merges", "they are not there");
    }
    free(gpt2);
}

/* Tokens of 1 to 40 bytes, and one id that is none. */
static struct tokenizer *all_lengths(void)
{
    struct tokenizer *t = tokenizer_new(TOKENIZER_BPE, PRETOKENIZE_GPT2);
    struct err e = ERR_INIT;
    char text[40];

    for (int a = 0; a < 256; a++)
        tokenizer_add(t, a, &(uint8_t){ (uint8_t)a }, 1, &e);
    for (int len = 2; len <= 40; len++) {
        for (int k = 0; k < len; k++)
            text[k] = (char)('a' + (len + k) % 26);
        tokenizer_add(t, 256 + len, text, (size_t)len, &e);
    }
    if (tokenizer_ready(t, &e) < 0)
        diag("%s", e.text);
    return t;
}

/* decoder_run() in steps, and past each id that it stops at. */
static void decode_in_steps(const struct decoder *d, const struct shard *s,
                            int64_t step, struct buf *out)
{
    for (int64_t i = 0; i < s->n;) {
        const int64_t n = s->n - i < step ? s->n - i : step;
        const int64_t got = decoder_run(d, s, i, n, out);

        i += got == n ? n : got + 1;
    }
}

static void decoders(void)
{
    enum { N = 3000, STOP = 'q' };
    static uint16_t narrow[N];
    static uint32_t wide[N];
    struct tokenizer *t = all_lengths();
    const int64_t vocab = tokenizer_vocab(t);
    struct decoder *all = decoder_new(t, -1), *some = decoder_new(t, STOP);
    struct buf want = BUF_INIT, want_some = BUF_INIT, got = BUF_INIT;
    const struct shard in16 = { .width = 2, .n = N, .ids = narrow };
    const struct shard in32 = { .width = 4, .n = N, .ids = wide };
    bool same = true;

    for (int i = 0; i < N; i++) {
        int32_t id = (int32_t)(rng_word(6, 0, (uint64_t)i) % (uint64_t)vocab);

        if (i % 100 == 99)
            id = (int32_t)vocab + i; /* none */
        narrow[i] = (uint16_t)id;
        wide[i] = i % 100 == 99 ? UINT32_MAX - (uint32_t)i : (uint32_t)id;
        tokenizer_decode(t, &id, 1, &want);
        if (id != STOP)
            tokenizer_decode(t, &id, 1, &want_some);
    }
    for (int64_t step = 1; step <= N; step += 61) {
        buf_trim(&got, 0);
        decode_in_steps(all, &in16, step, &got);
        same =
            same && got.len == want.len && memcmp(got.s, want.s, want.len) == 0;
        buf_trim(&got, 0);
        decode_in_steps(all, &in32, step, &got);
        same =
            same && got.len == want.len && memcmp(got.s, want.s, want.len) == 0;
        buf_trim(&got, 0);
        decode_in_steps(some, &in16, step, &got);
        same = same && got.len == want_some.len &&
               memcmp(got.s, want_some.s, got.len) == 0;
    }
    ok(same, "a decoder makes the same of ids of 16 and 32 bits");
    narrow[0] = STOP;
    wide[0] = UINT32_MAX;
    ok(decoder_run(some, &in16, 0, N, &got) == 0 &&
           decoder_run(some, &in32, 0, N, &got) == 0 &&
           decoder_run(some, &in16, 99, N, &got) == 0 &&
           decoder_run(all, &in16, 0, N, &got) == 99,
       "and stops where it is to, or where there is no such id");
    buf_clear(&want);
    buf_clear(&want_some);
    buf_clear(&got);
    decoder_free(all);
    decoder_free(some);
    tokenizer_free(t);
}

int main(void)
{
    merges_alone();
    broken_files();
    there_and_back(PRETOKENIZE_GPT2);
    there_and_back(PRETOKENIZE_CL100K);
    there_and_back(PRETOKENIZE_LLAMA3);
    there_and_back(PRETOKENIZE_O200K);
    characters();
    added_tokens();
    decoders();
    gpt2_files();
    other_files();
    return done_testing();
}
