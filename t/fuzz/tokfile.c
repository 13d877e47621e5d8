/*
 * tokfile - what reads tokenizers, fed anything; the first byte says which
 */
#include "config.h"
#include "data/token/tokfile.h"

#include <string.h>

#include "t/fuzz/fuzz.h"

typedef int parse_fn(struct tokenizer *, const char *, size_t, struct err *);

static parse_fn *const parsers[] = {
    tokfile_parse_json,     tokfile_parse_pickle, tokfile_parse_merges,
    tokfile_parse_tiktoken, tokfile_parse_vocab,
};

static void use(const struct tokenizer *t)
{
    static const char text[] =
        "Hello, world's \xE6\xBC\xA2 ab abab 12345\n\n  x";
    struct ids ids = { 0 };
    struct buf back = BUF_INIT;

    tokenizer_encode(t, text, sizeof text - 1, 0, &ids);
    for (size_t i = 0; i < ids.n; i++)
        FUZZ_CHECK(ids.id[i] >= 0 && ids.id[i] < tokenizer_vocab(t));
    tokenizer_decode(t, ids.id, ids.n, &back);
    FUZZ_CHECK(back.len <= sizeof text - 1 + 3 * ids.n);
    buf_clear(&back);
    ids_clear(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const size_t kinds = sizeof parsers / sizeof parsers[0];
    struct tokenizer *t;
    struct err e = { 0 };
    size_t which;
    char *copy;

    if (n < 1)
        return 0;
    which = data[0] % kinds;
    copy = malloc(n > 1 ? n - 1 : 1);
    if (n > 1)
        memcpy(copy, data + 1, n - 1);
    t = tokenizer_new(which == 1 ? TOKENIZER_CHARS : TOKENIZER_BPE,
                      PRETOKENIZE_GPT2);
    if (parsers[which](t, copy, n - 1, &e) < 0)
        FUZZ_CHECK(e.kind != ERR_NONE && e.text[0]);
    else if (tokenizer_ready(t, &e) == 0)
        use(t);
    tokenizer_free(t);
    free(copy);
    return 0;
}
