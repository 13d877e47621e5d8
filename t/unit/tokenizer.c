/*
 * tokenizer - ids of known texts, and back
 */
#include "config.h"
#include "data/token/nfc.h"
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
#include "data/token/bpe.h"
#include "data/token/tokfile.h"
#include "t/unit/few_merges.h"

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
    struct ids ids = { 0 };
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
            tokenizer_encode(v->t, text, n, 0, &ids);
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
    struct piece_cache *cache = piece_cache_new();
    char *line = NULL;
    size_t room = 0;

    if (!fp) {
        piece_cache_free(cache);
        skip("gpt2_vectors.jsonl is not there",
             "known texts have the ids of GPT-2");
        return;
    }
    for (int w = 0; w < WAYS; w++)
        if (ways[w].cached)
            v.enc[w] = encoder_new(t, cache, ways[w].flags);
    while (getline(&line, &room, fp) > 0) {
        json_t *row = json_loads(line, JSON_ALLOW_NUL, NULL);

        check_row(&v, row);
        json_decref(row);
    }
    for (int w = 0; w < WAYS; w++) {
        ok(v.rows > 500 && v.bad[w] == 0,
           "%s: %d known texts have the right ids %s", name, v.rows,
           ways[w].what);
        encoder_free(v.enc[w]);
    }
    ok(v.lost == 0, "%s: ids are decoded to the same bytes", name);
    piece_cache_free(cache);
    fclose(fp);
    free(line);
    free(path);
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
            skip("it is not there", "the tokenizer %s loads", names[i]);
            continue;
        }
        if (ok(t != NULL, "the tokenizer %s loads", names[i])) {
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
            for (size_t i = 0; i < n; i++)
                want[i] = t->byte_id[s[i]];
            n_want = merge_slowly(t, want, n);
            n_got = bpe_piece(t, s, n, got);
            tried++;
            bad +=
                n_got != n_want || memcmp(got, want, n_got * sizeof *got) != 0;
        }
    }
    ok(bad == 0, "%s: %d long pieces are encoded as BPE is defined", name,
       tried);
}

static void merges_alone(void)
{
    struct err e = { 0 };
    struct tokenizer *t = parse_merges(few_merges, &e);
    struct ids ids = { 0 };

    if (!ok(t != NULL, "a file of merges loads"))
        return;
    ok(tokenizer_vocab(t) == 256 + 8 + 1 && tokenizer_eot(t) == 264,
       "a file of merges gives bytes, merges and <|endoftext|>");
    tokenizer_encode(t, "abc abc ###", 11, 0, &ids);
    ok(ids.n == 5 && ids.id[0] == 257 && ids.id[1] == 263 && ids.id[2] == 220 &&
           ids.id[3] == 258 && ids.id[4] == 2,
       "a line of merges may begin with '#'");
    ids_clear(&ids);
    long_pieces(t, "a few merges");
    tokenizer_free(t);
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
            skip("it is not there", "%s has %lld ids", files[i].name,
                 (long long)files[i].vocab);
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
        skip("gpt2/tokenizer.json is not there",
             "long pieces come out as BPE is defined");
    }
    free(gpt2);
}

/* Tokens of 1 to 40 bytes, and one id that is none. */
static struct tokenizer *all_lengths(void)
{
    struct tokenizer *t = tokenizer_new(TOKENIZER_BPE, PRETOKENIZE_GPT2);
    struct err e = { 0 };
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
static void decode_in_steps(const struct decoder *d, const int32_t *id,
                            int64_t n, int64_t step, struct buf *out)
{
    buf_trim(out, 0);
    for (int64_t i = 0; i < n;) {
        const int64_t most = n - i < step ? n - i : step;
        const int64_t got = decoder_run(d, id + i, most, out);

        i += got == most ? most : got + 1;
    }
}

static void decoders(void)
{
    enum { N = 3000, STOP = 'q' };
    static int32_t ids[N];
    struct tokenizer *t = all_lengths();
    const int64_t vocab = tokenizer_vocab(t);
    struct decoder *all = decoder_new(t, -1), *some = decoder_new(t, STOP);
    struct buf want = BUF_INIT, want_some = BUF_INIT, got = BUF_INIT;
    bool same = true;

    for (int i = 0; i < N; i++) {
        int32_t id = (int32_t)(rng_word(6, 0, (uint64_t)i) % (uint64_t)vocab);

        if (i % 100 == 99)
            id = i % 200 == 99 ? (int32_t)vocab + i : -i; /* none */
        ids[i] = id;
        tokenizer_decode(t, &id, 1, &want);
        if (id != STOP)
            tokenizer_decode(t, &id, 1, &want_some);
    }
    for (int64_t step = 1; step <= N; step += 61) {
        decode_in_steps(all, ids, N, step, &got);
        same =
            same && got.len == want.len && memcmp(got.s, want.s, want.len) == 0;
        decode_in_steps(some, ids, N, step, &got);
        same = same && got.len == want_some.len &&
               memcmp(got.s, want_some.s, got.len) == 0;
    }
    ok(same, "a decoder decodes known ids, whatever the number at a time");
    ids[0] = STOP;
    ids[N - 1] = -1;
    ok(decoder_run(some, ids, N, &got) == 0 &&
           decoder_run(some, ids + 99, N - 99, &got) == 0 &&
           decoder_run(all, ids + N - 1, 1, &got) == 0 &&
           decoder_run(all, ids, N, &got) == 99,
       "a decoder stops at its stop id and at unknown ids");
    buf_clear(&want);
    buf_clear(&want_some);
    buf_clear(&got);
    decoder_free(all);
    decoder_free(some);
    tokenizer_free(t);
}

static void normalization(void)
{
    static const struct {
        const char *text, *want, *what;
    } rows[] = {
        { "e\u0301", "\u00e9", "a letter and an accent" },
        { "a\u0301\u0323", "\u1ea1\u0301", "two accents in another order" },
        { "a\u0345\u0334", "a\u0334\u0345", "accents that do not compose" },
        { "e\u030d\u0301", "e\u030d\u0301",
          "an accent behind one that blocks" },
        { "\u1112\u1161\u11ab", "\ud55c", "a Hangul syllable of three" },
        { "\uac00\u11a8", "\uac01", "a Hangul syllable and a consonant" },
        { "\u212b\u0958", "\u00c5\u0915\u093c",
          "characters that are never composed" },
        { "\u0301x", "\u0301x", "an accent at the beginning" },
        { "e\xff\u0301", "e\xff\u0301", "an accent after a bad byte" },
        { "<\u0338>", "\u226e>", "a sign of ASCII and an overlay" },
        { "\u6f22\u00e9", "\u6f22\u00e9", "text that is composed" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf got = BUF_INIT;
        const size_t n = strlen(rows[i].text);

        nfc_add(&got, rows[i].text, n);
        ok(strcmp(got.s, rows[i].want) == 0 &&
               (nfc_may_change(rows[i].text, n) ||
                strcmp(rows[i].text, rows[i].want) == 0),
           "NFC is right for %s", rows[i].what);
        buf_clear(&got);
    }
    ok(!nfc_may_change("na\u00efve \u6f22\uac00\xff", 15),
       "composed text is recognised as such");
}

int main(void)
{
    normalization();
    merges_alone();
    decoders();
    gpt2_files();
    other_files();
    return done_testing();
}
