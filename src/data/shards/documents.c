#include "config.h"
#include "data/shards/documents.h"

#include "common/mem.h"
#include "common/num.h"
#include "common/rng.h"

void permute_init(struct permute *p, uint64_t n, uint64_t seed, uint64_t stream)
{
    p->n = n;
    p->half = 1;
    while (p->half < 32 && (uint64_t)1 << (2 * p->half) < n)
        p->half++;
    for (int i = 0; i < PERMUTE_ROUNDS; i++)
        p->key[i] = rng_word(seed, stream, (uint64_t)i);
}

/* Any function would do; a good one needs few rounds. */
static uint64_t mix_half(uint64_t x, uint32_t key)
{
    x = (x + key) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 29)) * 0x94d049bb133111ebu;
    return x ^ (x >> 32);
}

static uint64_t permute_once(const struct permute *p, uint64_t i)
{
    const uint64_t mask = ((uint64_t)1 << p->half) - 1;
    uint64_t left = i >> p->half, right = i & mask;

    for (int r = 0; r < PERMUTE_ROUNDS; r++) {
        const uint64_t next = left ^ (mix_half(right, p->key[r]) & mask);

        left = right;
        right = next;
    }
    return left << p->half | right;
}

uint64_t permute(const struct permute *p, uint64_t i)
{
    do {
        i = permute_once(p, i);
    } while (i >= p->n);
    return i;
}

enum { STRIDE = 64 };

static void add_start(struct documents *d, int64_t at)
{
    APPEND(d->start, d->n, d->room) = at;
}

/* The text begins with the rest of a document, or with the first one. */
static int find_in(struct documents *d, const struct shard *s, int32_t eot,
                   struct err *e)
{
    int32_t id[SHARD_BLOCK];

    for (int64_t i = 0; i < s->n; i += SHARD_BLOCK) {
        const int64_t n = s->n - i < SHARD_BLOCK ? s->n - i : SHARD_BLOCK;

        if (shard_copy(s, i, n, id, NULL, e) < 0)
            return -1;
        for (int64_t k = 0; k < n; k++)
            if ((id[k] & INT32_MAX) == eot && d->tokens + i + k > 0)
                add_start(d, d->tokens + i + k);
    }
    d->tokens += s->n;
    return 0;
}

int documents_find(struct documents *d, const struct shard *shard, size_t n,
                   int32_t eot, struct err *e)
{
    *d = (struct documents){ .epoch = -1 };
    add_start(d, 0);
    for (size_t k = 0; k < n; k++)
        if (find_in(d, &shard[k], eot, e) < 0)
            return -1;
    add_start(d, d->tokens);
    d->n--; /* the last one is the end of the text */
    d->mark = xcalloc(d->n / STRIDE + 1, sizeof *d->mark);
    return 0;
}

static void begin_epoch(struct documents *d, int64_t epoch, uint64_t seed)
{
    int64_t at = 0;

    permute_init(&d->order, d->n, seed,
                 rng_stream(RNG_DATA, (uint64_t)epoch + 1, 1));
    d->epoch = epoch;
    for (uint64_t i = 0; i < d->n; i++) {
        if (i % STRIDE == 0)
            d->mark[i / STRIDE] = at;
        at += documents_length(d, permute(&d->order, i));
    }
}

struct token_range documents_range(struct documents *d, int64_t epoch,
                                   int64_t at, uint64_t seed)
{
    uint64_t i, doc;
    size_t low;

    if (epoch != d->epoch)
        begin_epoch(d, epoch, seed);
    low = num_place(d->mark, (d->n - 1) / STRIDE + 1, at + 1) - 1;
    at -= d->mark[low];
    for (i = low * STRIDE;
         at >= documents_length(d, doc = permute(&d->order, i)); i++)
        at -= documents_length(d, doc);
    return (struct token_range){ d->start[doc] + at,
                                 documents_length(d, doc) - at };
}

void documents_clear(struct documents *d)
{
    FREE(d->start, d->mark);
    *d = (struct documents){ 0 };
}
