#include "config.h"
#include "data/shards/decoder.h"

#include <string.h>

#include "common/mem.h"
#include "data/token/bpe.h"

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
