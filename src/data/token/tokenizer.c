#include "config.h"
#include "data/token/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "data/token/nfc.h"
#include "data/token/sentencepiece.h"
#include "data/token/word_key.h"

struct tokenizer *tokenizer_new(enum tokenizer_kind kind,
                                enum pretokenizer pretokenizer)
{
    struct tokenizer *t = xcalloc(1, sizeof *t);

    t->kind = kind;
    t->pretokenizer = pretokenizer;
    t->eot = -1;
    t->unknown = -1;
    memset(t->byte_id, -1, sizeof t->byte_id);
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

/* Append bytes to the texts of tokens. */
static struct token add_text(struct tokenizer *t, const void *bytes, size_t n)
{
    const struct token k = { (uint32_t)t->n_text, (uint32_t)n };

    memcpy(t->text + t->n_text, bytes, n);
    t->n_text += n;
    return k;
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
    t->token[id] = add_text(t, bytes, n);
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

static bool has_text(const struct tokenizer *t, int64_t id, const void *bytes,
                     size_t n)
{
    return id >= 0 && id < t->n_ids && t->token[id].len == n &&
           memcmp(token_text(t, (int32_t)id), bytes, n) == 0;
}

/* Is this the name of the token of a byte? */
static bool is_byte(const struct tokenizer *t, int64_t id, const char *name,
                    size_t n)
{
    const int byte =
        t->kind == TOKENIZER_SENTENCEPIECE ? sentencepiece_byte(name, n) : -1;

    return byte >= 0 && t->byte_id[byte] == id;
}

int tokenizer_special(struct tokenizer *t, int64_t id, int flags,
                      const void *name, size_t n, struct err *e)
{
    struct special s = { .flags = flags };
    struct buf text = BUF_INIT;
    int got = 0;

    if (t->kind == TOKENIZER_SENTENCEPIECE)
        sentencepiece_add_spaces(&text, name, n);
    else
        buf_add(&text, name, n);
    if (!has_text(t, id, text.s, text.len) && !is_byte(t, id, name, n))
        got = store_token(t, id, text.s, text.len, e);
    buf_clear(&text);
    if (got < 0)
        return -1;
    s.id = (int32_t)id;
    s.name = t->token[id];
    if (!has_text(t, id, name, n)) {
        reserve_token(t, s.id, n);
        s.name = add_text(t, name, n);
    }
    s.match = s.name;
    GROW(t->special, t->n_specials, t->special_room);
    t->special[t->n_specials++] = s;
    return 0;
}

int tokenizer_byte(struct tokenizer *t, int64_t id, uint8_t byte, struct err *e)
{
    if (store_token(t, id, &byte, 1, e) < 0)
        return -1;
    t->byte_id[byte] = (int32_t)id;
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
static void make_hash(struct tokenizer *t)
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
            const struct special *s = &t->special[i];

            if (s->name.len == len &&
                memcmp(t->text + s->name.at, names[k], len) == 0)
                return s->id;
        }
    }
    return -1;
}

/* Append the name of a special token, normalized as a text is. */
static void normalize_name(const struct tokenizer *t, const struct special *s,
                           struct buf *out)
{
    const char *name = (const char *)t->text + s->name.at;
    struct buf composed = BUF_INIT;

    if (t->nfc)
        nfc_add(&composed, name, s->name.len);
    else
        buf_add(&composed, name, s->name.len);
    if (t->kind == TOKENIZER_SENTENCEPIECE && !t->metaspace) {
        if (t->prefix == PREFIX_ALWAYS)
            buf_char(out, ' ');
        sentencepiece_add_spaces(out, composed.s, composed.len);
    } else {
        buf_add(out, composed.s, composed.len);
    }
    buf_clear(&composed);
}

/* Can merges make this token? */
static bool is_ordinary(const struct tokenizer *t, int32_t id)
{
    return tokenizer_find(t, token_text(t, id), t->token[id].len) == id;
}

/*
 * Where normalization changes nothing and all added tokens are found after it,
 * they may as well be found before.
 */
static void make_matches(struct tokenizer *t)
{
    const bool changes = t->nfc || t->kind == TOKENIZER_SENTENCEPIECE;
    bool all = true;
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < t->n_specials; i++)
        all = all && (t->special[i].flags & SPECIAL_NORMALIZED);
    for (size_t i = 0; i < t->n_specials; i++) {
        struct special *s = &t->special[i];

        if (all && !changes)
            s->flags &= ~SPECIAL_NORMALIZED;
        if (!(s->flags & SPECIAL_NORMALIZED))
            continue;
        buf_trim(&b, 0);
        normalize_name(t, s, &b);
        reserve_token(t, s->id, b.len);
        s->match = add_text(t, b.s, b.len);
        if (!is_ordinary(t, s->id)) /* it comes from nothing but the match */
            t->token[s->id] = s->match;
    }
    buf_clear(&b);
}

static int check_merges(const struct tokenizer *t, struct err *e)
{
    for (size_t i = 0; i < t->n_merges; i++) {
        const struct merge *m = &t->merge[i];

        if (m->left < 0 || m->right < 0 || m->into < 0 || m->left >= t->n_ids ||
            m->right >= t->n_ids || m->into >= t->n_ids ||
            t->token[m->left].len == 0 || t->token[m->right].len == 0 ||
            t->token[m->into].len == 0)
            return err_set(e, ERR_INPUT,
                           "merge %zu uses an id that no token has", i);
    }
    return 0;
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

int tokenizer_ready(struct tokenizer *t, struct err *e)
{
    if (t->n_ids == 0)
        return err_set(e, ERR_INPUT, "there are no tokens");
    if (check_merges(t, e) < 0)
        return -1;
    if (t->n_specials > 1)
        qsort(t->special, t->n_specials, sizeof *t->special, compare_ids);
    make_matches(t);
    t->eot = find_eot(t);
    t->ordered = merges_ordered(t);
    t->base = find_base(t);
    make_pairs(t);
    if (t->kind == TOKENIZER_SENTENCEPIECE) {
        sentencepiece_choose_pieces(t);
    } else {
        find_bytes(t);
        make_byte_ranks(t);
    }
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

void tokenizer_drop_space(const struct tokenizer *t, struct buf *out,
                          size_t from)
{
    char *const text = out->s + from;

    if (t->prefix == PREFIX_NONE || *text != ' ')
        return;
    memmove(text, text + 1, out->len - from - 1);
    buf_trim(out, out->len - 1);
}

enum boundary_kind tokenizer_boundary(const struct tokenizer *t)
{
    if (t->kind != TOKENIZER_SENTENCEPIECE)
        return BOUNDARY_ANY;
    return t->pretokenizer == PRETOKENIZE_NONE ? BOUNDARY_NONE : BOUNDARY_SPACE;
}
