#include "config.h"
#include "data/token/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/utf8.h"
#include "data/token/sentencepiece.h"

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
    uint8_t *known = xmalloc(n);
    size_t left = 0, count = 0;

    for (size_t i = 0; i < n; i++)
        if (t->byte_id[s[i]] >= 0)
            known[left++] = s[i];
    if (left > 0)
        count = merge_piece(t, known, left, out);
    free(known);
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
