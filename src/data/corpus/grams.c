#include "config.h"
#include "data/corpus/grams.h"

#include <string.h>

#include "common/mem.h"

/* A word, and the sequence of words that begins there. */
struct gram {
    uint32_t at, before;  /* bytes and characters of all words before it */
    uint64_t sum, factor; /* see hash_words() */
    uint64_t hash;        /* of the sequence */
    uint32_t count;       /* of those like it, if it is the first one */
    bool repeats;         /* may there be others like it? */
};

enum { WINDOW = 16 };

void grams_begin(struct grams *g)
{
    buf_trim(&g->joined, 0);
    g->n = 0;
    g->hashed = g->windowed = false;
    GROW(g->word, g->n, g->room);
    g->word[0] = (struct gram){ .factor = 1, .repeats = true };
}

void grams_add(struct grams *g, const char *word, size_t len, size_t chars)
{
    const uint32_t before = g->word[g->n++].before;

    buf_add(&g->joined, word, len);
    GROW(g->word, g->n, g->room);
    g->word[g->n] = (struct gram){ .at = (uint32_t)g->joined.len,
                                   .before = before + (uint32_t)chars,
                                   .repeats = true };
}

/*
 * The sum of (byte + 1) * base^-i over all bytes of words so far, where i
 * counts them.  The difference of two such sums, times base^i of its first
 * byte, is a hash of the bytes between, wherever words end.
 */
static void hash_words(struct grams *g)
{
    const uint64_t base = 0x9e3779b97f4a7c15u, inverse = 0xf1de83e19937733du;
    uint64_t power = 1; /* of the inverse */

    for (struct gram *w = g->word; w < g->word + g->n; w++) {
        uint64_t hash = 0, factor = 1;

        for (uint32_t i = w->at; i < w[1].at; i++) {
            hash = hash * base + (uint8_t)g->joined.s[i] + 1;
            factor *= base;
            power *= inverse;
        }
        w[1].factor = w->factor * factor;
        w[1].sum = w->sum + hash * power;
    }
    g->hashed = true;
}

static uint64_t hash_of(const struct gram *w, size_t n)
{
    return (w[n].sum - w->sum) * w->factor;
}

/* Empty the slots, of which a quarter will be used at the most. */
static void begin_slots(struct grams *g)
{
    for (g->slots = 16; g->slots < 4 * g->n;)
        g->slots *= 2;
    if (g->slots > g->slots_room) {
        g->slot = xrealloc(g->slot, g->slots, sizeof *g->slot);
        g->slots_room = g->slots;
    }
    memset(g->slot, 0, g->slots * sizeof *g->slot);
}

/* The first sequence with the hash of the one at word i, which may be that. */
static size_t first_like(struct grams *g, size_t i, uint64_t hash)
{
    size_t at = hash * 0xd6e8feb86659fd93u >> 32 & (g->slots - 1);

    while (g->slot[at] && g->word[g->slot[at] - 1].hash != hash)
        at = (at + 1) & (g->slots - 1);
    if (!g->slot[at]) {
        g->slot[at] = (uint32_t)i + 1;
        g->word[i].hash = hash;
    }
    return g->slot[at] - 1;
}

/* The same; and both repeat if they are two. */
static size_t mark_repeats(struct grams *g, size_t i, uint64_t hash)
{
    const size_t first = first_like(g, i, hash);

    g->word[i].repeats = first != i;
    g->word[first].repeats |= first != i;
    return first;
}

/* Where a sequence of at least WINDOW bytes repeats, its first ones do. */
static void find_windows(struct grams *g)
{
    uint64_t half[WINDOW / 8] = { 0 };

    buf_add(&g->joined, half, WINDOW);
    begin_slots(g);
    for (size_t i = 0; i < g->n; i++) {
        memcpy(half, g->joined.s + g->word[i].at, WINDOW);
        mark_repeats(g, i, half[0] * 3 ^ half[1] * 0xff51afd7ed558ccdu);
    }
    g->windowed = true;
}

size_t grams_top(struct grams *g, size_t n)
{
    const struct gram *top = g->word;
    uint32_t most = 1;

    if (g->n < n)
        return 0;
    if (!g->hashed)
        hash_words(g);
    begin_slots(g);
    for (size_t i = 0; i + n <= g->n; i++) {
        struct gram *const w = &g->word[i];
        uint64_t hash = 0;

        w->count = 0;
        if (!w->repeats) /* not with fewer words */
            continue;
        for (size_t k = 0; k < n; k++)
            hash = hash * 0xff51afd7ed558ccdu + hash_of(w + k, 1);
        g->word[mark_repeats(g, i, hash)].count++;
    }
    for (size_t i = 0; i + n <= g->n; i++)
        if (g->word[i].count > most) {
            top = &g->word[i];
            most = top->count;
        }
    return most * (top[n].before - top->before + n - 1);
}

size_t grams_repeated(struct grams *g, size_t n)
{
    size_t chars = 0;

    if (!g->hashed)
        hash_words(g);
    if (!g->windowed)
        find_windows(g);
    begin_slots(g);
    for (size_t i = 0; i + n <= g->n;) {
        const struct gram *const w = &g->word[i];
        const bool is_first = (!w->repeats && w[n].at - w->at >= WINDOW) ||
                              first_like(g, i, hash_of(w, n)) == i;

        chars += is_first ? 0 : w[n].before - w->before;
        i += is_first ? 1 : n;
    }
    return chars;
}

void grams_clear(struct grams *g)
{
    buf_clear(&g->joined);
    FREE(g->word, g->slot);
}
