#include "config.h"
#include "track/serve/delta.h"

#include <stdint.h>
#include <string.h>

#include "common/hash.h"
#include "common/mem.h"
#include "common/output/emit.h"

struct piece {
    const char *s;
    size_t len;
};

static struct piece *cut(const struct buf *b, size_t *n)
{
    struct piece *piece = NULL;
    size_t room = 0;

    *n = 0;
    for (size_t at = 0; at < b->len; at += piece[(*n)++].len) {
        GROW(piece, *n, room);
        piece[*n].s = b->s + at;
        piece[*n].len = 1 + strcspn(b->s + at + 1, "{[");
    }
    return piece;
}

static bool is_equal(const struct piece *a, const struct piece *b)
{
    return a->len == b->len && memcmp(a->s, b->s, a->len) == 0;
}

/* Where in a table a piece is, or where it belongs: 1 + its index, or 0. */
static size_t *place_of(size_t *table, size_t mask, const struct piece *old,
                        const struct piece *p)
{
    size_t i = hash128(p->s, p->len, 0).lo & mask;

    while (table[i] && !is_equal(&old[table[i] - 1], p))
        i = (i + 1) & mask;
    return &table[i];
}

/* Write pieces of the old text or, if they are none, new text. */
static void write_part(struct emit *o, size_t from, size_t n, const char *text,
                       const char *end)
{
    if (n) {
        emit_array(o, NULL);
        emit_int(o, NULL, (int64_t)from);
        emit_int(o, NULL, (int64_t)n);
        emit_array_end(o);
    } else if (text < end) {
        emit_printf(o, NULL, "%.*s", (int)(end - text), text);
    }
}

void delta_shorten(struct buf *answer, const struct buf *old)
{
    size_t n_old, n_now, mask = 1, from = 0, n = 0, next = 0;
    struct piece *a = cut(old, &n_old), *b = cut(answer, &n_now);
    const char *text = answer->s; /* what was not written yet */
    struct buf out = BUF_INIT;
    struct emit o = { .b = &out };
    size_t *table;

    while (mask < 2 * n_old)
        mask = 2 * mask + 1;
    table = xcalloc(mask + 1, sizeof *table);
    for (size_t i = 0; i < n_old; i++)
        *place_of(table, mask, a, &a[i]) = i + 1;
    emit_object(&o, NULL);
    emit_array(&o, "delta");
    for (size_t i = 0; i < n_now; i++) {
        const size_t at = next < n_old && is_equal(&a[next], &b[i])
                              ? next + 1
                              : *place_of(table, mask, a, &b[i]);

        if (n ? at != from + n + 1 : at > 0) {
            write_part(&o, from, n, text, b[i].s);
            text = b[i].s;
            from = at - 1;
            n = 0;
        }
        n += at > 0;
        next = at ? at : next + 1;
    }
    write_part(&o, from, n, text, answer->s + answer->len);
    emit_array_end(&o);
    emit_object_end(&o);
    buf_clear(answer);
    *answer = out;
    FREE(table, a, b);
}
