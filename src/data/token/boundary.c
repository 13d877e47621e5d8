#include "config.h"
#include "data/token/boundary.h"

#include <string.h>

#include "common/format/unicode.h"
#include "common/utf8.h"

static bool is_printing(char c)
{
    return c > ' ' && c < 0x7f;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

size_t boundary_before_blank(const char *text, size_t n, size_t least)
{
    for (size_t i = n; i > least && i > 1; i--) {
        const char left = text[i - 2], c = text[i - 1];

        if ((c == ' ' && is_printing(left)) || (c == '\n' && is_word(left)))
            return i - 1;
    }
    return 0;
}

size_t boundary_before_space(const char *text, size_t n, size_t least)
{
    for (size_t i = n; i > least && i > 1; i--)
        if (text[i - 1] == ' ' && is_printing(text[i - 2]))
            return i - 1;
    return 0;
}

/* White space, or punctuation that no special token has in its name. */
static bool ends_phrase(uint32_t c)
{
    static const uint32_t stops[] = { 0x3001, 0x3002, 0xFF01, 0xFF0C,
                                      0xFF1A, 0xFF1B, 0xFF1F };

    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++)
        if (c == stops[i])
            return true;
    return unicode_class(c) == UNICODE_SPACE;
}

uint32_t boundary_last_char(const uint8_t *text, size_t n, size_t *len)
{
    uint32_t c;

    for (*len = 1; *len < UTF8_MAX && *len < n; ++*len)
        if ((text[n - *len] & 0xC0) != 0x80)
            break;
    return utf8_decode(text + n - *len, text + n, &c) == *len ? c : UTF8_BAD;
}

static bool ends_in_letter(const uint8_t *s, size_t n)
{
    size_t len;
    const uint32_t c = boundary_last_char(s, n, &len);

    return c != UTF8_BAD && unicode_class(c) == UNICODE_LETTER;
}

size_t boundary_after_letter(const char *text, size_t n, size_t least)
{
    const uint8_t *const s = (const uint8_t *)text;

    for (size_t i = n; i-- > least && i > 0;) {
        uint32_t c;

        utf8_decode(s + i, s + n, &c);
        if (c != UTF8_BAD && ends_phrase(c) && ends_in_letter(s, i))
            return i;
    }
    return 0;
}

size_t boundary_between_characters(const char *text, size_t n)
{
    size_t i = n - 1;

    while (i > 1 && n - i < 4 && ((unsigned char)text[i] & 0xc0) == 0x80)
        i--;
    return i ? i : 1;
}

const char *boundary_last_word(const char *text, size_t n, const char *word,
                               size_t len)
{
    while (n >= len) {
        const char *last = memrchr(text + len - 1, word[len - 1], n - len + 1);

        if (!last)
            return NULL;
        if (memcmp(last - len + 1, word, len) == 0)
            return last - len + 1;
        n = (size_t)(last - text);
    }
    return NULL;
}

static bool is_inside(const struct boundary_word *w, const char *text, size_t n,
                      size_t at)
{
    for (size_t k = 1; k <= w->len && k <= at; k++) {
        const size_t left = n - (at - k);

        if (memcmp(text + at - k, w->text, left < w->len ? left : w->len) == 0)
            return true;
    }
    return false;
}

bool boundary_inside_words(const struct boundary_word *words, size_t n_words,
                           const char *text, size_t n, size_t at)
{
    for (size_t i = 0; i < n_words; i++)
        if (is_inside(&words[i], text, n, at))
            return true;
    return false;
}

/* A byte of the sum holds up to 255 newlines, so the sum is added to the count
 * after 128 rounds at most. */
int64_t boundary_count_lines(const char *text, size_t n)
{
    typedef uint8_t bytes16 __attribute__((vector_size(16)));
    int64_t count = 0;

    while (n >= 16) {
        const size_t rounds = n / 16 < 128 ? n / 16 : 128;
        bytes16 sum = { 0 };

        for (size_t i = 0; i < rounds; i++) {
            bytes16 v;

            memcpy(&v, text + 16 * i, sizeof v);
            sum -= (bytes16)(v == '\n');
        }
        for (int i = 0; i < 16; i++)
            count += sum[i];
        text += 16 * rounds;
        n -= 16 * rounds;
    }
    for (size_t i = 0; i < n; i++)
        count += text[i] == '\n';
    return count;
}
