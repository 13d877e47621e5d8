#include "config.h"
#include "data/corpus/locate.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

/*
 * Rabin and Karp: the hash of LOCATE_LEAST bytes follows from that of the bytes
 * one further left.  A table of bits rejects most positions of a document.
 */
enum { BITS = 1 << 18 };

struct search {
    struct locate_piece *piece;
    size_t n, left;
    uint64_t *hash; /* of the beginning of each piece */
    uint64_t power; /* of the byte that leaves */
    uint8_t bits[BITS / 8];
};

static const uint64_t FACTOR = 0x9e3779b97f4a7c15U;

static uint64_t hash_start(const char *text)
{
    uint64_t h = 0;

    for (int i = 0; i < LOCATE_LEAST; i++)
        h = h * FACTOR + (unsigned char)text[i];
    return h;
}

static size_t bit_of(uint64_t h)
{
    return (size_t)(h >> 46);
}

static void begin_search(struct search *s)
{
    s->power = 1;
    for (int i = 1; i < LOCATE_LEAST; i++)
        s->power *= FACTOR;
    s->hash = xcalloc(s->n, sizeof *s->hash);
    for (size_t i = 0; i < s->n; i++) {
        s->piece[i].file = NULL;
        if (s->piece[i].len < LOCATE_LEAST)
            continue;
        s->hash[i] = hash_start(s->piece[i].text);
        s->bits[bit_of(s->hash[i]) / 8] |=
            (uint8_t)(1U << (bit_of(s->hash[i]) % 8));
        s->left++;
    }
}

/* Is there a piece at this position of the document? */
static void match_at(struct search *s, uint64_t h, const struct corpus_block *b,
                     const struct corpus_doc *d, size_t at)
{
    for (size_t i = 0; i < s->n; i++) {
        struct locate_piece *p = &s->piece[i];
        const size_t len = p->len < LOCATE_MOST ? p->len : LOCATE_MOST;

        if (p->file || s->hash[i] != h || p->len < LOCATE_LEAST ||
            len > d->len - at || memcmp(p->text, d->text + at, len) != 0)
            continue;
        p->file = xstrdup(b->file);
        p->line = d->line + (b->json ? 0 : boundary_count_lines(d->text, at));
        s->left--;
    }
}

static void search_document(struct search *s, const struct corpus_block *b,
                            const struct corpus_doc *d)
{
    uint64_t h;

    if (d->len < LOCATE_LEAST)
        return;
    h = hash_start(d->text);
    for (size_t at = 0; s->left > 0; at++) {
        const char *t = d->text + at;

        if (s->bits[bit_of(h) / 8] >> (bit_of(h) % 8) & 1)
            match_at(s, h, b, d, at);
        if (at + LOCATE_LEAST >= d->len)
            return;
        h = (h - (unsigned char)t[0] * s->power) * FACTOR +
            (unsigned char)t[LOCATE_LEAST];
    }
}

int locate_pieces(struct locate_piece *piece, size_t n,
                  const struct corpus_conf *conf, struct err *e)
{
    struct search *s = xcalloc(1, sizeof *s);
    struct corpus *corpus = NULL;
    struct corpus_block *b;
    int got = corpus_open(&corpus, conf, e);

    s->piece = piece;
    s->n = n;
    begin_search(s);
    while (got >= 0 && s->left > 0 && (got = corpus_next(corpus, &b, e)) > 0) {
        for (size_t i = 0; i < b->n; i++)
            search_document(s, b, &b->doc[i]);
        corpus_done(corpus, b);
    }
    corpus_close(corpus);
    free(s->hash);
    free(s);
    return got < 0 ? -1 : 0;
}

void locate_clear(struct locate_piece *piece, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(piece[i].file);
}
