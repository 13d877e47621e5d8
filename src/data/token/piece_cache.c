#include "config.h"
#include "data/token/lexicon.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "common/mem.h"

/* The second half of the key of a slot that is being filled.  No word has this
 * key, because its length is 0. */
enum { TAKEN = 2 };

static size_t memory_size(int bits)
{
    return ((size_t)1 << bits) * sizeof(struct lexicon_line);
}

struct lexicon *lexicon_make(const struct tokenizer *t, int bits)
{
    struct lexicon_line *line =
        mmap(NULL, memory_size(bits), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct lexicon *l;

    if (line == MAP_FAILED)
        return NULL;
    madvise(line, memory_size(bits), MADV_HUGEPAGE);
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
    munmap(l->line, memory_size(l->bits));
    free(l);
}

const struct lexicon_word *lexicon_find(struct lexicon *l, struct word_key k,
                                        struct lexicon_word **slot)
{
    const size_t i = lexicon_line_number(k, l->bits);
    struct lexicon_line *const first = &l->line[i], *const next =
                                                        &l->line[i ^ 1];
    struct lexicon_word *const at[] = { &first->word[0], &first->word[1],
                                        &next->word[1], &next->word[0] };

    for (int p = 0; p < 4; p++) {
        if (lexicon_word_differs(at[p], k) == 0)
            return at[p];
        if (atomic_load_explicit(&at[p]->b, memory_order_relaxed) == 0) {
            *slot = at[p];
            return NULL;
        }
    }
    *slot = NULL;
    return NULL;
}

void lexicon_keep(struct lexicon *l, struct lexicon_word *slot,
                  struct word_key k, const int32_t *id, size_t n)
{
    uint64_t none = 0;

    if (n == 0 ||
        n > (size_t)(l->narrow ? LEXICON_IDS_NARROW : LEXICON_IDS_WIDE))
        return;
    if (!slot) {
        slot = &l->line[lexicon_line_number(k, l->bits)].word[1];
        atomic_store_explicit(&slot->b, 0, memory_order_relaxed);
    }
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
