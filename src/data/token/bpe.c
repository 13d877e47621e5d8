#include "config.h"
#include "data/token/bpe.h"

#include <string.h>

#include "common/mem.h"
#include "common/utf8.h"

/*
 * How long pieces are encoded in linear time and little memory.
 *
 * A sequence of tokens is the encoding of its text exactly if each pair of
 * neighbours is the encoding of its own text, because the first merge across a
 * boundary depends only on the two tokens beside it.  Therefore the encodings
 * of two overlapping windows can be joined at a token that both have at the
 * same position.  The second window begins at a token in the last third of the
 * first; nearly always its first token is the same.  If not, other positions
 * are tried, and then windows of twice the size.
 */
enum {
    WINDOW = 32,      /* bytes; short, because its cost is quadratic */
    WINDOW_MAX = 512, /* on the stack; larger windows are allocated */
    TRIES = 3,
};

/*
 * Merge every pair of rank *best in id[0..n), from left to right; rank[i] is
 * the rank of the pair (i, i + 1).  Returns the number of ids left, and in
 * *best the lowest rank among their pairs.  With `once` only the first pair is
 * merged.
 */
static size_t merge_pass(const struct tokenizer *t, uint32_t *id,
                         uint32_t *rank, size_t n, uint32_t *best, bool once)
{
    const uint32_t now = *best;
    const uint32_t into =
        t->base >= 0 ? (uint32_t)t->base + now : (uint32_t)t->merge[now].into;
    uint32_t lowest = NO_RANK, link = NO_RANK;
    bool changed = false, may = true;
    size_t out = 0;

    for (size_t i = 0; i < n; i++) {
        const bool hit = rank[i] == now && may;
        const uint32_t sym = hit ? into : id[i];

        i += hit;
        may = may && !(hit && once);
        if (hit || changed)
            link = out > 0 ? bpe_rank(t, id[out - 1], sym) : NO_RANK;
        if (out > 0)
            rank[out - 1] = link;
        lowest = link < lowest ? link : lowest;
        link = rank[i];
        id[out++] = sym;
        changed = hit;
    }
    rank[out - 1] = NO_RANK;
    *best = lowest;
    return out;
}

/* Merge n symbols, of whose pairs the lowest rank is `best`. */
static size_t merge_symbols(const struct tokenizer *t, uint32_t *id,
                            uint32_t *rank, size_t n, uint32_t best)
{
    rank[n - 1] = NO_RANK;
    while (best != NO_RANK)
        n = merge_pass(t, id, rank, n, &best, !t->ordered);
    return n;
}

static size_t merge_bytes(const struct tokenizer *t, const uint8_t *s, size_t n,
                          uint32_t *id, uint32_t *rank)
{
    uint32_t best = NO_RANK;

    id[0] = (uint32_t)t->byte_id[s[0]];
    for (size_t i = 1; i < n; i++) {
        const uint32_t r = t->byte_rank[s[i - 1] << 8 | s[i]];

        id[i] = (uint32_t)t->byte_id[s[i]];
        rank[i - 1] = r;
        best = r < best ? r : best;
    }
    return merge_symbols(t, id, rank, n, best);
}

/* Merge characters, all of which have a token. */
static size_t merge_characters(const struct tokenizer *t, const uint8_t *s,
                               size_t n, uint32_t *id, uint32_t *rank)
{
    const uint8_t *const end = s + n;
    uint32_t best = NO_RANK, c;
    size_t count = 0;

    while (s < end) {
        const size_t len = utf8_decode(s, end, &c);

        id[count] = (uint32_t)tokenizer_find(t, s, len);
        if (count > 0) {
            rank[count - 1] = bpe_rank(t, id[count - 1], id[count]);
            best = rank[count - 1] < best ? rank[count - 1] : best;
        }
        count++;
        s += len;
    }
    return merge_symbols(t, id, rank, count, best);
}

static size_t merge_window(const struct tokenizer *t, const uint8_t *s,
                           size_t n, int32_t *out)
{
    uint32_t on_stack[2 * WINDOW_MAX];
    uint32_t *id = n <= WINDOW_MAX ? on_stack : xmalloc(2 * n * sizeof *id);
    uint32_t *rank = id + (n <= WINDOW_MAX ? WINDOW_MAX : n);

    n = t->kind == TOKENIZER_SENTENCEPIECE ? merge_characters(t, s, n, id, rank)
                                           : merge_bytes(t, s, n, id, rank);
    memcpy(out, id, n * sizeof *out);
    if (id != on_stack)
        free(id);
    return n;
}

/* A window of a piece, encoded. */
struct bpe_window {
    int32_t *id;
    size_t n, room;
};

/* Encode the first `size` of n bytes, or fewer if they end in a character. */
static void window_encode(const struct tokenizer *t, struct bpe_window *w,
                          const uint8_t *s, size_t n, size_t size)
{
    if (size < n) {
        n = size;
        while (t->kind == TOKENIZER_SENTENCEPIECE && (s[n] & 0xC0) == 0x80)
            n--;
    }
    if (w->room < n) {
        w->room = n;
        w->id = xrealloc(w->id, n, sizeof *w->id);
    }
    w->n = merge_window(t, s, n, w->id);
}

/*
 * Find a token of `a`, the encoding of s[0..size), at which the next window can
 * continue, and leave the encoding of that window in `b`.  Returns the index of
 * the token and its position, or 0 if there is none.
 */
static size_t find_joint(const struct tokenizer *t, const struct bpe_window *a,
                         struct bpe_window *b, const uint8_t *s, size_t n,
                         size_t size, size_t *position)
{
    size_t at = 0, k = 0;

    while (k < a->n && at + t->token[a->id[k]].len <= size - size / 3)
        at += t->token[a->id[k++]].len;
    for (int try = 0; try < TRIES && k > 0 && k < a->n; try++) {
        window_encode(t, b, s + at, n - at, size);
        if (b->id[0] == a->id[k]) {
            *position = at;
            return k;
        }
        at -= t->token[a->id[--k]].len;
    }
    return 0;
}

static size_t merge_long(const struct tokenizer *t, const uint8_t *s, size_t n,
                         int32_t *out)
{
    struct bpe_window a = { 0 }, b = { 0 };
    size_t size = WINDOW, count = 0;

    window_encode(t, &a, s, n, size);
    while (size < n) {
        size_t position;
        const size_t k = find_joint(t, &a, &b, s, n, size, &position);

        if (k > 0) {
            struct bpe_window swap = a;

            memcpy(out + count, a.id, k * sizeof *out);
            count += k;
            s += position;
            n -= position;
            a = b;
            b = swap;
        } else {
            size *= 2;
            window_encode(t, &a, s, n, size);
        }
    }
    memcpy(out + count, a.id, a.n * sizeof *out);
    count += a.n;
    FREE(a.id, b.id);
    return count;
}

static size_t merge_piece(const struct tokenizer *t, const uint8_t *s, size_t n,
                          int32_t *out)
{
    return n <= WINDOW ? merge_window(t, s, n, out) : merge_long(t, s, n, out);
}

/* Merge the bytes that have an id, without the others. */
static size_t merge_known(const struct tokenizer *t, const uint8_t *s, size_t n,
                          int32_t *out)
{
    AUTO_FREE uint8_t *known = xmalloc(n);
    size_t left = 0, count = 0;

    for (size_t i = 0; i < n; i++)
        if (t->byte_id[s[i]] >= 0)
            known[left++] = s[i];
    if (left > 0)
        count = merge_piece(t, known, left, out);
    return count;
}

static int32_t character_at(const struct tokenizer *t, const uint8_t *s,
                            const uint8_t *end, size_t *n)
{
    uint32_t c;

    *n = utf8_decode(s, end, &c);
    return c == UTF8_BAD ? -1 : tokenizer_find(t, s, *n);
}

/* An unknown character becomes its bytes or the unknown token. */
static size_t add_unknown(const struct tokenizer *t, const uint8_t *s, size_t n,
                          int32_t *out, bool fuse)
{
    if (t->unknown >= 0) {
        *out = t->unknown;
        return !fuse;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = t->byte_id[s[i]];
    return n;
}

/* No merge has an unknown character, so the text between them is merged. */
static size_t merge_between_unknown(const struct tokenizer *t, const uint8_t *s,
                                    size_t n, int32_t *out)
{
    const uint8_t *const end = s + n, *known = s;
    bool fuse = false;
    size_t count = 0;

    while (s < end) {
        size_t len;

        if (character_at(t, s, end, &len) >= 0) {
            s += len;
            continue;
        }
        if (s > known)
            count += merge_piece(t, known, (size_t)(s - known), out + count);
        fuse = fuse && s == known;
        count += add_unknown(t, s, len, out + count, fuse);
        fuse = t->fuse_unknown;
        known = s += len;
    }
    if (s > known)
        count += merge_piece(t, known, (size_t)(s - known), out + count);
    return count;
}

/* The token of a whole piece, or -1. */
static int32_t find_whole(const struct tokenizer *t, const uint8_t *piece,
                          size_t n)
{
    const int byte = t->kind == TOKENIZER_SENTENCEPIECE
                         ? sentencepiece_byte((const char *)piece, n)
                         : -1;

    if (byte >= 0 && t->byte_id[byte] >= 0)
        return t->byte_id[byte];
    return n <= t->longest ? tokenizer_find(t, piece, n) : -1;
}

size_t bpe_piece(const struct tokenizer *t, const uint8_t *piece, size_t n,
                 int32_t *out)
{
    if (t->whole) {
        const int32_t id = find_whole(t, piece, n);

        if (id >= 0) {
            out[0] = id;
            return 1;
        }
    }
    if (t->kind == TOKENIZER_SENTENCEPIECE)
        return merge_between_unknown(t, piece, n, out);
    if (t->bytes_missing)
        return merge_known(t, piece, n, out);
    return merge_piece(t, piece, n, out);
}

/* Printable characters of Latin-1 stand for themselves. */
static bool stands_for_itself(uint32_t c)
{
    return (c >= 0x21 && c <= 0x7E) || (c >= 0xA1 && c <= 0xFF && c != 0xAD);
}

uint32_t bpe_byte_char(uint8_t byte)
{
    if (stands_for_itself(byte))
        return byte;
    if (byte <= 0x20)
        return 0x100u + byte;
    if (byte == 0xAD)
        return 0x143;
    return 0x121u + byte - 0x7F;
}

int bpe_char_byte(uint32_t c)
{
    if (c <= 0xFF)
        return stands_for_itself(c) ? (int)c : -1;
    if (c <= 0x120)
        return (int)c - 0x100;
    if (c <= 0x142)
        return (int)c - 0x121 + 0x7F;
    return c == 0x143 ? 0xAD : -1;
}

int bpe_add_bytes(struct tokenizer *t, struct err *e)
{
    int32_t id = 0;

    for (uint32_t c = 0; c <= 0x143; c++) {
        const int byte = bpe_char_byte(c);
        const uint8_t b = (uint8_t)byte;

        if (byte < 0)
            continue;
        t->byte_id[b] = id;
        if (tokenizer_add(t, id++, &b, 1, e) < 0)
            return -1;
    }
    return 0;
}

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
        AUTO_FREE struct joined_pair *list = find_joined(t, &n);

        alloc_pairs(t, n);
        for (size_t i = 0; i < n; i++)
            add_pair(t, list[i].left, list[i].right, list[i].rank);
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
    AUTO_FREE uint32_t *made = xmalloc((size_t)t->n_ids * sizeof *made);
    bool ordered = !t->joined;

    memset(made, 0, (size_t)t->n_ids * sizeof *made);
    for (size_t i = 0; i < t->n_merges && ordered; i++) {
        uint32_t *into = &made[t->merge[i].into];

        ordered = *into == 0; /* not if two merges make one id */
        *into = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < t->n_merges && ordered; i++)
        ordered = made[t->merge[i].left] <= i && made[t->merge[i].right] <= i;
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

/* ---- SentencePiece ------------------------------------------------------ */

enum { MARK = sizeof SENTENCEPIECE_SPACE - 1 };

/* Append text with one string replaced by another. */
static void add_replaced(struct buf *b, const char *text, size_t n,
                         const char *from, const char *to)
{
    const size_t len = strlen(from);
    const char *const end = text + n, *found;

    while ((found = memmem(text, (size_t)(end - text), from, len))) {
        buf_add(b, text, (size_t)(found - text));
        buf_str(b, to);
        text = found + len;
    }
    buf_add(b, text, (size_t)(end - text));
}

void sentencepiece_add_spaces(struct buf *b, const void *text, size_t n)
{
    add_replaced(b, text, n, SENTENCEPIECE_SPACE, " ");
}

void sentencepiece_add_marks(struct buf *b, const void *text, size_t n)
{
    add_replaced(b, text, n, " ", SENTENCEPIECE_SPACE);
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

int sentencepiece_byte(const char *name, size_t n)
{
    int high, low;

    if (n != 6 || memcmp(name, "<0x", 3) != 0 || name[5] != '>')
        return -1;
    high = hex_digit(name[3]);
    low = hex_digit(name[4]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}
