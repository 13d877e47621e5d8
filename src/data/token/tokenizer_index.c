/*
 * tokenizer_index - the tables to find merges, and the hash of a tokenizer
 */
#include "config.h"
#include "data/token/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

/* ---- merges ------------------------------------------------------------ */

/* If a pair is added twice the later rank counts, as in Hugging Face's. */
static void add_pair(struct tokenizer *t, uint32_t left, uint32_t right,
                     uint32_t rank)
{
    const uint64_t key = (uint64_t)left << 21 | right;
    const uint64_t hash = bpe_pair_hash(left, right);
    const size_t bit = (size_t)(hash >> (64 - FILTER_BITS));
    const size_t mask = t->pair_room - 1;
    size_t i = (size_t)(hash >> 32) & mask;

    t->filter[bit / 64] |= (uint64_t)1 << bit % 64;
    while (t->pair[i] != UINT64_MAX) {
        if (t->pair[i] >> 22 == key) {
            t->pair[i] = key << 22 | rank;
            return;
        }
        i = (i + 1) & mask;
    }
    t->pair[i] = key << 22 | rank;
}

static void alloc_pairs(struct tokenizer *t, size_t n)
{
    t->pair_room = 16;
    while (t->pair_room * 4 < 5 * n) /* small, to stay in the cache */
        t->pair_room *= 2;
    t->pair = xmalloc(t->pair_room * sizeof *t->pair);
    memset(t->pair, -1, t->pair_room * sizeof *t->pair);
    t->filter = xcalloc((1 << FILTER_BITS) / 64, sizeof *t->filter);
}

struct joined_pair {
    uint32_t left, right, rank;
};

/* Every pair of tokens whose joined bytes are a merged token, with its rank. */
static struct joined_pair *find_joined(const struct tokenizer *t, size_t *n)
{
    struct joined_pair *list = NULL;
    size_t room = 0;

    *n = 0;
    for (size_t rank = 0; rank < t->n_merges; rank++) {
        const struct token *k = &t->token[t->merge[rank].into];
        const uint8_t *s = t->text + k->at;

        for (size_t i = 1; i < k->len; i++) {
            const int32_t left = tokenizer_find(t, s, i);
            const int32_t right =
                left < 0 ? -1 : tokenizer_find(t, s + i, k->len - i);

            if (right < 0)
                continue;
            APPEND(list, *n, room) =
                (struct joined_pair){ (uint32_t)left, (uint32_t)right,
                                      (uint32_t)rank };
        }
    }
    return list;
}

static void make_pairs(struct tokenizer *t)
{
    if (t->joined) {
        size_t n;
        struct joined_pair *list = find_joined(t, &n);

        alloc_pairs(t, n);
        for (size_t i = 0; i < n; i++)
            add_pair(t, list[i].left, list[i].right, list[i].rank);
        free(list);
        return;
    }
    alloc_pairs(t, t->n_merges);
    for (size_t i = 0; i < t->n_merges; i++)
        add_pair(t, (uint32_t)t->merge[i].left, (uint32_t)t->merge[i].right,
                 (uint32_t)i);
}

static void make_byte_ranks(struct tokenizer *t)
{
    t->byte_rank = xmalloc(65536 * sizeof *t->byte_rank);
    memset(t->byte_rank, -1, 65536 * sizeof *t->byte_rank);
    for (int i = 0; i < 65536; i++) {
        const int32_t a = t->byte_id[i >> 8], b = t->byte_id[i & 255];

        if (a >= 0 && b >= 0)
            t->byte_rank[i] = bpe_rank(t, (uint32_t)a, (uint32_t)b);
    }
}

/*
 * Merges are ordered if the parts of each are made by lower ranks only; then
 * all pairs of one rank can be merged in one pass.
 */
static bool merges_ordered(const struct tokenizer *t)
{
    uint32_t *made = xmalloc((size_t)t->n_ids * sizeof *made);
    bool ordered = !t->joined;

    memset(made, 0, (size_t)t->n_ids * sizeof *made);
    for (size_t i = 0; i < t->n_merges && ordered; i++) {
        uint32_t *into = &made[t->merge[i].into];

        ordered = *into == 0; /* not if two merges make one id */
        *into = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < t->n_merges && ordered; i++)
        ordered = made[t->merge[i].left] <= i && made[t->merge[i].right] <= i;
    free(made);
    return ordered;
}

/* The id of the first merge if the others are consecutive, or -1. */
static int64_t find_base(const struct tokenizer *t)
{
    for (size_t i = 0; i < t->n_merges; i++)
        if (t->merge[i].into != t->merge[0].into + (int64_t)i)
            return -1;
    return t->n_merges > 0 ? t->merge[0].into : 0;
}

static void find_bytes(struct tokenizer *t)
{
    t->bytes_missing = false;
    for (int i = 0; i < 256; i++) {
        const uint8_t byte = (uint8_t)i;

        t->byte_id[i] = tokenizer_find(t, &byte, 1);
        t->bytes_missing = t->bytes_missing || t->byte_id[i] < 0;
    }
}

void tokenizer_index_merges(struct tokenizer *t)
{
    t->ordered = merges_ordered(t);
    t->base = find_base(t);
    make_pairs(t);
    if (t->kind == TOKENIZER_SENTENCEPIECE)
        return;
    find_bytes(t);
    make_byte_ranks(t);
}

/* ---- hash -------------------------------------------------------------- */

static void hash_int(struct sha256 *h, uint32_t n)
{
    const uint8_t le[4] = { (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16),
                            (uint8_t)(n >> 24) };

    sha256_add(h, le, sizeof le);
}

static void hash_special(struct sha256 *h, const struct tokenizer *t,
                         const struct special *s)
{
    const int how = s->flags & ~SPECIAL_ALWAYS;

    hash_int(h, (uint32_t)s->id | (uint32_t)(s->flags & SPECIAL_ALWAYS) << 31);
    if (how || s->name.at != t->token[s->id].at) {
        hash_int(h, (uint32_t)how);
        sha256_add(h, t->text + s->name.at, s->name.len);
    }
}

static void hash_sentencepiece(struct sha256 *h, const struct tokenizer *t)
{
    hash_int(h, (uint32_t)t->prefix | (uint32_t)t->metaspace << 8 |
                    (uint32_t)t->fuse_unknown << 9 |
                    (uint32_t)(t->pretokenizer == PRETOKENIZE_SPACES) << 10);
    hash_int(h, (uint32_t)t->unknown);
    for (int i = 0; i < 256; i++)
        hash_int(h, (uint32_t)t->byte_id[i]);
}

/*
 * The hash covers everything that decides the ids, so a tokenizer has the same
 * hash in all forms of files: the name of the pre-tokenizer, "chars", or
 * "sentencepiece" and its rules; "NFC" if text is normalized; the length and
 * bytes of each id; the merges as pairs; the special ids, with the top bit set
 * for the ids that are always recognised, and how else they are recognised.
 */
void tokenizer_make_hash(struct tokenizer *t)
{
    const char *kind = t->kind == TOKENIZER_BPE
                           ? pretokenize_names[t->pretokenizer]
                       : t->kind == TOKENIZER_CHARS ? "chars"
                                                    : "sentencepiece";
    struct sha256 h;

    sha256_init(&h);
    sha256_add(&h, kind, strlen(kind));
    if (t->kind == TOKENIZER_SENTENCEPIECE)
        hash_sentencepiece(&h, t);
    if (t->nfc)
        sha256_add(&h, "NFC", 3);
    hash_int(&h, (uint32_t)t->n_ids);
    for (int32_t id = 0; id < t->n_ids; id++) {
        hash_int(&h, t->token[id].len);
        sha256_add(&h, token_text(t, id), t->token[id].len);
    }
    hash_int(&h, (uint32_t)t->n_merges);
    for (size_t i = 0; i < t->n_merges; i++) {
        hash_int(&h, (uint32_t)t->merge[i].left);
        hash_int(&h, (uint32_t)t->merge[i].right);
    }
    for (size_t i = 0; i < t->n_specials; i++)
        hash_special(&h, t, &t->special[i]);
    sha256_text(&h, t->hash);
}
