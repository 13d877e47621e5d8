#include "config.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

int32_t utf8_next(const char **s)
{
    const uint8_t *p = (const uint8_t *)*s;
    uint32_t c;
    const size_t n = utf8_decode(p, p + UTF8_MAX, &c); /* a NUL stops it */

    *s += c == UTF8_BAD ? 1 : n;
    return c == UTF8_BAD ? -1 : (int32_t)c;
}

void utf8_add(struct buf *b, int32_t c)
{
    uint8_t out[UTF8_MAX];

    buf_add(b, out, utf8_encode(out, (uint32_t)c));
}

struct range {
    int32_t first, last;
};

static bool within(const struct range *r, size_t n, int32_t code)
{
    for (size_t i = 0; i < n; i++)
        if (code >= r[i].first && code <= r[i].last)
            return true;
    return false;
}

/* Whole blocks of combining and of wide characters: precise enough, as names in
 * these scripts are rare. */
static int columns(int32_t code)
{
    static const struct range none[] = {
        { 0x300, 0x36f },   { 0x483, 0x489 },   { 0x591, 0x5bd },
        { 0x610, 0x61a },   { 0x64b, 0x65f },   { 0x1ab0, 0x1aff },
        { 0x1dc0, 0x1dff }, { 0x200b, 0x200f }, { 0x20d0, 0x20ff },
        { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f },
    };
    static const struct range twice[] = {
        { 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0x33ff },
        { 0x3400, 0x4dbf },   { 0x4e00, 0x9fff },   { 0xa000, 0xa4cf },
        { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },
        { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f },
        { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd },
    };

    if (code < 0x300)
        return 1;
    if (within(none, sizeof none / sizeof none[0], code))
        return 0;
    return within(twice, sizeof twice / sizeof twice[0], code) ? 2 : 1;
}

size_t utf8_width(const char *s)
{
    size_t width = 0;

    while (*s)
        width += (size_t)columns(utf8_next(&s));
    return width;
}

/* Characters that take no place and change the order of others, or hide
 * themselves; joiners are part of words and of emoji. */
static bool is_hidden(int32_t code)
{
    static const struct range hidden[] = {
        { 0xad, 0xad },     { 0x61c, 0x61c },   { 0x200b, 0x200b },
        { 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
        { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
    };

    return within(hidden, sizeof hidden / sizeof hidden[0], code);
}

void utf8_visible(struct buf *b, const char *s)
{
    while (*s) {
        const char *from = s;
        const int32_t c = utf8_next(&s);

        if (c < 0 || (c >= 0x80 && c < 0xa0))
            buf_str(b, utf8_locale() ? "\xef\xbf\xbd" : "?");
        else if (c < 0x20 || c == 0x7f)
            buf_printf(b, "^%c", c ^ 0x40);
        else if (is_hidden(c))
            buf_printf(b, "<U+%04X>", (unsigned)c);
        else
            buf_add(b, from, (size_t)(s - from));
    }
}

void utf8_visible_lines(struct buf *b, const char *s, size_t n)
{
    for (size_t from = 0, to; from < n; from = to + 1) {
        AUTO_FREE char *word = NULL;

        for (to = from; to < n && !strchr("\t\n", s[to]);) /* also at NUL */
            to++;
        word = xstrndup(s + from, to - from);
        utf8_visible(b, word);
        if (to < n)
            buf_char(b, s[to] ? s[to] : ' ');
    }
}

const char *utf8_mark(void)
{
    return utf8_locale() ? "…" : "~";
}

void utf8_cut(struct buf *b, const char *s, size_t width)
{
    size_t used = 0;

    while (*s) {
        const char *from = s;
        const size_t w = (size_t)columns(utf8_next(&s));

        if (used + w + 1 > width)
            break;
        used += w;
        buf_add(b, from, (size_t)(s - from));
    }
    buf_str(b, utf8_mark());
    while (++used < width)
        buf_char(b, ' ');
}

void utf8_clean(struct buf *b, const char *s, size_t n)
{
    const char *end = s + n;

    while (s < end) {
        const char *from = s;

        if (*s == '\0') {
            s++;
            buf_str(b, "\xef\xbf\xbd");
        } else if (utf8_next(&s) < 0) {
            buf_str(b, "\xef\xbf\xbd");
        } else {
            buf_add(b, from, (size_t)(s - from));
        }
    }
}

int32_t utf8_fold(int32_t code)
{
    /* Capital and small letters alternate, the capitals being even or odd. */
    enum { EVEN = 0x110000, ODD };
    static const struct {
        int32_t first, last, to; /* what the first becomes */
    } rules[] = {
        { 0x41, 0x5a, 0x61 },      { 0xb5, 0xb5, 0x3bc },
        { 0xc0, 0xd6, 0xe0 },      { 0xd8, 0xde, 0xf8 },
        { 0x100, 0x12f, EVEN },    { 0x130, 0x130, 0x69 },
        { 0x131, 0x131, 0x69 },    { 0x132, 0x137, EVEN },
        { 0x139, 0x148, ODD },     { 0x14a, 0x177, EVEN },
        { 0x178, 0x178, 0xff },    { 0x179, 0x17e, ODD },
        { 0x17f, 0x17f, 0x73 },    { 0x18f, 0x18f, 0x259 },
        { 0x1a0, 0x1a5, EVEN },    { 0x1af, 0x1b0, ODD },
        { 0x1c4, 0x1c4, 0x1c6 },   { 0x1c5, 0x1c5, 0x1c6 },
        { 0x1c7, 0x1c7, 0x1c9 },   { 0x1c8, 0x1c8, 0x1c9 },
        { 0x1ca, 0x1ca, 0x1cc },   { 0x1cb, 0x1cb, 0x1cc },
        { 0x1cd, 0x1dc, ODD },     { 0x1de, 0x1ef, EVEN },
        { 0x1f1, 0x1f1, 0x1f3 },   { 0x1f2, 0x1f2, 0x1f3 },
        { 0x1f4, 0x1f5, EVEN },    { 0x1f8, 0x21f, EVEN },
        { 0x222, 0x233, EVEN },    { 0x386, 0x386, 0x3ac },
        { 0x388, 0x38a, 0x3ad },   { 0x38c, 0x38c, 0x3cc },
        { 0x38e, 0x38f, 0x3cd },   { 0x391, 0x3a1, 0x3b1 },
        { 0x3a3, 0x3ab, 0x3c3 },   { 0x3c2, 0x3c2, 0x3c3 },
        { 0x400, 0x40f, 0x450 },   { 0x410, 0x42f, 0x430 },
        { 0x460, 0x481, EVEN },    { 0x48a, 0x4bf, EVEN },
        { 0x4c1, 0x4ce, ODD },     { 0x4d0, 0x52f, EVEN },
        { 0x531, 0x556, 0x561 },   { 0x1e00, 0x1e95, EVEN },
        { 0x1e9e, 0x1e9e, 0xdf },  { 0x1ea0, 0x1eff, EVEN },
        { 0x2126, 0x2126, 0x3c9 }, { 0x212a, 0x212a, 0x6b },
        { 0x212b, 0x212b, 0xe5 },
    };

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (code < rules[i].first || code > rules[i].last)
            continue;
        if (rules[i].to == EVEN)
            return code | 1;
        return rules[i].to == ODD ? code + code % 2
                                  : code - rules[i].first + rules[i].to;
    }
    return code;
}

size_t utf8_good(const uint8_t *s, size_t n)
{
    typedef uint64_t words2 __attribute__((vector_size(16)));
    size_t i = 0;

    while (i < n) {
        const uint64_t high = 0x8080808080808080;
        words2 v[4];
        uint64_t word;
        uint32_t c;
        size_t len;

        while (n - i >= sizeof v) {
            memcpy(v, s + i, sizeof v);
            v[0] |= v[1] | v[2] | v[3];
            if ((v[0][0] | v[0][1]) & high)
                break;
            i += sizeof v;
        }
        while (n - i >= sizeof word) {
            memcpy(&word, s + i, sizeof word);
            if (word & high)
                break;
            i += sizeof word;
        }
        if (i == n)
            break;
        len = utf8_decode(s + i, s + n, &c);
        if (c == UTF8_BAD)
            break;
        i += len;
    }
    return i;
}

size_t utf8_count(const char *s)
{
    size_t n = 0;

    for (; *s; n++)
        utf8_next(&s);
    return n;
}

bool utf8_valid(const char *s)
{
    const size_t n = strlen(s);

    return utf8_good((const uint8_t *)s, n) == n;
}

bool utf8_locale(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *s = getenv(names[i]);

        if (s && *s)
            return strcasestr(s, "utf-8") || strcasestr(s, "utf8");
    }
    return false;
}
