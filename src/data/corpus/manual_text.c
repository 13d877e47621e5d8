/*
 * prose - plain text, Info, and Perl's documentation
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

/* The next line, without its end; moves *text on. */
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

static bool starts(const char *line, size_t n, const char *word)
{
    const size_t len = strlen(word);

    return n >= len && memcmp(line, word, len) == 0;
}

/* Blanks at the ends of lines and form feeds go; so do long runs of lines. */
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

/* Nodes are divided by ^_ and a line of pointers; tables of nodes follow. */
void manual_text_info(struct buf *out, const char *text, size_t n)
{
    const char *end = text + n, *line;
    struct buf lines = BUF_INIT;
    bool pointers = true;

    while (next_line(&text, end, &line, &n)) {
        if (n && line[0] == '\x1f') {
            pointers = true;
        } else if (starts(line, n, "Tag Table:") ||
                   starts(line, n, "Local Variables:")) {
            break;
        } else if (pointers && n) {
            pointers = false;
        } else if (!starts(line, n, "* Menu:")) {
            buf_add(&lines, line, n);
            buf_char(&lines, '\n');
        }
    }
    manual_text_plain(out, lines.s, lines.len);
    buf_clear(&lines);
}

/* C<code>, L<text|place>, E<lt>, and C<< a > b >>, one inside another. */
static void pod_text(struct buf *out, const char *text, size_t n)
{
    enum { DEPTH = 16 };
    char kind[DEPTH];
    size_t angles[DEPTH], from[DEPTH];
    int depth = 0;

    for (size_t i = 0; i < n; i++) {
        const char c = text[i];
        size_t k = 0;

        if (c >= 'A' && c <= 'Z' && i + 1 < n && text[i + 1] == '<' &&
            depth < DEPTH) {
            while (i + 1 + k < n && text[i + 1 + k] == '<')
                k++;
            kind[depth] = c;
            angles[depth] = k;
            from[depth++] = out->len;
            i += k;
            while (k > 1 && i + 1 < n && text[i + 1] == ' ')
                i++;
        } else if (c == '>' && depth) {
            const int top = depth - 1;
            char *inner = out->s + from[top], *bar;

            while (i + k < n && text[i + k] == '>' && k < angles[top])
                k++;
            if (k < angles[top]) {
                buf_char(out, c);
                continue;
            }
            i += k - 1;
            depth--;
            while (k > 1 && out->len > from[top] && out->s[out->len - 1] == ' ')
                buf_trim(out, out->len - 1);
            if (kind[top] == 'E' && strcmp(inner, "lt") == 0) {
                buf_trim(out, from[top]);
                buf_char(out, '<');
            } else if (kind[top] == 'E' && strcmp(inner, "gt") == 0) {
                buf_trim(out, from[top]);
                buf_char(out, '>');
            } else if (strchr("EXZ", kind[top])) {
                buf_trim(out, from[top]);
            } else if (kind[top] == 'L' && (bar = strchr(inner, '|'))) {
                buf_trim(out, (size_t)(bar - out->s));
            }
        } else {
            buf_char(out, c);
        }
    }
}

static void pod_command(struct buf *out, const char *line, size_t n)
{
    static const char *const shown[] = { "=head1 ", "=head2 ", "=head3 ",
                                         "=head4 ", "=item " };

    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        const size_t len = strlen(shown[i]);

        if (starts(line, n, shown[i])) {
            pod_text(out, line + len, n - len);
            buf_char(out, '\n');
        }
    }
}

void manual_text_pod(struct buf *out, const char *text, size_t n)
{
    const char *end = text + n, *line;
    struct buf lines = BUF_INIT;
    bool inside = false, foreign = false;

    while (next_line(&text, end, &line, &n)) {
        if (n > 1 && line[0] == '=' && line[1] >= 'a' && line[1] <= 'z') {
            inside = !starts(line, n, "=cut");
            foreign = starts(line, n, "=begin") ||
                      (foreign && !starts(line, n, "=end"));
            if (!foreign)
                pod_command(&lines, line, n);
        } else if (inside && !foreign) {
            if (n && (line[0] == ' ' || line[0] == '\t'))
                buf_add(&lines, line, n);
            else
                pod_text(&lines, line, n);
            buf_char(&lines, '\n');
        }
    }
    manual_text_plain(out, lines.s, lines.len);
    buf_clear(&lines);
}
