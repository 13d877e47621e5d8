#include "config.h"
#include "data/token/added.h"

#include <string.h>

#include "common/format/unicode.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "data/token/boundary.h"

/* The character that ends at text + at, or UTF8_BAD. */
static uint32_t char_before(const uint8_t *text, size_t at, size_t *len)
{
    uint32_t c;

    for (*len = 1; *len < UTF8_MAX && *len < at; ++*len)
        if ((text[at - *len] & 0xC0) != 0x80)
            break;
    return utf8_decode(text + at - *len, text + at, &c) == *len ? c : UTF8_BAD;
}

static bool is_space(const struct added_finder *f, uint32_t c)
{
    /* in Hugging Face's normalized text, U+2581 stands for a space */
    const bool mark = c == ' ' && f->normalized && !f->t->metaspace &&
                      f->t->kind == TOKENIZER_SENTENCEPIECE;

    return c != UTF8_BAD && unicode_class(c) == UNICODE_SPACE && !mark;
}

static bool is_whole_word(const uint8_t *text, size_t n, size_t from, size_t to)
{
    uint32_t before = UTF8_BAD, after = UTF8_BAD;
    size_t len;

    if (from > 0)
        before = char_before(text, from, &len);
    if (to < n)
        utf8_decode(text + to, text + n, &after);
    return (before == UTF8_BAD || !unicode_is_word(before)) &&
           (after == UTF8_BAD || !unicode_is_word(after));
}

/* The longest token at text + at, or NULL. */
static const struct special *find_longest(const struct added_finder *f,
                                          const uint8_t *text, size_t n,
                                          size_t at)
{
    const struct tokenizer *const t = f->t;
    const struct special *best = NULL;

    for (size_t i = 0; i < t->n_specials; i++) {
        const struct special *s = &t->special[i];

        if ((s->flags & SPECIAL_NORMALIZED) == f->normalized &&
            s->match.len <= n - at &&
            (!best || s->match.len > best->match.len) &&
            memcmp(t->text + s->match.at, text + at, s->match.len) == 0)
            best = s;
    }
    return best;
}

static bool is_recognised(const struct special *s, int flags)
{
    return (s->flags & SPECIAL_ALWAYS) || (flags & ENCODER_SPECIAL);
}

/* Extend a match by the white space that belongs to the token. */
static void strip_spaces(const struct added_finder *f, const struct special *s,
                         const uint8_t *text, size_t n, struct added_scan *scan,
                         size_t least)
{
    size_t len;
    uint32_t c;

    if (s->flags & SPECIAL_LSTRIP)
        while (scan->from > least &&
               is_space(f, char_before(text, scan->from, &len)))
            scan->from -= len;
    if (s->flags & SPECIAL_RSTRIP)
        while (scan->to < n) {
            len = utf8_decode(text + scan->to, text + n, &c);
            if (!is_space(f, c))
                break;
            scan->to += len;
        }
}

bool added_next(const struct added_finder *f, const uint8_t *text, size_t n,
                struct added_scan *scan)
{
    while (scan->at < n) {
        const size_t from = scan->at, least = scan->to;
        const struct special *s =
            f->first[text[from]] ? find_longest(f, text, n, from) : NULL;

        scan->at += s ? s->match.len : 1;
        if (!s || !is_recognised(s, f->flags) ||
            ((s->flags & SPECIAL_WORD) &&
             !is_whole_word(text, n, from, scan->at)))
            continue;
        scan->id = s->id;
        scan->from = from;
        scan->to = scan->at;
        strip_spaces(f, s, text, n, scan, least);
        return true;
    }
    return false;
}

void added_set_up(struct added_finder *f, const struct tokenizer *t, int flags,
                  int normalized)
{
    *f = (struct added_finder){ t, flags, normalized, false, { 0 } };
    for (size_t i = 0; i < t->n_specials; i++) {
        const struct special *s = &t->special[i];

        if ((s->flags & SPECIAL_NORMALIZED) != normalized)
            continue;
        f->any = f->any || is_recognised(s, flags);
        f->first[t->text[s->match.at]] = 1;
    }
}

size_t tokenizer_specials(const struct tokenizer *t, int flags,
                          struct boundary_word **out)
{
    size_t n = 0;

    *out = xcalloc(t->n_specials, sizeof **out);
    for (size_t i = 0; i < t->n_specials; i++) {
        const struct special *s = &t->special[i];

        if (is_recognised(s, flags))
            (*out)[n++] =
                (struct boundary_word){ (const char *)t->text + s->name.at,
                                        s->name.len };
    }
    return n;
}
