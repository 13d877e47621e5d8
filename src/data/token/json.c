#include "config.h"
#include "data/token/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/utf8.h"

enum { DEPTH_MAX = 200 };

struct json json_over(const char *text, size_t n)
{
    return (struct json){
        .text = text, .p = text, .end = text + n, .room = BUF_INIT
    };
}

void json_clear(struct json *j)
{
    buf_clear(&j->room);
}

int json_fail(const struct json *j, struct err *e, const char *fmt, ...)
{
    const char *line = j->text;
    long count = 1;
    char what[300];
    va_list ap;

    for (const char *p = j->text; p < j->p; p++) {
        if (*p == '\n') {
            line = p + 1;
            count++;
        }
    }
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return err_set(e, ERR_INPUT, "line %ld, column %td: %s", count,
                   j->p - line + 1, what);
}

static void blanks(struct json *j)
{
    while (j->p < j->end &&
           (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r'))
        j->p++;
}

char json_next(struct json *j)
{
    blanks(j);
    if (j->p == j->end)
        return '\0';
    return (*j->p >= '0' && *j->p <= '9') || *j->p == '-' ? '0' : *j->p;
}

static int expect(struct json *j, char c, struct err *e)
{
    blanks(j);
    if (j->p == j->end)
        return json_fail(j, e, "the text ends where '%c' should be", c);
    if (*j->p != c)
        return json_fail(j, e, "'%c' is missing", c);
    j->p++;
    return 0;
}

int json_enter(struct json *j, char open, struct err *e)
{
    if (expect(j, open, e) < 0)
        return -1;
    if (++j->depth > DEPTH_MAX)
        return json_fail(j, e, "nested more than %d deep", DEPTH_MAX);
    j->first = true;
    return 0;
}

/* 1 when there is another element, 0 at the closing character. */
static int another(struct json *j, char close, struct err *e)
{
    blanks(j);
    if (j->p < j->end && *j->p == close) {
        j->p++;
        j->depth--;
        j->first = false;
        return 0;
    }
    if (!j->first && expect(j, ',', e) < 0)
        return -1;
    j->first = false;
    return 1;
}

int json_item(struct json *j, struct err *e)
{
    return another(j, ']', e);
}

int json_key(struct json *j, struct json_text *key, struct err *e)
{
    const int got = another(j, '}', e);

    if (got <= 0)
        return got;
    if (json_chars(j, key, e) < 0 || expect(j, ':', e) < 0)
        return -1;
    return 1;
}

static int hex4(struct json *j, uint32_t *c, struct err *e)
{
    uint32_t n = 0;

    if (j->end - j->p < 4)
        return json_fail(j, e, "the text ends inside \\u");
    for (int i = 0; i < 4; i++) {
        const char h = j->p[i];

        if (h >= '0' && h <= '9')
            n = n << 4 | (uint32_t)(h - '0');
        else if ((h | 0x20) >= 'a' && (h | 0x20) <= 'f')
            n = n << 4 | (uint32_t)((h | 0x20) - 'a' + 10);
        else
            return json_fail(j, e, "\\u needs four hexadecimal digits");
    }
    j->p += 4;
    *c = n;
    return 0;
}

/* After "\u"; half a pair of surrogates becomes U+FFFD. */
static int unicode_escape(struct json *j, struct err *e)
{
    uint8_t out[UTF8_MAX];
    uint32_t c, low;

    if (hex4(j, &c, e) < 0)
        return -1;
    if (c >= 0xD800 && c < 0xDC00 && j->end - j->p >= 6 && j->p[0] == '\\' &&
        j->p[1] == 'u') {
        const char *const back = j->p;

        j->p += 2;
        if (hex4(j, &low, e) < 0)
            return -1;
        if (low >= 0xDC00 && low < 0xE000)
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        else
            j->p = back;
    }
    if (c >= 0xD800 && c < 0xE000)
        c = UTF8_REPLACEMENT;
    buf_add(&j->room, out, utf8_encode(out, c));
    return 0;
}

static int escape(struct json *j, struct err *e)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at;

    j->p++;
    if (j->p == j->end)
        return json_fail(j, e, "the text ends inside a string");
    if (*j->p == 'u') {
        j->p++;
        return unicode_escape(j, e);
    }
    at = *j->p ? strchr(from, *j->p) : NULL;
    if (!at)
        return json_fail(j, e, "unknown escape in a string");
    buf_char(&j->room, to[at - from]);
    j->p++;
    return 0;
}

int json_chars(struct json *j, struct json_text *out, struct err *e)
{
    const char *from;
    bool plain = true;

    if (expect(j, '"', e) < 0)
        return -1;
    from = j->p;
    for (;;) {
        const char *p = j->p;

        while (p < j->end && *p != '"' && *p != '\\' && (uint8_t)*p >= 0x20)
            p++;
        j->p = p;
        if (p == j->end)
            return json_fail(j, e, "the text ends inside a string");
        if (*p == '"' && plain)
            break;
        if ((uint8_t)*p < 0x20)
            return json_fail(j, e, "a control character in a string");
        if (plain)
            buf_trim(&j->room, 0);
        plain = false;
        buf_add(&j->room, from, (size_t)(p - from));
        if (*p == '"')
            break;
        if (escape(j, e) < 0)
            return -1;
        from = j->p;
    }
    *out = plain ? (struct json_text){ from, (size_t)(j->p - from) }
                 : (struct json_text){ j->room.s, j->room.len };
    j->p++;
    return 0;
}

int json_int(struct json *j, int64_t *out, struct err *e)
{
    bool minus;
    int64_t n = 0;
    int digits = 0;

    blanks(j);
    minus = j->p < j->end && *j->p == '-';
    for (const char *p = j->p + minus; p < j->end && *p >= '0' && *p <= '9';
         p++, digits++) {
        if (digits == 18)
            return json_fail(j, e, "a number that is too large");
        n = n * 10 + (*p - '0');
    }
    if (digits == 0)
        return json_fail(j, e, "a whole number should be here");
    j->p += digits + minus;
    if (j->p < j->end && (*j->p == '.' || (*j->p | 0x20) == 'e'))
        return json_fail(j, e, "a whole number should be here");
    *out = minus ? -n : n;
    return 0;
}

static bool word(struct json *j, const char *s)
{
    const size_t n = strlen(s);

    blanks(j);
    if ((size_t)(j->end - j->p) < n || memcmp(j->p, s, n) != 0)
        return false;
    j->p += n;
    return true;
}

int json_bool(struct json *j, bool *out, struct err *e)
{
    if (word(j, "true"))
        *out = true;
    else if (word(j, "false"))
        *out = false;
    else
        return json_fail(j, e, "true or false should be here");
    return 0;
}

static int skip_number(struct json *j, struct err *e)
{
    const char *const from = j->p;

    while (j->p < j->end && *j->p && strchr("+-.0123456789eE", *j->p))
        j->p++;
    if (j->p == from || j->p[-1] < '0' || j->p[-1] > '9')
        return json_fail(j, e, "not a number");
    return 0;
}

int json_skip(struct json *j, struct err *e)
{
    struct json_text text;
    int got;

    switch (json_next(j)) {
    case '{':
        if (json_enter(j, '{', e) < 0)
            return -1;
        while ((got = json_key(j, &text, e)) > 0)
            if (json_skip(j, e) < 0)
                return -1;
        return got;
    case '[':
        if (json_enter(j, '[', e) < 0)
            return -1;
        while ((got = json_item(j, e)) > 0)
            if (json_skip(j, e) < 0)
                return -1;
        return got;
    case '"':
        return json_chars(j, &text, e);
    case '0':
        return skip_number(j, e);
    default:
        if (word(j, "true") || word(j, "false") || word(j, "null"))
            return 0;
        return json_fail(j, e, "a value should be here");
    }
}

int json_end(struct json *j, struct err *e)
{
    blanks(j);
    return j->p < j->end ? json_fail(j, e, "something follows the end") : 0;
}

bool json_is(const struct json_text *t, const char *s)
{
    return strlen(s) == t->n && memcmp(t->s, s, t->n) == 0;
}

static void quote_char(struct buf *b, uint32_t c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *at = c && c < 0x80 ? strchr(from, (int)c) : NULL;

    if (at)
        buf_printf(b, "\\%c", to[at - from]);
    else if (c >= 0x20 && c < 0x7F)
        buf_char(b, (char)c);
    else if (c < 0x10000)
        buf_printf(b, "\\u%04x", c);
    else
        buf_printf(b, "\\u%04x\\u%04x", 0xD7C0 + (c >> 10),
                   0xDC00 + (c & 0x3FF));
}

void json_quote(struct buf *b, const char *s, size_t n)
{
    const uint8_t *p = (const uint8_t *)s, *const end = p + n;

    buf_char(b, '"');
    while (p < end) {
        uint32_t c;

        p += utf8_decode(p, end, &c);
        quote_char(b, c == UTF8_BAD ? UTF8_REPLACEMENT : c);
    }
    buf_char(b, '"');
}
