#include "config.h"
#include "data/token/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "data/token/word_key.h"

struct tokenizer *tokenizer_new(enum tokenizer_kind kind,
                                enum pretokenizer pretokenizer)
{
    struct tokenizer *t = xcalloc(1, sizeof *t);

    t->kind = kind;
    t->pretokenizer = pretokenizer;
    t->eot = -1;
    return t;
}

void tokenizer_free(struct tokenizer *t)
{
    if (!t)
        return;
    free(t->token);
    free(t->text);
    free(t->slot);
    free(t->merge);
    free(t->special);
    free(t->byte_rank);
    free(t->pair);
    free(t->filter);
    free(t);
}

/* The slot that holds these bytes, or would hold them. */
static size_t find_slot(const struct tokenizer *t, const uint8_t *s, size_t n,
                        uint32_t *tag)
{
    const size_t mask = t->slot_room - 1;
    size_t i;

    *tag = (uint32_t)(bytes_hash(s, n) >> 32);
    for (i = *tag & mask; t->slot[i].id >= 0; i = (i + 1) & mask) {
        const struct token *k;

        if (t->slot[i].tag != *tag)
            continue;
        k = &t->token[t->slot[i].id];
        if (k->len == n && memcmp(t->text + k->at, s, n) == 0)
            break;
    }
    return i;
}

int32_t tokenizer_find(const struct tokenizer *t, const void *bytes, size_t n)
{
    uint32_t tag;

    return t->slot_room ? t->slot[find_slot(t, bytes, n, &tag)].id : -1;
}

static void grow_slots(struct tokenizer *t)
{
    struct token_slot *old = t->slot;
    const size_t n = t->slot_room;

    t->slot_room = n ? 2 * n : 1 << 12;
    t->slot = xmalloc(t->slot_room * sizeof *t->slot);
    memset(t->slot, -1, t->slot_room * sizeof *t->slot);
    for (size_t i = 0; i < n; i++) {
        size_t k = old[i].tag & (t->slot_room - 1);

        if (old[i].id < 0)
            continue;
        while (t->slot[k].id >= 0)
            k = (k + 1) & (t->slot_room - 1);
        t->slot[k] = old[i];
    }
    free(old);
}

/* Make room for a token with this id and n bytes, and for 16 bytes that may be
 * read after them. */
static void reserve_token(struct tokenizer *t, int32_t id, size_t n)
{
    const size_t need = t->n_text + n + 16;

    if ((size_t)id >= t->token_room) {
        const size_t old = t->token_room;

        while ((size_t)id >= t->token_room)
            t->token_room = t->token_room ? 2 * t->token_room : 1 << 10;
        t->token = xrealloc(t->token, t->token_room, sizeof *t->token);
        memset(t->token + old, 0, (t->token_room - old) * sizeof *t->token);
    }
    if (need > t->text_room) {
        const size_t old = t->text_room;

        t->text_room = need > 2 * old ? 2 * need : 2 * old;
        t->text = xrealloc(t->text, t->text_room, 1);
        memset(t->text + old, 0, t->text_room - old);
    }
}

static int store_token(struct tokenizer *t, int64_t id, const void *bytes,
                       size_t n, struct err *e)
{
    if (id < 0 || id > TOKENIZER_MAX_ID)
        return err_set(e, ERR_INPUT, "id %lld is not between 0 and %d",
                       (long long)id, TOKENIZER_MAX_ID);
    if (n == 0 || n > TOKENIZER_MAX_LEN)
        return err_set(e, ERR_INPUT,
                       "id %lld has %zu bytes; a token has 1 to %d",
                       (long long)id, n, TOKENIZER_MAX_LEN);
    if (t->n_text + n > UINT32_MAX / 2)
        return err_set(e, ERR_INPUT, "the tokens have more than 2 GiB");
    reserve_token(t, (int32_t)id, n);
    if (t->token[id].len > 0)
        return err_set(e, ERR_INPUT, "two tokens have the id %lld",
                       (long long)id);
    t->token[id] = (struct token){ (uint32_t)t->n_text, (uint32_t)n };
    memcpy(t->text + t->n_text, bytes, n);
    t->n_text += n;
    if (id >= t->n_ids)
        t->n_ids = (int32_t)id + 1;
    return 0;
}

int tokenizer_add(struct tokenizer *t, int64_t id, const void *bytes, size_t n,
                  struct err *e)
{
    uint32_t tag;
    size_t slot;

    if (t->n_slots * 2 >= t->slot_room)
        grow_slots(t);
    slot = find_slot(t, bytes, n, &tag);
    if (t->slot[slot].id >= 0)
        return err_set(e, ERR_INPUT, "ids %d and %lld have the same bytes",
                       t->slot[slot].id, (long long)id);
    if (store_token(t, id, bytes, n, e) < 0)
        return -1;
    t->slot[slot] = (struct token_slot){ tag, (int32_t)id };
    t->n_slots++;
    if (n > t->longest)
        t->longest = (uint32_t)n;
    return 0;
}

int tokenizer_special(struct tokenizer *t, int64_t id, bool always,
                      const void *bytes, size_t n, struct err *e)
{
    if (id >= 0 && id < t->n_ids && t->token[id].len == n &&
        memcmp(token_text(t, (int32_t)id), bytes, n) == 0)
        ; /* the vocabulary has it already */
    else if (store_token(t, id, bytes, n, e) < 0)
        return -1;
    GROW(t->special, t->n_specials, t->special_room);
    t->special[t->n_specials++] = (struct special){ (int32_t)id, always };
    return 0;
}

int tokenizer_merge(struct tokenizer *t, int32_t left, int32_t right,
                    int32_t into, struct err *e)
{
    if (t->n_merges >= TOKENIZER_MAX_MERGES - 1)
        return err_set(e, ERR_INPUT, "there are more than %d merges",
                       TOKENIZER_MAX_MERGES - 1);
    GROW(t->merge, t->n_merges, t->merge_room);
    t->merge[t->n_merges++] = (struct merge){ left, right, into };
    return 0;
}

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
    free(t->pair);
    free(t->filter);
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
            GROW(list, *n, room);
            list[(*n)++] =
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
    free(t->byte_rank);
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

static void hash_int(struct sha256 *h, uint32_t n)
{
    const uint8_t le[4] = { (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16),
                            (uint8_t)(n >> 24) };

    sha256_add(h, le, sizeof le);
}

/*
 * The hash covers everything that decides the ids, so a tokenizer has the same
 * hash in all forms of files: the name of the pre-tokenizer or "chars"; "NFC"
 * if text is normalized; the length and bytes of each id; the merges as pairs;
 * the special ids, with the top bit set for the ids that are always recognised.
 */
static void make_hash(struct tokenizer *t)
{
    const char *kind =
        t->kind == TOKENIZER_BPE ? pretokenize_names[t->pretokenizer] : "chars";
    struct sha256 h;

    sha256_init(&h);
    sha256_add(&h, kind, strlen(kind));
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
        hash_int(&h, (uint32_t)t->special[i].id | (uint32_t)t->special[i].always
                                                      << 31);
    sha256_text(&h, t->hash);
}

bool token_is_special(const struct tokenizer *t, int32_t id)
{
    for (size_t i = 0; i < t->n_specials; i++)
        if (t->special[i].id == id)
            return true;
    return false;
}

static int compare_ids(const void *a, const void *b)
{
    const int32_t x = ((const struct special *)a)->id;
    const int32_t y = ((const struct special *)b)->id;

    return (x > y) - (x < y);
}

/* The end-of-text token, recognised by its usual names. */
static int32_t find_eot(const struct tokenizer *t)
{
    static const char *const names[] = {
        "<|endoftext|>", "<|end_of_text|>", "<|begin_of_text|>",
        "</s>",          "<|im_end|>",      "<eos>",
    };

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        const size_t len = strlen(names[k]);

        for (size_t i = 0; i < t->n_specials; i++) {
            const int32_t id = t->special[i].id;

            if (t->token[id].len == len &&
                memcmp(token_text(t, id), names[k], len) == 0)
                return id;
        }
    }
    return -1;
}

int tokenizer_ready(struct tokenizer *t, struct err *e)
{
    if (t->n_ids == 0)
        return err_set(e, ERR_INPUT, "there are no tokens");
    for (size_t i = 0; i < t->n_merges; i++) {
        const struct merge *m = &t->merge[i];

        if (m->left < 0 || m->right < 0 || m->into < 0 || m->left >= t->n_ids ||
            m->right >= t->n_ids || m->into >= t->n_ids ||
            t->token[m->left].len == 0 || t->token[m->right].len == 0 ||
            t->token[m->into].len == 0)
            return err_set(e, ERR_INPUT,
                           "merge %zu uses an id that no token has", i);
    }
    t->bytes_missing = false;
    for (int i = 0; i < 256; i++) {
        const uint8_t byte = (uint8_t)i;

        t->byte_id[i] = tokenizer_find(t, &byte, 1);
        t->bytes_missing = t->bytes_missing || t->byte_id[i] < 0;
    }
    if (t->n_specials > 1)
        qsort(t->special, t->n_specials, sizeof *t->special, compare_ids);
    t->eot = find_eot(t);
    t->ordered = merges_ordered(t);
    t->base = find_base(t);
    make_pairs(t);
    make_byte_ranks(t);
    make_hash(t);
    return 0;
}

int64_t tokenizer_vocab(const struct tokenizer *t)
{
    return t->n_ids;
}

int32_t tokenizer_eot(const struct tokenizer *t)
{
    return t->eot;
}

const char *tokenizer_hash(const struct tokenizer *t)
{
    return t->hash;
}

void tokenizer_decode(const struct tokenizer *t, const int32_t *ids, size_t n,
                      struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= 0 && ids[i] < t->n_ids)
            buf_add(out, token_text(t, ids[i]), t->token[ids[i]].len);
}
