#include "config.h"
#include "common/format/json_scan.h"

#include <string.h>

#include "common/utf8.h"

enum { DEPTH = 512 }; /* of nested arrays and objects */

int json_scan_fail(struct json_scan *s, const char *why)
{
    s->why = why;
    return -1;
}

void json_scan_blanks(struct json_scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' ||
                              *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

/*
 * 16 bytes at a time, which every processor has registers for.  GCC splits
 * wider vectors where there are no such registers, which is slower.
 */
typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint64_t words2 __attribute__((vector_size(16)));

/* The number of bytes before the first quote, backslash or control character;
 * or 16. */
static int plain_bytes(bytes16 v)
{
    const words2 hit = (words2)((v == '"') | (v == '\\') | (v < 0x20));

    if (hit[0])
        return __builtin_ctzll(hit[0]) / 8;
    return hit[1] ? 8 + __builtin_ctzll(hit[1]) / 8 : 16;
}

/* Move what is before the next quote, backslash or control character down to
 * *out. */
static char *move_plain(char **out, char *at, const char *end)
{
    while (end - at >= 16) {
        bytes16 v;
        int n;

        memcpy(&v, at, sizeof v);
        n = plain_bytes(v);
        if (n == 16 || at - *out >= 16)
            memcpy(*out, &v, sizeof v);
        else
            memmove(*out, at, (size_t)n);
        *out += n;
        at += n;
        if (n < 16)
            return at;
    }
    while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
        *(*out)++ = *at++;
    return at;
}

static int read_hex4(const char *p)
{
    int value = 0;

    for (int i = 0; i < 4; i++) {
        const int c = p[i];
        const int lower = c | 0x20;

        if (c >= '0' && c <= '9')
            value = value * 16 + c - '0';
        else if (lower >= 'a' && lower <= 'f')
            value = value * 16 + lower - 'a' + 10;
        else
            return -1;
    }
    return value;
}

/* After "\u": four digits, and the low surrogate after a high one. */
static int read_unicode(struct json_scan *s, char **out)
{
    int c, low;

    if (s->end - s->at < 4 || (c = read_hex4(s->at)) < 0)
        return json_scan_fail(s, "\\u needs four hexadecimal digits");
    s->at += 4;
    if (c >= 0xd800 && c < 0xdc00 && s->end - s->at >= 6 && s->at[0] == '\\' &&
        s->at[1] == 'u') {
        low = read_hex4(s->at + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            s->at += 6;
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    if (c >= 0xd800 && c < 0xe000)
        c = UTF8_REPLACEMENT;
    *out += utf8_encode((uint8_t *)*out, (uint32_t)c);
    return 0;
}

static int read_escape(struct json_scan *s, char **out)
{
    static const char meaning[256] = {
        ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
        ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
    };
    char c;

    if (s->at == s->end)
        return json_scan_fail(s, "the text ends inside a string");
    if (*s->at == 'u') {
        s->at++;
        return read_unicode(s, out);
    }
    c = meaning[(unsigned char)*s->at];
    if (!c)
        return json_scan_fail(s, "unknown escape");
    *(*out)++ = c;
    s->at++;
    return 0;
}

int json_scan_string(struct json_scan *s, char **text, size_t *len)
{
    char *out;

    if (s->at == s->end || *s->at != '"')
        return json_scan_fail(s, "expected a string");
    out = *text = ++s->at;
    for (;;) {
        s->at = move_plain(&out, s->at, s->end);
        if (s->at == s->end)
            return json_scan_fail(s, "the text ends inside a string");
        if (*s->at == '"')
            break;
        if (*s->at != '\\')
            return json_scan_fail(s, "control character in a string");
        s->at++;
        if (read_escape(s, &out) < 0)
            return -1;
    }
    s->at++;
    *len = (size_t)(out - *text);
    return 0;
}

static bool skip_digits(struct json_scan *s)
{
    const char *from = s->at;

    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return s->at > from;
}

static int skip_number(struct json_scan *s)
{
    const bool zero = *s->at == '0' ||
                      (*s->at == '-' && s->end - s->at > 1 && s->at[1] == '0');
    const char *from;

    s->at += *s->at == '-';
    from = s->at;
    if (!skip_digits(s) || (zero && s->at - from > 1))
        return json_scan_fail(s, "not a value");
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        if (!skip_digits(s))
            return json_scan_fail(s, "not a number");
    }
    if (s->at < s->end && (*s->at | 0x20) == 'e') {
        s->at++;
        s->at += s->at < s->end && (*s->at == '+' || *s->at == '-');
        if (!skip_digits(s))
            return json_scan_fail(s, "not a number");
    }
    return 0;
}

static int skip_literal(struct json_scan *s)
{
    /* the last three are Python's */
    static const char *const words[] = { "true", "false",    "null",
                                         "NaN",  "Infinity", "-Infinity" };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const size_t n = strlen(words[i]);

        if ((size_t)(s->end - s->at) >= n && memcmp(s->at, words[i], n) == 0) {
            s->at += n;
            return 0;
        }
    }
    return skip_number(s);
}

static int skip_scalar(struct json_scan *s)
{
    char *text;
    size_t len;

    if (s->at == s->end)
        return json_scan_fail(s, "expected a value");
    return *s->at == '"' ? json_scan_string(s, &text, &len) : skip_literal(s);
}

int json_scan_name(struct json_scan *s, char **text, size_t *len)
{
    json_scan_blanks(s);
    if (s->at == s->end || *s->at != '"')
        return json_scan_fail(s, "expected a name in quotes");
    if (json_scan_string(s, text, len) < 0)
        return -1;
    json_scan_blanks(s);
    if (s->at == s->end || *s->at != ':')
        return json_scan_fail(s, "expected ':'");
    s->at++;
    json_scan_blanks(s);
    return 0;
}

int json_scan_next(struct json_scan *s, char kind)
{
    json_scan_blanks(s);
    if (s->at == s->end)
        return json_scan_fail(s, "the text ends inside an object or array");
    if (*s->at == ',') {
        s->at++;
        return 1;
    }
    if (*s->at == (kind == '[' ? ']' : '}')) {
        s->at++;
        return 0;
    }
    return json_scan_fail(s, "expected a comma or a closing bracket");
}

int json_scan_enter(struct json_scan *s, char kind)
{
    if (s->at == s->end || *s->at != kind)
        return json_scan_fail(s, kind == '{' ? "not a JSON object"
                                             : "not a JSON array");
    s->at++;
    json_scan_blanks(s);
    if (s->at < s->end && *s->at == (kind == '[' ? ']' : '}')) {
        s->at++;
        return 0;
    }
    return 1;
}

int json_scan_skip(struct json_scan *s)
{
    char open[DEPTH], *text;
    size_t len;
    int depth = 0, more;

    for (;;) {
        json_scan_blanks(s);
        if (s->at < s->end && (*s->at == '[' || *s->at == '{')) {
            if (depth == DEPTH)
                return json_scan_fail(s, "nested too deeply");
            open[depth++] = *s->at;
            more = json_scan_enter(s, open[depth - 1]);
            depth -= !more;
        } else {
            if (skip_scalar(s) < 0)
                return -1;
            more = 0;
        }
        while (!more && depth) {
            more = json_scan_next(s, open[depth - 1]);
            if (more < 0)
                return -1;
            depth -= !more;
        }
        if (!depth)
            return 0;
        if (open[depth - 1] == '{' && json_scan_name(s, &text, &len) < 0)
            return -1;
    }
}
