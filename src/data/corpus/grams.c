#include "config.h"
#include "data/corpus/grams.h"

#include <string.h>

#include "common/hash.h"
#include "common/mem.h"

/* A word, and the sequence of words that begins there. */
struct gram {
    uint32_t at, before; /* bytes and characters of all words before it */
    uint32_t key;        /* of its first bytes */
    uint32_t count;      /* of sequences like it, if it is the first one */
    uint32_t like;       /* 0, or a word + 1 before it with its first bytes */
    uint32_t same;       /* at most so many bytes occurred before */
    uint64_t hash;       /* of the sequence */
};

enum { WINDOW = 12, FAR = 64, TRIES = 100, BUCKETS = 256 };

void grams_begin(struct grams *g, const char *text, size_t n)
{
    if (n >= g->room) {
        g->room = 2 * n + 2;
        g->joined = xrealloc(g->joined, g->room + FAR, 1);
        g->word = xrealloc(g->word, g->room / 2 + 1, sizeof *g->word);
        g->later = xrealloc(g->later, g->room / 2 + 1, sizeof *g->later);
    }
    g->end = text + n;
    g->n = 0;
    g->searched = false;
    g->word[0] = (struct gram){ 0 };
}

void grams_add(struct grams *g, const char *word, size_t len, size_t chars)
{
    struct gram *const w = &g->word[g->n++];
    char *const to = g->joined + w->at;
    uint64_t key;

    if (len <= 16 && g->end - word >= 16)
        memcpy(to, word, 16); /* faster than a length that varies */
    else
        memcpy(to, word, len);
    memcpy(&key, to, sizeof key);
    key <<= len < sizeof key ? 8 * (sizeof key - len) : 0;
    w->key = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32);
    w[1].at = w->at + (uint32_t)len;
    w[1].before = w->before + (uint32_t)chars;
}

/* The hash of the bytes of n words, wherever these end. */
static uint64_t hash_of(const struct grams *g, const struct gram *w, size_t n)
{
    return hash128(g->joined + w->at, w[n].at - w->at, 0).hi;
}

/* Empty the slots, of which half will be used at the most. */
static void begin_slots(struct grams *g)
{
    for (g->slots = 16; g->slots < 2 * g->n;)
        g->slots *= 2;
    if (g->slots > g->slots_room) {
        g->slot = xrealloc(g->slot, g->slots, sizeof *g->slot);
        g->slots_room = g->slots;
    }
    memset(g->slot, 0, g->slots * sizeof *g->slot);
}

/* The slot of sequences with this hash, which is that of word i from now on. */
static uint32_t *find_slot(struct grams *g, size_t i, uint64_t hash)
{
    size_t at = hash >> 32 & (g->slots - 1);

    g->word[i].hash = hash;
    while (g->slot[at] && g->word[g->slot[at] - 1].hash != hash)
        at = (at + 1) & (g->slots - 1);
    return &g->slot[at];
}

/* The first sequence with the hash of the one at word i, which may be that. */
static size_t first_like(struct grams *g, size_t i, uint64_t hash)
{
    uint32_t *const slot = find_slot(g, i, hash);

    *slot = *slot ? *slot : (uint32_t)i + 1;
    return *slot - 1;
}

/* Equal sequences have the same bucket, so none has more characters than the
 * fullest one. */
static size_t fullest_bucket(const struct grams *g, size_t n)
{
    uint32_t bucket[BUCKETS] = { 0 }, most = 0;

    for (size_t i = 0; i + n <= g->n; i++) {
        const struct gram *const w = &g->word[i];
        uint32_t key = w->key;

        for (size_t k = 1; k < n; k++)
            key = key * 0x9e3779b1u + w[k].key;
        bucket[key >> 24] += w[n].before - w->before + (uint32_t)n - 1;
    }
    for (size_t i = 0; i < BUCKETS; i++)
        most = bucket[i] > most ? bucket[i] : most;
    return most;
}

double grams_top(struct grams *g, size_t n, size_t all, double limit)
{
    const double bound = (double)fullest_bucket(g, n) / (double)all;
    const struct gram *top = g->word;
    uint32_t most = 1;

    if (bound <= limit)
        return bound;
    begin_slots(g);
    for (size_t i = 0; i + n <= g->n; i++) {
        uint64_t hash = 0;

        g->word[i].count = 0;
        for (size_t k = 0; k < n; k++)
            hash = hash * 0xff51afd7ed558ccdu + hash_of(g, &g->word[i + k], 1);
        g->word[first_like(g, i, hash)].count++;
    }
    for (size_t i = 0; i + n <= g->n; i++)
        if (g->word[i].count > most) {
            top = &g->word[i];
            most = top->count;
        }
    return (double)(most * (top[n].before - top->before + n - 1)) / (double)all;
}

/* How many bytes from word i on occurred before, from a word on?  FAR where
 * this takes too long to tell. */
static uint32_t count_same(const struct grams *g, size_t i)
{
    const uint32_t at = g->word[i].at, all = g->word[g->n].at;
    uint32_t most = 0, tries = 0;

    for (uint32_t k = g->word[i].like; k && most < FAR;
         k = g->word[k - 1].like) {
        uint64_t differ = 0, here, there;
        uint32_t n = 0;

        for (; !differ && n < FAR; n += 8) {
            if (at + n + 8 > all || ++tries > TRIES)
                return FAR;
            memcpy(&here, g->joined + at + n, 8);
            memcpy(&there, g->joined + g->word[k - 1].at + n, 8);
            differ = here ^ there;
        }
        if (differ)
            n -= 8 - (uint32_t)__builtin_ctzll(differ) / 8;
        most = n > most ? n : most;
    }
    return most;
}

/* List the words with which a sequence of n words or more may begin that
 * occurred before, as its first bytes did, or as it is short. */
static void find_later(struct grams *g, size_t n)
{
    begin_slots(g);
    g->n_later = 0;
    for (size_t i = 0; i + n <= g->n; i++) {
        struct gram *const w = &g->word[i];
        uint64_t first = 0;
        uint32_t last, *slot;

        w->like = w->same = 0;
        if (g->word[g->n].at - w->at >= WINDOW) {
            memcpy(&first, g->joined + w->at, sizeof first);
            memcpy(&last, g->joined + w->at + sizeof first, sizeof last);
            slot = find_slot(g, i,
                             (first * 0x9e3779b97f4a7c15u ^ last) *
                                 0xff51afd7ed558ccdu);
            w->like = *slot;
            *slot = (uint32_t)i + 1;
            w->same = count_same(g, i);
        }
        if (w->same || w[n].at - w->at < WINDOW)
            g->later[g->n_later++] = (uint32_t)i;
    }
    g->searched = true;
}

/* The characters in all sequences that may have occurred before. */
static size_t most_repeated(const struct grams *g, size_t n)
{
    size_t chars = 0, end = 0;

    for (size_t k = 0; k < g->n_later && g->later[k] + n <= g->n; k++) {
        const size_t i = g->later[k], from = i > end ? i : end;
        const struct gram *const w = &g->word[i];
        const uint32_t len = w[n].at - w->at;

        if (len < WINDOW || len <= w->same || w->same == FAR) {
            end = i + n;
            chars += g->word[end].before - g->word[from].before;
        }
    }
    return chars;
}

double grams_repeated(struct grams *g, size_t n, size_t all, double limit)
{
    size_t chars = 0;
    double bound;

    if (!g->searched)
        find_later(g, n);
    bound = (double)most_repeated(g, n) / (double)all;
    if (bound <= limit)
        return bound;
    begin_slots(g);
    for (size_t i = 0; i + n <= g->n;) {
        const struct gram *const w = &g->word[i];
        const bool is_first = first_like(g, i, hash_of(g, w, n)) == i;

        chars += is_first ? 0 : w[n].before - w->before;
        i += is_first ? 1 : n;
    }
    return (double)chars / (double)all;
}

void grams_clear(struct grams *g)
{
    FREE(g->joined, g->word, g->later, g->slot);
}
