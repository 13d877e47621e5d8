/*
 * manual_text - plain text
 */
#include "config.h"
#include "data/corpus/manual_text.h"

#include <stdint.h>
#include <string.h>

#include "common/utf8.h"

static bool is_plain(unsigned char c)
{
    return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\t' || c == '\r' ||
           c == '\f';
}

bool manual_text_is_valid(const char *text, size_t n)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + n;

    while (p < end) {
        uint32_t c;

        if (is_plain(*p)) {
            p++;
            continue;
        }
        p += utf8_decode(p, end, &c);
        if (c < ' ' || c == 0x7f || c == UTF8_BAD)
            return false;
    }
    return true;
}

/* The next line, without its newline; moves *text past it. */
static bool next_line(const char **text, const char *end, const char **line,
                      size_t *n)
{
    const char *newline;

    if (*text == end)
        return false;
    newline = memchr(*text, '\n', (size_t)(end - *text));
    *line = *text;
    *text = newline ? newline + 1 : end;
    *n = (size_t)((newline ? newline : end) - *line);
    if (*n && (*line)[*n - 1] == '\r')
        --*n;
    return true;
}

/* Blanks and form feeds at the ends of lines are removed, and so are repeated
 * empty lines. */
void manual_text_plain(struct buf *out, const char *text, size_t n)
{
    const char *end = text + n, *line;
    int empty = 0;

    while (next_line(&text, end, &line, &n)) {
        while (n && (line[n - 1] == ' ' || line[n - 1] == '\t' ||
                     line[n - 1] == '\f'))
            n--;
        empty = n ? 0 : empty + 1;
        if (empty > 1)
            continue;
        buf_add(out, line, n);
        buf_char(out, '\n');
    }
}
