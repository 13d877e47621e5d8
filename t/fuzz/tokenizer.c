/*
 * tokenizer - any bytes to ids and back, by every way there is
 */
#include "config.h"
#include "data/token/tokenizer.h"

#include <string.h>

#include "data/token/bpe.h"
#include "data/token/tokfile.h"
#include "t/fuzz/fuzz.h"

static const char merges[] = "a b\nab c\n# #\nx x\nxx xx\nxxxx xxxx\n"
                             "xxxxxxxx xxxxxxxx\n\xC4\xA0 a\n\xC4\xA0 b\n"
                             "\xC4\xA0"
                             "a b\n\xC4\x8A \xC4\x8A\n' s\n1 2\n3 4\n";

static struct tokenizer *make(void)
{
    struct tokenizer *t = tokenizer_new(TOKENIZER_BPE, PRETOKENIZE_GPT2);
    struct err e = { 0 };

    FUZZ_CHECK(tokfile_parse_merges(t, merges, sizeof merges - 1, &e) == 0);
    FUZZ_CHECK(tokenizer_ready(t, &e) == 0);
    return t;
}

/* A number that tells by which ends fn cuts all of the text. */
static uint64_t all_pieces(pretokenize_fn *fn, const uint8_t *data, size_t n)
{
    uint32_t stop[PRETOKENIZE_BATCH];
    uint64_t sum = 0;
    size_t at = 0;

    while (at < n) {
        const size_t count = fn(data + at, data + n, stop, PRETOKENIZE_BATCH);

        for (size_t i = 0; i < count; i++) {
            FUZZ_CHECK(stop[i] > (i > 0 ? stop[i - 1] : 0));
            sum = sum * 31 + at + stop[i];
        }
        at += stop[count - 1];
    }
    FUZZ_CHECK(at == n);
    return sum;
}

/* Whatever the rule, the pieces are the text; GPT-2's loops cut alike. */
static void check_pieces(const uint8_t *data, size_t n)
{
    static const char *const names[] = { "avx2", "avx512" };
    const uint64_t plain = all_pieces(pretokenize_gpt2_by("plain"), data, n);

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        pretokenize_fn *const fn = pretokenize_gpt2_by(names[k]);

        if (fn)
            FUZZ_CHECK(all_pieces(fn, data, n) == plain);
    }
    for (int kind = 0; kind < PRETOKENIZE_COUNT; kind++)
        all_pieces(pretokenize_by((enum pretokenizer)kind), data, n);
}

static bool same(const struct ids *a, const struct ids *b)
{
    return a->n == b->n &&
           (a->n == 0 || memcmp(a->id, b->id, a->n * sizeof *a->id) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct tokenizer *t;
    static struct encoder *enc;
    struct ids plain = { 0 }, cached = { 0 };
    struct buf back = BUF_INIT;
    uint8_t *copy = malloc(n ? n : 1);

    if (!t) {
        t = make();
        enc = encoder_new(t, piece_cache_new(), 0);
    }
    /* exactly n bytes, so that the sanitizer sees one more */
    if (n > 0)
        memcpy(copy, data, n);
    check_pieces(copy, n);
    tokenizer_encode(t, (char *)copy, n, 0, &plain);
    encoder_flags(enc, 0);
    encoder_run(enc, (char *)copy, n, &cached);
    FUZZ_CHECK(same(&plain, &cached));
    tokenizer_decode(t, plain.id, plain.n, &back);
    FUZZ_CHECK(back.len == n && (n == 0 || memcmp(back.s, copy, n) == 0));

    encoder_flags(enc, ENCODER_REPLACE | ENCODER_SPECIAL);
    cached.n = 0;
    encoder_run(enc, (char *)copy, n, &cached);
    for (size_t i = 0; i < cached.n; i++)
        FUZZ_CHECK(cached.id[i] >= 0 && cached.id[i] < tokenizer_vocab(t));
    ids_clear(&plain);
    ids_clear(&cached);
    buf_clear(&back);
    free(copy);
    return 0;
}
