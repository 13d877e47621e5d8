#include "config.h"
#include "data/token/added.h"

#include <string.h>

#include "common/format/unicode.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "data/token/boundary.h"

struct code_range {
    uint32_t from, to;
};

/* clang-format off */
/* Numbers that are neither decimal digits nor letters (Unicode's No) do not
 * belong to words; connectors and letters in circles do. */
static const struct code_range not_in_words[] = {
    { 0xB2, 0xB3 }, { 0xB9, 0xB9 }, { 0xBC, 0xBE }, { 0x9F4, 0x9F9 },
    { 0xB72, 0xB77 }, { 0xBF0, 0xBF2 }, { 0xC78, 0xC7E }, { 0xD58, 0xD5E },
    { 0xD70, 0xD78 }, { 0xF2A, 0xF33 }, { 0x1369, 0x137C }, { 0x17F0, 0x17F9 },
    { 0x19DA, 0x19DA }, { 0x2070, 0x2070 }, { 0x2074, 0x2079 },
    { 0x2080, 0x2089 }, { 0x2150, 0x215F }, { 0x2189, 0x2189 },
    { 0x2460, 0x249B }, { 0x24EA, 0x24FF }, { 0x2776, 0x2793 },
    { 0x2CFD, 0x2CFD }, { 0x3192, 0x3195 }, { 0x3220, 0x3229 },
    { 0x3248, 0x324F }, { 0x3251, 0x325F }, { 0x3280, 0x3289 },
    { 0x32B1, 0x32BF }, { 0xA830, 0xA835 }, { 0x10107, 0x10133 },
    { 0x10175, 0x10178 }, { 0x1018A, 0x1018B }, { 0x102E1, 0x102FB },
    { 0x10320, 0x10323 }, { 0x10858, 0x1085F }, { 0x10879, 0x1087F },
    { 0x108A7, 0x108AF }, { 0x108FB, 0x108FF }, { 0x10916, 0x1091B },
    { 0x109BC, 0x109BD }, { 0x109C0, 0x109CF }, { 0x109D2, 0x109FF },
    { 0x10A40, 0x10A48 }, { 0x10A7D, 0x10A7E }, { 0x10A9D, 0x10A9F },
    { 0x10AEB, 0x10AEF }, { 0x10B58, 0x10B5F }, { 0x10B78, 0x10B7F },
    { 0x10BA9, 0x10BAF }, { 0x10CFA, 0x10CFF }, { 0x10E60, 0x10E7E },
    { 0x10F1D, 0x10F26 }, { 0x10F51, 0x10F54 }, { 0x10FC5, 0x10FCB },
    { 0x11052, 0x11065 }, { 0x111E1, 0x111F4 }, { 0x1173A, 0x1173B },
    { 0x118EA, 0x118F2 }, { 0x11C5A, 0x11C6C }, { 0x11FC0, 0x11FD4 },
    { 0x16B5B, 0x16B61 }, { 0x16E80, 0x16E96 }, { 0x1D2C0, 0x1D2D3 },
    { 0x1D2E0, 0x1D2F3 }, { 0x1D360, 0x1D378 }, { 0x1E8C7, 0x1E8CF },
    { 0x1EC71, 0x1ECAB }, { 0x1ECAD, 0x1ECAF }, { 0x1ECB1, 0x1ECB4 },
    { 0x1ED01, 0x1ED2D }, { 0x1ED2F, 0x1ED3D }, { 0x1F100, 0x1F10C },
}, in_words[] = {
    { 0x5F, 0x5F }, { 0x200C, 0x200D }, { 0x203F, 0x2040 }, { 0x2054, 0x2054 },
    { 0x24B6, 0x24E9 }, { 0xFE33, 0xFE34 }, { 0xFE4D, 0xFE4F },
    { 0xFF3F, 0xFF3F }, { 0x1F130, 0x1F149 }, { 0x1F150, 0x1F169 },
    { 0x1F170, 0x1F189 },
};
/* clang-format on */

static bool in_ranges(const struct code_range *r, size_t n, uint32_t c)
{
    for (size_t i = 0; i < n; i++)
        if (c >= r[i].from && c <= r[i].to)
            return true;
    return false;
}

/* Is this \w of Rust's regular expressions? */
static bool is_word(uint32_t c)
{
    const int class = unicode_class(c);

    if (class == UNICODE_NUMBER)
        return !in_ranges(not_in_words,
                          sizeof not_in_words / sizeof not_in_words[0], c);
    return class == UNICODE_LETTER || unicode_case(c) == UNICODE_MARK ||
           in_ranges(in_words, sizeof in_words / sizeof in_words[0], c);
}

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
    return (before == UTF8_BAD || !is_word(before)) &&
           (after == UTF8_BAD || !is_word(after));
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
