#include "config.h"
#include "data/token/piece_cache.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "common/mem.h"
#include "data/token/tokenizer.h"

/* The second half of the key of a slot that is being filled.  No word has this
 * key, because its length is 0. */
enum { TAKEN = 2 };

enum { BYTES = PIECE_CACHE_LINES * sizeof(struct piece_cache_line) };

struct piece_cache *piece_cache_new(const struct tokenizer *t)
{
    struct piece_cache_line *line = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct piece_cache *l;

    if (line == MAP_FAILED)
        return NULL;
    madvise(line, BYTES, MADV_HUGEPAGE);
    l = xmalloc(sizeof *l);
    *l = (struct piece_cache){ line, tokenizer_vocab(t) <= 65536 };
    return l;
}

void piece_cache_free(struct piece_cache *l)
{
    if (!l)
        return;
    munmap(l->line, BYTES);
    free(l);
}

const struct piece_cache_word *piece_cache_find(struct piece_cache *l,
                                                struct word_key k,
                                                struct piece_cache_word **slot)
{
    const size_t i = piece_cache_line_number(k);
    struct piece_cache_line *const first = &l->line[i], *const next =
                                                            &l->line[i ^ 1];
    struct piece_cache_word *const at[] = { &first->word[0], &first->word[1],
                                            &next->word[1], &next->word[0] };

    *slot = NULL;
    for (int p = 0; p < 4 && !*slot; p++) {
        if (piece_cache_word_differs(at[p], k) == 0)
            return at[p];
        if (atomic_load_explicit(&at[p]->b, memory_order_relaxed) == 0)
            *slot = at[p];
    }
    return NULL;
}

void piece_cache_keep(struct piece_cache *l, struct piece_cache_word *slot,
                      struct word_key k, const int32_t *id, size_t n)
{
    uint64_t none = 0;

    if (n == 0 ||
        n > (size_t)(l->narrow ? PIECE_CACHE_IDS_NARROW : PIECE_CACHE_IDS_WIDE))
        return;
    if (!atomic_compare_exchange_strong_explicit(
            &slot->b, &none, TAKEN, memory_order_relaxed, memory_order_relaxed))
        return;
    atomic_store_explicit(&slot->a, k.a, memory_order_relaxed);
    for (size_t i = 0; i < n; i++) {
        if (l->narrow)
            slot->id.narrow[i] = (uint16_t)id[i];
        else
            slot->id.wide[i] = id[i];
    }
    atomic_store_explicit(&slot->b, k.b | (uint64_t)n << 60,
                          memory_order_release);
}
