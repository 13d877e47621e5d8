#include "config.h"
#include "data/lexicon.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "common/mem.h"

/* The second half of the key of a place that is being filled.  No word has it:
 * it has no length. */
enum { TAKEN = 2 };

#define SIZE (((size_t)1 << LEXICON_BITS) * sizeof(struct line))

struct lexicon *lexicon_new(const struct tokenizer *t)
{
    struct line *line = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct lexicon *l;

    if (line == MAP_FAILED)
        return NULL;
    madvise(line, SIZE, MADV_HUGEPAGE);
    l = xmalloc(sizeof *l);
    *l = (struct lexicon){ line, tokenizer_vocab(t) <= 65536 };
    return l;
}

void lexicon_free(struct lexicon *l)
{
    if (!l)
        return;
    munmap(l->line, SIZE);
    free(l);
}

const struct word *lexicon_find(struct lexicon *l, struct word_key k,
                                struct word **place)
{
    struct line *const own = &l->line[lexicon_line(k)];
    struct line *const beside = &l->line[lexicon_line(k) ^ 1];
    struct word *const at[] = { &own->word[0], &own->word[1], &beside->word[1],
                                &beside->word[0] };

    for (int i = 0; i < 4; i++) {
        if (word_is_not(at[i], k) == 0)
            return at[i];
        if (atomic_load_explicit(&at[i]->b, memory_order_relaxed) == 0) {
            *place = at[i];
            return NULL;
        }
    }
    *place = NULL;
    return NULL;
}

void lexicon_keep(struct lexicon *l, struct word *place, struct word_key k,
                  const int32_t *id, size_t n)
{
    uint64_t none = 0;

    if (n == 0 || n > (size_t)(l->narrow ? IDS_NARROW : IDS_WIDE) ||
        !atomic_compare_exchange_strong_explicit(&place->b, &none, TAKEN,
                                                 memory_order_relaxed,
                                                 memory_order_relaxed))
        return;
    atomic_store_explicit(&place->a, k.a, memory_order_relaxed);
    for (size_t i = 0; i < n; i++) {
        if (l->narrow)
            place->id.narrow[i] = (uint16_t)id[i];
        else
            place->id.wide[i] = id[i];
    }
    atomic_store_explicit(&place->b, k.b | (uint64_t)n << 60,
                          memory_order_release);
}
