#include "config.h"
#include "data/corpus/jsonl.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/utf8.h"

enum { DEPTH = 512 }; /* of nested arrays and objects */

struct jsonl_scan {
    char *at, *end;
    const char *why; /* what is wrong at `at` */
};

static int fail_scan(struct jsonl_scan *s, const char *why)
{
    s->why = why;
    return -1;
}

static void skip_blanks(struct jsonl_scan *s)
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
static int plain_bytes(const char *p)
{
    bytes16 v;
    words2 hit;

    memcpy(&v, p, sizeof v);
    hit = (words2)((v == '"') | (v == '\\') | (v < 0x20));
    if (hit[0])
        return __builtin_ctzll(hit[0]) / 8;
    return hit[1] ? 8 + __builtin_ctzll(hit[1]) / 8 : 16;
}

/* Skip to the next quote, backslash or control character. */
static char *skip_plain(char *at, const char *end)
{
    while (end - at >= 16) {
        const int n = plain_bytes(at);

        at += n;
        if (n < 16)
            return at;
    }
    while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
        at++;
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
static int read_unicode(struct jsonl_scan *s, char **out)
{
    int c, low;

    if (s->end - s->at < 4 || (c = read_hex4(s->at)) < 0)
        return fail_scan(s, "\\u needs four hexadecimal digits");
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

static int read_escape(struct jsonl_scan *s, char **out)
{
    if (s->at == s->end)
        return fail_scan(s, "the line ends inside a string");
    switch (*s->at) {
    case 'u':
        s->at++;
        return read_unicode(s, out);
    case '"':
    case '\\':
    case '/':
        *(*out)++ = *s->at;
        break;
    case 'b':
        *(*out)++ = '\b';
        break;
    case 'f':
        *(*out)++ = '\f';
        break;
    case 'n':
        *(*out)++ = '\n';
        break;
    case 'r':
        *(*out)++ = '\r';
        break;
    case 't':
        *(*out)++ = '\t';
        break;
    default:
        return fail_scan(s, "unknown escape");
    }
    s->at++;
    return 0;
}

/* Unescape a string in place, from its opening quote. */
static int read_string(struct jsonl_scan *s, char **text, size_t *len)
{
    char *out, *from;

    from = out = *text = ++s->at;
    for (;;) {
        s->at = skip_plain(s->at, s->end);
        if (out != from)
            memmove(out, from, (size_t)(s->at - from));
        out += s->at - from;
        if (s->at == s->end)
            return fail_scan(s, "the line ends inside a string");
        if (*s->at == '"')
            break;
        if (*s->at != '\\')
            return fail_scan(s, "control character in a string");
        s->at++;
        if (read_escape(s, &out) < 0)
            return -1;
        from = s->at;
    }
    s->at++;
    *len = (size_t)(out - *text);
    return 0;
}

static bool skip_digits(struct jsonl_scan *s)
{
    const char *from = s->at;

    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return s->at > from;
}

static int skip_number(struct jsonl_scan *s)
{
    const bool zero = *s->at == '0' ||
                      (*s->at == '-' && s->end - s->at > 1 && s->at[1] == '0');
    const char *from;

    s->at += *s->at == '-';
    from = s->at;
    if (!skip_digits(s) || (zero && s->at - from > 1))
        return fail_scan(s, "not a value");
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        if (!skip_digits(s))
            return fail_scan(s, "not a number");
    }
    if (s->at < s->end && (*s->at | 0x20) == 'e') {
        s->at++;
        s->at += s->at < s->end && (*s->at == '+' || *s->at == '-');
        if (!skip_digits(s))
            return fail_scan(s, "not a number");
    }
    return 0;
}

static int skip_literal(struct jsonl_scan *s)
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

static int skip_scalar(struct jsonl_scan *s)
{
    char *text;
    size_t len;

    if (s->at == s->end)
        return fail_scan(s, "expected a value");
    return *s->at == '"' ? read_string(s, &text, &len) : skip_literal(s);
}

/* Read a name and its colon. */
static int read_name(struct jsonl_scan *s, char **text, size_t *len)
{
    skip_blanks(s);
    if (s->at == s->end || *s->at != '"')
        return fail_scan(s, "expected a name in quotes");
    if (read_string(s, text, len) < 0)
        return -1;
    skip_blanks(s);
    if (s->at == s->end || *s->at != ':')
        return fail_scan(s, "expected ':'");
    s->at++;
    skip_blanks(s);
    return 0;
}

/*
 * After a value in an array ('[') or object ('{'): 1 if a comma follows, 0 if
 * the closing bracket does.
 */
static int next_element(struct jsonl_scan *s, char kind)
{
    skip_blanks(s);
    if (s->at == s->end)
        return fail_scan(s, "the line ends inside an object or array");
    if (*s->at == ',') {
        s->at++;
        return 1;
    }
    if (*s->at == (kind == '[' ? ']' : '}')) {
        s->at++;
        return 0;
    }
    return fail_scan(s, "expected a comma or a closing bracket");
}

/* Enter an array or object: 1 if it has elements, 0 if it is empty. */
static int enter_container(struct jsonl_scan *s, char kind)
{
    s->at++;
    skip_blanks(s);
    if (s->at < s->end && *s->at == (kind == '[' ? ']' : '}')) {
        s->at++;
        return 0;
    }
    return 1;
}

/* Skip any value, without recursion. */
static int skip_value(struct jsonl_scan *s)
{
    char open[DEPTH], *text;
    size_t len;
    int depth = 0, more;

    for (;;) {
        skip_blanks(s);
        if (s->at < s->end && (*s->at == '[' || *s->at == '{')) {
            if (depth == DEPTH)
                return fail_scan(s, "nested too deeply");
            open[depth++] = *s->at;
            more = enter_container(s, open[depth - 1]);
            depth -= !more;
        } else {
            if (skip_scalar(s) < 0)
                return -1;
            more = 0;
        }
        while (!more && depth) {
            more = next_element(s, open[depth - 1]);
            if (more < 0)
                return -1;
            depth -= !more;
        }
        if (!depth)
            return 0;
        if (open[depth - 1] == '{' && read_name(s, &text, &len) < 0)
            return -1;
    }
}

/* Read the members of the object.  *text stays NULL without the field. */
static int read_members(struct jsonl_scan *s, const char *field, char **text,
                        size_t *len)
{
    const size_t field_len = strlen(field);
    int more;

    if (s->at == s->end || *s->at != '{')
        return fail_scan(s, "not a JSON object");
    for (more = enter_container(s, '{'); more; more = next_element(s, '{')) {
        char *key;
        size_t key_len;

        if (more < 0 || read_name(s, &key, &key_len) < 0)
            return -1;
        if (key_len != field_len || memcmp(key, field, key_len) != 0) {
            if (skip_value(s) < 0)
                return -1;
        } else if (s->at == s->end || *s->at != '"') {
            return fail_scan(s, "the field is not a string");
        } else if (read_string(s, text, len) < 0) {
            return -1;
        }
    }
    skip_blanks(s);
    return s->at == s->end
               ? 0
               : fail_scan(s, "there is something after the object");
}

int jsonl_field(char *line, size_t n, const char *field, char **text,
                size_t *len, struct err *e)
{
    struct jsonl_scan s = { .at = line, .end = line + n };

    if (n >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0)
        s.at += 3; /* a byte order mark */
    skip_blanks(&s);
    if (s.at == s.end)
        return 0;
    *text = NULL;
    if (read_members(&s, field, text, len) < 0)
        return err_set(e, ERR_INPUT, "column %zu: %s",
                       (size_t)(s.at - line) + 1, s.why);
    if (!*text)
        return err_set(e, ERR_INPUT, "no field \"%s\"", field);
    return 1;
}

/* The number of bytes from p that need no escape. */
static size_t plain_length(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *start = p;

    while (p < end && *p != '"' && *p != '\\' && *p >= 0x20) {
        uint32_t c = 0;
        const size_t n = *p < 0x80 ? 1 : utf8_decode(p, end, &c);

        if (c == UTF8_BAD)
            break;
        p += n;
    }
    return (size_t)(p - start);
}

void jsonl_escape(struct buf *b, const char *text, size_t n)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const uint8_t *p = (const uint8_t *)text, *end = p + n;

    while (p < end) {
        const size_t plain = plain_length(p, end);
        const char *found;
        uint32_t c;

        buf_add(b, p, plain);
        p += plain;
        if (p == end)
            break;
        found = *p && *p < 0x80 ? strchr(from, *p) : NULL;
        if (found) {
            buf_char(b, '\\');
            buf_char(b, to[found - from]);
            p++;
        } else {
            p += utf8_decode(p, end, &c);
            buf_printf(b, "\\u%04x", c == UTF8_BAD ? UTF8_REPLACEMENT : c);
        }
    }
}

void jsonl_write(struct buf *b, const char *text, size_t n)
{
    buf_str(b, "{\"text\":\"");
    jsonl_escape(b, text, n);
    buf_str(b, "\"}\n");
}
