#include "config.h"
#include "data/token/nfc.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/utf8.h"

/* Characters from NO_ROWS on have no row in the tables.  The UTF-8 of each
 * character with a row begins with FIRST_BYTE or a later byte. */
enum { NO_ROWS = 0x30000, FIRST_BYTE = 0xCC };

/* Hangul syllables are composed by arithmetic. */
enum {
    HANGUL_S = 0xAC00,
    HANGUL_L = 0x1100,
    HANGUL_V = 0x1161,
    HANGUL_T = 0x11A7,
    HANGUL_LS = 19,
    HANGUL_VS = 21,
    HANGUL_TS = 28,
    HANGUL_SS = HANGUL_LS * HANGUL_VS * HANGUL_TS
};

/* Characters that follow one another up to a safe one, decomposed. */
struct sequence {
    struct part {
        uint32_t c, class;
    } * part;
    size_t n, room;
};

static uint64_t unsafe_bits[NO_ROWS / 64];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int compare_characters(const void *x, const void *y)
{
    const uint32_t c = ((const struct nfc_row *)x)->c;
    const uint32_t d = ((const struct nfc_row *)y)->c;

    return (c > d) - (c < d);
}

static int compare_pairs(const void *x, const void *y)
{
    const struct nfc_row *p = x, *q = y;

    return p->a != q->a ? (p->a > q->a) - (p->a < q->a)
                        : (p->b > q->b) - (p->b < q->b);
}

/* Is the character of the key in the range of the row? */
static int compare_range(const void *key, const void *row)
{
    const uint32_t c = ((const struct nfc_row *)key)->c;
    const struct nfc_row *r = row;

    return (c >= r->c + r->a) - (c < r->c);
}

static void set_unsafe(uint32_t first, uint32_t n)
{
    for (uint32_t c = first; c < first + n; c++)
        unsafe_bits[c / 64] |= (uint64_t)1 << c % 64;
}

static void mark_unsafe(void)
{
    for (size_t i = 0; i < NFC_DECOMPOSED; i++)
        set_unsafe(nfc_decomposed[i].c, 1);
    for (size_t i = 0; i < NFC_COMPOSED; i++) /* these stay */
        unsafe_bits[nfc_composed[i].c / 64] &=
            ~((uint64_t)1 << nfc_composed[i].c % 64);
    for (size_t i = 0; i < NFC_COMPOSED; i++)
        set_unsafe(nfc_composed[i].b, 1);
    for (size_t i = 0; i < NFC_CLASSES; i++)
        set_unsafe(nfc_classes[i].c, nfc_classes[i].a);
    set_unsafe(HANGUL_V, HANGUL_VS);
    set_unsafe(HANGUL_T + 1, HANGUL_TS - 1);
}

/* May this character change, or be composed with the one before it? */
static inline bool is_unsafe(uint32_t c)
{
    return c < NO_ROWS && (unsafe_bits[c / 64] >> c % 64 & 1);
}

bool nfc_may_change(const char *text, size_t n)
{
    const uint8_t *p = (const uint8_t *)text, *const end = p + n;

    pthread_once(&once, mark_unsafe);
    while (p < end) {
        uint32_t c;

        if (*p < FIRST_BYTE) {
            p++;
            continue;
        }
        p += utf8_decode(p, end, &c);
        if (c != UTF8_BAD && is_unsafe(c))
            return true;
    }
    return false;
}

static void add_part(struct sequence *s, uint32_t c)
{
    const struct nfc_row key = { .c = c };
    const struct nfc_row *r =
        bsearch(&key, nfc_classes, NFC_CLASSES, sizeof key, compare_range);

    APPEND(s->part, s->n, s->room) = (struct part){ c, r ? r->b : 0 };
}

static void decompose(struct sequence *s, uint32_t c)
{
    const uint32_t i = c - HANGUL_S;
    const struct nfc_row key = { .c = c };
    const struct nfc_row *d;

    if (i < HANGUL_SS) {
        add_part(s, HANGUL_L + i / (HANGUL_VS * HANGUL_TS));
        add_part(s, HANGUL_V + i / HANGUL_TS % HANGUL_VS);
        if (i % HANGUL_TS > 0)
            add_part(s, HANGUL_T + i % HANGUL_TS);
        return;
    }
    d = bsearch(&key, nfc_decomposed, NFC_DECOMPOSED, sizeof key,
                compare_characters);
    if (!d) {
        add_part(s, c);
        return;
    }
    decompose(s, d->a);
    if (d->b)
        decompose(s, d->b);
}

/* Sort each run of characters of a class other than 0 by their classes. */
static void reorder(struct sequence *s)
{
    for (size_t i = 1; i < s->n; i++) {
        const struct part part = s->part[i];
        size_t k = i;

        if (part.class == 0)
            continue;
        for (; k > 0 && s->part[k - 1].class > part.class; k--)
            s->part[k] = s->part[k - 1];
        s->part[k] = part;
    }
}

/* The character that two are composed into, or 0. */
static uint32_t compose_two(uint32_t a, uint32_t b)
{
    const struct nfc_row key = { 0, a, b };
    const struct nfc_row *pair;

    if (a - HANGUL_L < HANGUL_LS && b - HANGUL_V < HANGUL_VS)
        return HANGUL_S +
               ((a - HANGUL_L) * HANGUL_VS + (b - HANGUL_V)) * HANGUL_TS;
    if (a - HANGUL_S < HANGUL_SS && (a - HANGUL_S) % HANGUL_TS == 0 &&
        b - HANGUL_T - 1 < HANGUL_TS - 1)
        return a + b - HANGUL_T;
    pair = bsearch(&key, nfc_composed, NFC_COMPOSED, sizeof key, compare_pairs);
    return pair ? pair->c : 0;
}

/* Compose each character with the last one of class 0, unless one between them
 * has the same class or a higher one. */
static void compose(struct sequence *s)
{
    size_t n = 0, first = SIZE_MAX;
    uint32_t between = 0;

    for (size_t i = 0; i < s->n; i++) {
        const struct part part = s->part[i];
        const bool free =
            first != SIZE_MAX && (first + 1 == n || between < part.class);
        const uint32_t c = free ? compose_two(s->part[first].c, part.c) : 0;

        if (c) {
            s->part[first].c = c;
            continue;
        }
        if (part.class == 0)
            first = n;
        between = part.class;
        s->part[n++] = part;
    }
    s->n = n;
}

static void write_sequence(struct sequence *s, struct buf *b)
{
    reorder(s);
    compose(s);
    for (size_t i = 0; i < s->n; i++) {
        uint8_t out[UTF8_MAX];

        buf_add(b, out, utf8_encode(out, s->part[i].c));
    }
    s->n = 0;
}

void nfc_add(struct buf *b, const char *text, size_t n)
{
    const uint8_t *p = (const uint8_t *)text, *const end = p + n;
    struct sequence s = { 0 };

    pthread_once(&once, mark_unsafe);
    while (p < end) {
        uint32_t c;
        const size_t len = utf8_decode(p, end, &c);

        if (c == UTF8_BAD || !is_unsafe(c))
            write_sequence(&s, b);
        if (c == UTF8_BAD)
            buf_add(b, p, len);
        else
            decompose(&s, c);
        p += len;
    }
    write_sequence(&s, b);
    free(s.part);
}
