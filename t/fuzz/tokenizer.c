/*
 * tokenizer - any bytes to ids and back, by every way there is
 */
#include "config.h"
#include "data/tokenizer.h"

#include <string.h>

#include "data/bpe.h"
#include "data/tokfile.h"
#include "t/fuzz/fuzz.h"

static const char merges[] = "a b\nab c\n# #\nx x\nxx xx\nxxxx xxxx\n"
                             "xxxxxxxx xxxxxxxx\n\xC4\xA0 a\n\xC4\xA0 b\n"
                             "\xC4\xA0"
                             "a b\n\xC4\x8A \xC4\x8A\n' s\n1 2\n3 4\n";

static struct tokenizer *make(void)
{
    struct tokenizer *t = tokenizer_new(TOKENIZER_BPE, SPLIT_GPT2);
    struct err e = ERR_INIT;

    FUZZ_CHECK(tokfile_parse_merges(t, merges, sizeof merges - 1, &e) == 0);
    FUZZ_CHECK(tokenizer_ready(t, &e) == 0);
    return t;
}

/* Every loop cuts alike, and the pieces are the text. */
static void check_pieces(const uint8_t *data, size_t n)
{
    static const char *const names[] = { "plain", "sse2", "avx2", "avx512" };
    size_t want = 0, at[4] = { 0 };
    uint64_t sum[4] = { 0 };

    for (int k = 0; k < 4; k++) {
        split_fn *const fn = split_gpt2_by(names[k]);
        uint32_t stop[SPLIT_BATCH];

        if (!fn)
            continue;
        while (at[k] < n) {
            const size_t count = fn(data + at[k], data + n, stop, SPLIT_BATCH);

            for (size_t i = 0; i < count; i++)
                sum[k] = sum[k] * 31 + at[k] + stop[i];
            at[k] += stop[count - 1];
        }
        FUZZ_CHECK(at[k] == n);
        FUZZ_CHECK(sum[k] == sum[0]);
        want = at[k];
    }
    FUZZ_CHECK(want == n);
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
    struct ids plain = IDS_INIT, cached = IDS_INIT;
    struct buf back = BUF_INIT;
    uint8_t *copy = malloc(n ? n : 1);

    if (!t) {
        t = make();
        enc = encoder_new(t, 0);
    }
    /* exactly n bytes, so that the sanitizer sees one more */
    if (n > 0)
        memcpy(copy, data, n);
    check_pieces(copy, n);
    tokenizer_encode(t, (char *)copy, n, &plain);
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
