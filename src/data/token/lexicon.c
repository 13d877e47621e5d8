#include "config.h"
#include "data/token/lexicon.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "common/mem.h"

/* The second half of the key of a place that is being filled.  No word has it:
 * it has no length. */
enum { TAKEN = 2 };

static size_t size_of(int bits)
{
    return ((size_t)1 << bits) * sizeof(struct line);
}

struct lexicon *lexicon_make(const struct tokenizer *t, int bits)
{
    struct line *line = mmap(NULL, size_of(bits), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct lexicon *l;

    if (line == MAP_FAILED)
        return NULL;
    madvise(line, size_of(bits), MADV_HUGEPAGE);
    l = xmalloc(sizeof *l);
    *l = (struct lexicon){ line, bits, tokenizer_vocab(t) <= 65536 };
    return l;
}

struct lexicon *lexicon_new(const struct tokenizer *t)
{
    return lexicon_make(t, LEXICON_BITS);
}

void lexicon_free(struct lexicon *l)
{
    if (!l)
        return;
    munmap(l->line, size_of(l->bits));
    free(l);
}

const struct word *lexicon_find(struct lexicon *l, struct word_key k,
                                struct word **place)
{
    const size_t i = lexicon_line(k, l->bits);
    struct line *const own = &l->line[i], *const beside = &l->line[i ^ 1];
    struct word *const at[] = { &own->word[0], &own->word[1], &beside->word[1],
                                &beside->word[0] };

    for (int p = 0; p < 4; p++) {
        if (word_is_not(at[p], k) == 0)
            return at[p];
        if (atomic_load_explicit(&at[p]->b, memory_order_relaxed) == 0) {
            *place = at[p];
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

    if (n == 0 || n > (size_t)(l->narrow ? IDS_NARROW : IDS_WIDE))
        return;
    if (!place) {
        place = &l->line[lexicon_line(k, l->bits)].word[1];
        atomic_store_explicit(&place->b, 0, memory_order_relaxed);
    }
    if (!atomic_compare_exchange_strong_explicit(&place->b, &none, TAKEN,
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
