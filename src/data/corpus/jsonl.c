#include "config.h"
#include "data/corpus/jsonl.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/utf8.h"

enum { DEPTH = 512 }; /* of nested arrays and objects */

struct scan {
    char *at, *end;
    const char *why; /* what is wrong at `at` */
};

static int bad(struct scan *s, const char *why)
{
    s->why = why;
    return -1;
}

static void blanks(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' ||
                              *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

/*
 * 16 bytes at once: what every processor of today has a register for.  (With 32
 * GCC takes the vector apart where there are no such registers.)
 */
typedef uint8_t bytes16 __attribute__((vector_size(16)));
typedef uint64_t words2 __attribute__((vector_size(16)));

/* Bytes before the first quote, backslash or control character; or 16. */
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

/* To the next quote, backslash or control character. */
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

static int hex4(const char *p)
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

/* After "\u": four digits, and the low surrogate that belongs to a high one. */
static int unicode(struct scan *s, char **out)
{
    int c, low;

    if (s->end - s->at < 4 || (c = hex4(s->at)) < 0)
        return bad(s, "\\u needs four hexadecimal digits");
    s->at += 4;
    if (c >= 0xd800 && c < 0xdc00 && s->end - s->at >= 6 && s->at[0] == '\\' &&
        s->at[1] == 'u') {
        low = hex4(s->at + 2);
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

static int escape(struct scan *s, char **out)
{
    if (s->at == s->end)
        return bad(s, "the line ends inside a string");
    switch (*s->at) {
    case 'u':
        s->at++;
        return unicode(s, out);
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
        return bad(s, "no such escape");
    }
    s->at++;
    return 0;
}

/* A string, unescaped where it lies; at its opening quote. */
static int string(struct scan *s, char **text, size_t *len)
{
    char *out, *from;

    from = out = *text = ++s->at;
    for (;;) {
        s->at = skip_plain(s->at, s->end);
        if (out != from)
            memmove(out, from, (size_t)(s->at - from));
        out += s->at - from;
        if (s->at == s->end)
            return bad(s, "the line ends inside a string");
        if (*s->at == '"')
            break;
        if (*s->at != '\\')
            return bad(s, "a control character inside a string");
        s->at++;
        if (escape(s, &out) < 0)
            return -1;
        from = s->at;
    }
    s->at++;
    *len = (size_t)(out - *text);
    return 0;
}

static bool digits(struct scan *s)
{
    const char *from = s->at;

    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return s->at > from;
}

static int number(struct scan *s)
{
    const bool zero = *s->at == '0' ||
                      (*s->at == '-' && s->end - s->at > 1 && s->at[1] == '0');
    const char *from;

    s->at += *s->at == '-';
    from = s->at;
    if (!digits(s) || (zero && s->at - from > 1))
        return bad(s, "not a value");
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        if (!digits(s))
            return bad(s, "not a number");
    }
    if (s->at < s->end && (*s->at | 0x20) == 'e') {
        s->at++;
        s->at += s->at < s->end && (*s->at == '+' || *s->at == '-');
        if (!digits(s))
            return bad(s, "not a number");
    }
    return 0;
}

static int literal(struct scan *s)
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
    return number(s);
}

static int scalar(struct scan *s)
{
    char *text;
    size_t len;

    if (s->at == s->end)
        return bad(s, "the line ends where a value should be");
    return *s->at == '"' ? string(s, &text, &len) : literal(s);
}

/* A name and its colon. */
static int name(struct scan *s, char **text, size_t *len)
{
    blanks(s);
    if (s->at == s->end || *s->at != '"')
        return bad(s, "a name in quotes should be here");
    if (string(s, text, len) < 0)
        return -1;
    blanks(s);
    if (s->at == s->end || *s->at != ':')
        return bad(s, "a colon should be here");
    s->at++;
    blanks(s);
    return 0;
}

/*
 * After a value inside `kind`, '[' or '{': a comma leads on to the next one
 * (1), the closing bracket ends this level (0).
 */
static int after(struct scan *s, char kind)
{
    blanks(s);
    if (s->at == s->end)
        return bad(s, "the line ends inside an object or array");
    if (*s->at == ',') {
        s->at++;
        return 1;
    }
    if (*s->at == (kind == '[' ? ']' : '}')) {
        s->at++;
        return 0;
    }
    return bad(s, "a comma or a closing bracket should be here");
}

/* Steps into an array or object: 1 if it holds something, 0 if it is empty. */
static int enter(struct scan *s, char kind)
{
    s->at++;
    blanks(s);
    if (s->at < s->end && *s->at == (kind == '[' ? ']' : '}')) {
        s->at++;
        return 0;
    }
    return 1;
}

/* Any value, without recursion. */
static int value(struct scan *s)
{
    char open[DEPTH], *text;
    size_t len;
    int depth = 0, more;

    for (;;) {
        blanks(s);
        if (s->at < s->end && (*s->at == '[' || *s->at == '{')) {
            if (depth == DEPTH)
                return bad(s, "nested too deeply");
            open[depth++] = *s->at;
            more = enter(s, open[depth - 1]);
            depth -= !more;
        } else {
            if (scalar(s) < 0)
                return -1;
            more = 0;
        }
        while (!more && depth) {
            more = after(s, open[depth - 1]);
            if (more < 0)
                return -1;
            depth -= !more;
        }
        if (!depth)
            return 0;
        if (open[depth - 1] == '{' && name(s, &text, &len) < 0)
            return -1;
    }
}

/* The members of the outermost object.  *text stays NULL without the field. */
static int members(struct scan *s, const char *field, char **text, size_t *len)
{
    const size_t field_len = strlen(field);
    int more;

    if (s->at == s->end || *s->at != '{')
        return bad(s, "not a JSON object");
    for (more = enter(s, '{'); more; more = after(s, '{')) {
        char *key;
        size_t key_len;

        if (more < 0 || name(s, &key, &key_len) < 0)
            return -1;
        if (key_len != field_len || memcmp(key, field, key_len) != 0) {
            if (value(s) < 0)
                return -1;
        } else if (s->at == s->end || *s->at != '"') {
            return bad(s, "the value of the field is not a string");
        } else if (string(s, text, len) < 0) {
            return -1;
        }
    }
    blanks(s);
    return s->at == s->end ? 0 : bad(s, "something follows the object");
}

int jsonl_field(char *line, size_t n, const char *field, char **text,
                size_t *len, struct err *e)
{
    struct scan s = { .at = line, .end = line + n };

    if (n >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0)
        s.at += 3; /* what some editors begin a file with */
    blanks(&s);
    if (s.at == s.end)
        return 0;
    *text = NULL;
    if (members(&s, field, text, len) < 0)
        return err_set(e, ERR_INPUT, "column %zu: %s",
                       (size_t)(s.at - line) + 1, s.why);
    if (!*text)
        return err_set(e, ERR_INPUT, "no field \"%s\"", field);
    return 1;
}

/* How many bytes from p on may stand in a string as they are. */
static size_t plain_run(const uint8_t *p, const uint8_t *end)
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
        const size_t run = plain_run(p, end);
        const char *found;
        uint32_t c;

        buf_add(b, p, run);
        p += run;
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
