/*
 * piece_cache - a cache of pieces, also a shared one, does not change the ids
 */
#include "config.h"
#include "data/token/tokenizer.h"
#include "t/lib/tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/rng.h"
#include "data/token/bpe.h"

/* Every two of some bytes are a token: of all, more than 65,536 of them. */
static struct tokenizer *pairs(int bytes)
{
    struct tokenizer *t = tokenizer_new(TOKENIZER_BPE, PRETOKENIZE_GPT2);
    struct err e = { 0 };

    for (int a = 0; a < 256; a++)
        tokenizer_add(t, a, &(uint8_t){ (uint8_t)a }, 1, &e);
    for (int a = 0; a < bytes; a++) {
        for (int b = 0; b < bytes; b++) {
            const uint8_t two[2] = { (uint8_t)a, (uint8_t)b };
            const int32_t id = t->n_ids;

            tokenizer_add(t, id, two, 2, &e);
            tokenizer_merge(t, a, b, id, &e);
        }
    }
    if (tokenizer_ready(t, &e) < 0)
        diag("%s", e.text);
    return t;
}

static bool same(const struct ids *a, const struct ids *b)
{
    return a->n == b->n &&
           (a->n == 0 || memcmp(a->id, b->id, a->n * sizeof *a->id) == 0);
}

static void many_ids(void)
{
    enum { LEN = 20000 };
    static char text[LEN];
    struct tokenizer *t = pairs(256);
    struct piece_cache *cache = piece_cache_new();
    struct encoder *enc = encoder_new(t, cache, 0);
    struct ids plain = { 0 }, cached = { 0 };
    struct buf back = BUF_INIT;
    int32_t most = 0;

    for (uint64_t i = 0; i < LEN; i++)
        text[i] = "etaoin shrdlu\n, 19\xE9\xFF"[rng_word(5, 0, i) % 21];
    tokenizer_encode(t, text, LEN, 0, &plain);
    encoder_run(enc, text, LEN, &cached);
    cached.n = 0; /* once more, now that words are known */
    encoder_run(enc, text, LEN, &cached);
    for (size_t i = 0; i < plain.n; i++)
        most = plain.id[i] > most ? plain.id[i] : most;
    ok(tokenizer_vocab(t) == 65792 && most > 65535,
       "the tokenizer has ids beyond 16 bits");
    ok(same(&plain, &cached), "a cache does not change the ids");
    tokenizer_decode(t, cached.id, cached.n, &back);
    ok(back.len == LEN && memcmp(back.s, text, LEN) == 0,
       "ids beyond 16 bits are decoded");
    buf_clear(&back);
    ids_clear(&plain);
    ids_clear(&cached);
    encoder_free(enc);
    piece_cache_free(cache);
    tokenizer_free(t);
}

/* Words that differ only in zeros at their end, which pad the keys; of any
 * number of ids, as only some of their bytes make pairs. */
static void zeros(void)
{
    enum { LEN = 200000 };
    char *text = xmalloc(LEN);
    struct tokenizer *t = pairs(2);
    struct piece_cache *cache = piece_cache_new();
    struct encoder *enc = encoder_new(t, cache, 0);
    struct ids plain = { 0 }, cached = { 0 };
    int bad = 0;

    for (uint64_t i = 0; i < LEN; i++)
        text[i] = rng_word(6, i / 500, i) % (2 + i / 500 % 70) == 0
                      ? 'a'
                      : (char)(rng_word(7, 0, i) % 3 / 2);
    tokenizer_encode(t, text, LEN, 0, &plain);
    for (int i = 0; i < 3; i++) {
        cached.n = 0;
        encoder_run(enc, text, LEN, &cached);
        bad += !same(&plain, &cached);
    }
    ok(bad == 0, "a cache tells words of zeros apart");
    free(text);
    ids_clear(&plain);
    ids_clear(&cached);
    encoder_free(enc);
    piece_cache_free(cache);
    tokenizer_free(t);
}

/* Texts of all lengths, with unreadable memory behind them. */
static void ends_of_texts(void)
{
    static const char words[] = "a bb incomprehensible 12345 extraordinarily ";
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *const map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct tokenizer *t = pairs(128);
    struct piece_cache *cache = piece_cache_new();
    struct encoder *enc = encoder_new(t, cache, 0);
    struct ids plain = { 0 }, cached = { 0 };
    int bad = 0;

    mprotect(map + page, page, PROT_NONE);
    for (size_t n = 1; n <= 1000; n++) {
        char *text = map + page - n;

        for (size_t i = 0; i < n; i++)
            text[i] = words[i % (sizeof words - 1)];
        plain.n = cached.n = 0;
        tokenizer_encode(t, text, n, 0, &plain);
        encoder_run(enc, text, n, &cached);
        bad += !same(&plain, &cached);
    }
    ok(bad == 0, "an encoder reads nothing behind a text of any length");
    ids_clear(&plain);
    ids_clear(&cached);
    encoder_free(enc);
    piece_cache_free(cache);
    tokenizer_free(t);
    munmap(map, 2 * page);
}

/* A thread that encodes texts, each on its own and with the cache. */
struct reader {
    pthread_t thread;
    const struct tokenizer *t;
    struct piece_cache *cache;
    uint64_t seed;
    int bad;
};

/*
 * Words from a few that come often, and from more than a cache can hold;
 * of up to 15 bytes and beyond; with more ids than there is room for.
 */
static size_t some_words(char *text, size_t room, uint64_t seed)
{
    size_t n = 0;

    for (uint64_t i = 0; room - n > 32; i++) {
        uint64_t word = rng_word(seed, 1, i);
        const uint64_t which = word % 4 ? word >> 2 & 0xFFFFF : word >> 2 & 63;
        size_t len = 3 + which % 19;

        text[n++] = ' ';
        for (word = which * 0x9E3779B97F4A7C15; len > 0; len--, word /= 23)
            text[n++] = (char)('a' + word % 23);
    }
    return n;
}

static void *encode_some(void *arg)
{
    enum { TEXTS = 40, ROOM = 1 << 17 };
    struct reader *r = arg;
    struct encoder *enc = encoder_new(r->t, r->cache, 0);
    struct ids plain = { 0 }, cached = { 0 };
    char *text = xmalloc(ROOM);

    for (uint64_t i = 0; i < TEXTS; i++) {
        const size_t n = some_words(text, ROOM, r->seed + i / 2);

        plain.n = cached.n = 0;
        tokenizer_encode(r->t, text, n, 0, &plain);
        encoder_run(enc, text, n, &cached);
        r->bad += !same(&plain, &cached);
    }
    free(text);
    ids_clear(&plain);
    ids_clear(&cached);
    encoder_free(enc);
    return NULL;
}

static void many_threads(int bytes)
{
    enum { READERS = 4 };
    struct tokenizer *t = pairs(bytes);
    struct piece_cache *cache = piece_cache_new();
    struct reader r[READERS];
    int bad = 0;

    for (int i = 0; i < READERS; i++) {
        /* two and two read the same */
        r[i] = (struct reader){
            .t = t,
            .cache = cache,
            .seed = 1000 * (uint64_t)(i / 2),
        };
        if (pthread_create(&r[i].thread, NULL, encode_some, &r[i]) != 0)
            return (void)ok(false, "a thread can be started");
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(r[i].thread, NULL);
        bad += r[i].bad;
    }
    ok(bad == 0, "threads that share a cache of %lld ids have the right ones",
       (long long)tokenizer_vocab(t));
    piece_cache_free(cache);
    tokenizer_free(t);
}

int main(void)
{
    many_ids();
    zeros();
    ends_of_texts();
    many_threads(128);
    many_threads(256);
    return done_testing();
}
