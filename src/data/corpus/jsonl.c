#include "config.h"
#include "data/corpus/jsonl.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/format/json_scan.h"
#include "common/utf8.h"

/* Read the members of the object.  *text stays NULL without the field. */
static int read_members(struct json_scan *s, const char *field, char **text,
                        size_t *len)
{
    const size_t field_len = strlen(field);
    int more;

    for (more = json_scan_enter(s, '{'); more; more = json_scan_next(s, '{')) {
        char *key;
        size_t key_len;

        if (more < 0 || json_scan_name(s, &key, &key_len) < 0)
            return -1;
        if (key_len != field_len || memcmp(key, field, key_len) != 0) {
            if (json_scan_skip(s) < 0)
                return -1;
        } else if (s->at == s->end || *s->at != '"') {
            return json_scan_fail(s, "the field is not a string");
        } else if (json_scan_string(s, text, len) < 0) {
            return -1;
        }
    }
    json_scan_blanks(s);
    return s->at == s->end
               ? 0
               : json_scan_fail(s, "there is something after the object");
}

int jsonl_field(char *line, size_t n, const char *field, char **text,
                size_t *len, struct err *e)
{
    struct json_scan s = { .at = line, .end = line + n };

    if (n >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0)
        s.at += 3; /* a byte order mark */
    json_scan_blanks(&s);
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
