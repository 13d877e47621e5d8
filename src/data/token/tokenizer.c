#include "config.h"
#include "data/token/bpe.h"

#include <string.h>

#include "common/mem.h"
#include "data/token/nfc.h"
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
    FREE(t->token, t->text, t->slot, t->merge, t->special, t->byte_rank,
         t->pair, t->filter, t);
}

/* The slot that holds these bytes, or would hold them. */
static size_t find_slot(const struct tokenizer *t, const uint8_t *s, size_t n,
                        uint32_t *tag)
{
    const size_t mask = t->slot_room - 1;
    size_t i;

    *tag = (uint32_t)(word_key_hash_bytes(s, n) >> 32);
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
    AUTO_FREE struct token_slot *old = t->slot;
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
        return err_input(e, "id %lld is not between 0 and %d", (long long)id,
                         TOKENIZER_MAX_ID);
    if (n == 0 || n > TOKENIZER_MAX_LEN)
        return err_input(e, "id %lld has %zu bytes; a token has 1 to %d",
                         (long long)id, n, TOKENIZER_MAX_LEN);
    if (t->n_text + n > UINT32_MAX / 2)
        return err_input(e, "the tokens have more than 2 GiB");
    reserve_token(t, (int32_t)id, n);
    if (t->token[id].len > 0)
        return err_input(e, "two tokens have the id %lld", (long long)id);
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
        return err_input(e, "ids %d and %lld have the same bytes",
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
    AUTO(buf_clear) struct buf text = BUF_INIT;
    int got = 0;

    if (t->kind == TOKENIZER_SENTENCEPIECE)
        sentencepiece_add_spaces(&text, name, n);
    else
        buf_add(&text, name, n);
    if (!has_text(t, id, text.s, text.len) && !is_byte(t, id, name, n))
        got = store_token(t, id, text.s, text.len, e);
    if (got < 0)
        return -1;
    s.id = (int32_t)id;
    s.name = t->token[id];
    if (!has_text(t, id, name, n)) {
        reserve_token(t, s.id, n);
        s.name = add_text(t, name, n);
    }
    s.match = s.name;
    APPEND(t->special, t->n_specials, t->special_room) = s;
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
        return err_input(e, "there are more than %d merges",
                         TOKENIZER_MAX_MERGES - 1);
    APPEND(t->merge, t->n_merges, t->merge_room) =
        (struct merge){ left, right, into };
    return 0;
}

const struct special *tokenizer_find_special(const struct tokenizer *t,
                                             int64_t id)
{
    for (size_t i = 0; i < t->n_specials; i++)
        if (t->special[i].id == id)
            return &t->special[i];
    return NULL;
}

int32_t tokenizer_special_id(const struct tokenizer *t, const char *name)
{
    for (size_t i = 0; i < t->n_specials; i++) {
        const struct token *k = &t->special[i].name;

        if (k->len == strlen(name) &&
            memcmp(t->text + k->at, name, k->len) == 0)
            return t->special[i].id;
    }
    return -1;
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
    int32_t id = -1;

    for (size_t k = 0; id < 0 && k < sizeof names / sizeof names[0]; k++)
        id = tokenizer_special_id(t, names[k]);
    return id;
}

/* Append the name of a special token, normalized as a text is. */
static void normalize_name(const struct tokenizer *t, const struct special *s,
                           struct buf *out)
{
    const char *name = (const char *)t->text + s->name.at;
    AUTO(buf_clear) struct buf composed = BUF_INIT;

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
}

/*
 * Normalize the special tokens that are looked for in normalized text.  If
 * normalization changes nothing and all of them are, they may as well be looked
 * for in the text itself.
 */
static void make_matches(struct tokenizer *t)
{
    const bool changes = t->nfc || t->kind == TOKENIZER_SENTENCEPIECE;
    bool all = true;
    AUTO(buf_clear) struct buf b = BUF_INIT;

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
        /* no merges make the token, which comes from nothing but the match */
        if (tokenizer_find(t, token_text(t, s->id), t->token[s->id].len) !=
            s->id)
            t->token[s->id] = s->match;
    }
}

static int check_merges(const struct tokenizer *t, struct err *e)
{
    for (size_t i = 0; i < t->n_merges; i++) {
        const struct merge *m = &t->merge[i];

        if (m->left < 0 || m->right < 0 || m->into < 0 || m->left >= t->n_ids ||
            m->right >= t->n_ids || m->into >= t->n_ids ||
            t->token[m->left].len == 0 || t->token[m->right].len == 0 ||
            t->token[m->into].len == 0)
            return err_input(e, "merge %zu uses an id that no token has", i);
    }
    return 0;
}

/* Does a token have a space after another character? */
static bool has_inner_space(const struct tokenizer *t, int32_t id)
{
    const uint8_t *s = token_text(t, id);

    for (uint32_t i = 1; i < t->token[id].len; i++)
        if (s[i] == ' ' && s[i - 1] != ' ')
            return true;
    return false;
}

/* Without a pre-tokenizer, a text is one piece.  If no merge joins a space to
 * the character before it, the text may as well be divided there, which lets
 * encoders remember words. */
static void choose_pieces(struct tokenizer *t)
{
    bool words = !t->whole;

    if (t->pretokenizer == PRETOKENIZE_SPACES)
        return;
    for (size_t i = 0; i < t->n_merges && words; i++)
        words = !has_inner_space(t, t->merge[i].into);
    t->pretokenizer = words ? PRETOKENIZE_WORDS : PRETOKENIZE_NONE;
}

int tokenizer_ready(struct tokenizer *t, struct err *e)
{
    if (t->n_ids == 0)
        return err_input(e, "there are no tokens");
    if (check_merges(t, e) < 0)
        return -1;
    SORT(t->special, t->n_specials, compare_ids);
    make_matches(t);
    t->eot = find_eot(t);
    tokenizer_index_merges(t);
    if (t->kind == TOKENIZER_SENTENCEPIECE)
        choose_pieces(t);
    tokenizer_make_hash(t);
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

/* ---- many ids ----------------------------------------------------------- */

/*
 * A short token takes a quarter of a cache line: its bytes and their number.
 * All 16 bytes are copied at once, and the next token overwrites those that do
 * not belong to it, so the only branch is for long tokens and for `stop`.
 */
enum { CELL = 16, SHORT = CELL - 1, LONG, STOP };

struct decoder_cell {
    uint8_t text[SHORT];
    uint8_t len; /* or LONG, or STOP */
};

struct decoder {
    const struct tokenizer *t;
    struct decoder_cell *cell; /* by id */
    uint32_t n;                /* cells */
};

struct decoder *decoder_new(const struct tokenizer *t, int32_t stop)
{
    struct decoder *d = xmalloc(sizeof *d);

    d->t = t;
    d->n = (uint32_t)tokenizer_vocab(t);
    d->cell = xcalloc(d->n, sizeof *d->cell);
    for (uint32_t i = 0; i < d->n; i++) {
        const struct token *k = &t->token[i];
        struct decoder_cell *c = &d->cell[i];

        c->len = (int32_t)i == stop ? STOP
                 : k->len <= SHORT  ? (uint8_t)k->len
                                    : LONG;
        if (c->len <= SHORT)
            memcpy(c->text, t->text + k->at, k->len);
    }
    return d;
}

void decoder_free(struct decoder *d)
{
    FREE(d->cell, d);
}

/* Make room for n short tokens and for the padding of the last. */
static char *reserve_tokens(struct buf *out, const char *end, int64_t n)
{
    out->len = (size_t)(end - out->s);
    buf_room(out, (size_t)n * SHORT + CELL);
    return out->s + out->len;
}

int64_t decoder_run(const struct decoder *d, const int32_t *ids, int64_t n,
                    struct buf *out)
{
    const struct decoder_cell *const cell = d->cell;
    const uint32_t vocab = d->n;
    char *p = reserve_tokens(out, out->s + out->len, n);
    int64_t i;

    for (i = 0; i < n; i++) {
        const uint32_t id = (uint32_t)ids[i];
        struct decoder_cell c;

        if (__builtin_expect(id >= vocab, 0))
            break;
        c = cell[id];
        if (__builtin_expect(c.len > SHORT, 0)) {
            if (c.len == STOP)
                break;
            out->len = (size_t)(p - out->s);
            buf_add(out, token_text(d->t, (int32_t)id), d->t->token[id].len);
            p = reserve_tokens(out, out->s + out->len, n - i);
            continue;
        }
        memcpy(p, &c, CELL);
        p += c.len;
    }
    out->len = (size_t)(p - out->s);
    out->s[out->len] = '\0';
    return i;
}
