#include "config.h"
#include "common/buf.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"

enum { CHUNK = 4000 };

char buf_empty[1];

void buf_room(struct buf *b, size_t more)
{
    const size_t need = b->len + more + 1;
    size_t room = b->room ? b->room : 64;

    if (need <= b->room)
        return;
    while (room < need)
        room *= 2;
    b->s = xrealloc(b->room ? b->s : NULL, room, 1);
    b->room = room;
    b->s[b->len] = '\0';
}

void buf_add(struct buf *b, const void *data, size_t n)
{
    if (n == 0)
        return;
    buf_room(b, n);
    memcpy(b->s + b->len, data, n);
    b->len += n;
    b->s[b->len] = '\0';
}

void buf_str(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_char(struct buf *b, char c)
{
    buf_room(b, 1);
    b->s[b->len++] = c;
    b->s[b->len] = '\0';
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    int n;

    buf_room(b, 32);
    va_copy(again, ap);
    n = vsnprintf(b->s + b->len, b->room - b->len, fmt, again);
    va_end(again);
    if (n >= 0 && (size_t)n >= b->room - b->len) { /* there was too little */
        buf_room(b, (size_t)n);
        n = vsnprintf(b->s + b->len, b->room - b->len, fmt, ap);
    }
    b->len += n > 0 ? (size_t)n : 0;
    b->s[b->len] = '\0';
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void buf_trim(struct buf *b, size_t len)
{
    if (len < b->len) {
        b->len = len;
        b->s[len] = '\0';
    }
}

char *buf_detach(struct buf *b)
{
    char *s = b->room ? b->s : xstrdup("");

    *b = BUF_INIT;
    return s;
}

void buf_clear(struct buf *b)
{
    if (b->room)
        free(b->s);
    *b = BUF_INIT;
}

void buf_base64(struct buf *b, const void *data, size_t n)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop"
                                  "qrstuvwxyz0123456789+/";
    const unsigned char *s = data;

    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const unsigned v = (unsigned)s[i] << 16 |
                           (left > 1 ? (unsigned)s[i + 1] << 8 : 0) |
                           (left > 2 ? (unsigned)s[i + 2] : 0);

        buf_char(b, letters[v >> 18]);
        buf_char(b, letters[v >> 12 & 63]);
        buf_char(b, left > 1 ? letters[v >> 6 & 63] : '=');
        buf_char(b, left > 2 ? letters[v & 63] : '=');
    }
}

int buf_read_open(struct buf *b, int fd, const char *path, size_t max,
                  struct err *e)
{
    const size_t was = b->len;
    struct stat st;
    int ret = 0;

    if (fd < 0)
        return -1;
    buf_room(b, CHUNK); /* files in /proc have a size of 0 */
    if (fstat(fd, &st) < 0)
        ret = err_sys(e, "cannot read %s", path);
    else if ((size_t)st.st_size > max)
        ret = err_input(e, "%s is larger than %zu bytes", path, max);
    else
        buf_room(b, (size_t)st.st_size + 1);
    while (ret == 0) {
        ssize_t n;

        buf_room(b, 1);
        n = read(fd, b->s + b->len, b->room - b->len - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            ret = err_sys(e, "cannot read %s", path);
        if (n <= 0)
            break;
        b->len += (size_t)n;
        b->s[b->len] = '\0';
        if (b->len - was > max) {
            ret = err_input(e, "%s is larger than %zu bytes", path, max);
            break;
        }
    }
    close(fd);
    if (ret < 0)
        buf_trim(b, was);
    return ret;
}

int buf_read_file(struct buf *b, const char *path, size_t max, struct err *e)
{
    return buf_read_open(b, path_open(path, PATH_FOLLOW_LINKS, e), path, max,
                         e);
}

int buf_read_unlinked(struct buf *b, const char *path, size_t max,
                      struct err *e)
{
    return buf_read_open(b, path_open(path, PATH_NO_LINKS, e), path, max, e);
}

void buf_shell_word(struct buf *b, const char *word)
{
    buf_char(b, '\'');
    for (; *word; word++)
        if (*word == '\'')
            buf_str(b, "'\\''");
        else
            buf_char(b, *word);
    buf_char(b, '\'');
}

void buf_shell_short(struct buf *b, const char *word)
{
    const char *safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"
                       "YZ0123456789_-./=:,+@%";

    if (*word && strspn(word, safe) == strlen(word))
        buf_str(b, word);
    else
        buf_shell_word(b, word);
}

void buf_shell_option(struct buf *b, const char *option, const char *word)
{
    if (!word)
        return;
    buf_printf(b, " %s%s", option, *option ? " " : "");
    buf_shell_short(b, word);
}

int buf_shell_split(struct buf *b, const char *line)
{
    bool inside = false;
    char quote = '\0';
    int n = 0;

    for (;; line++) {
        const char c = *line;

        if (!quote && strchr(" \t\n", c)) { /* or the end */
            if (inside)
                buf_char(b, '\0');
            n += inside;
            inside = false;
            if (!c)
                return n;
            continue;
        }
        inside = true;
        if (!c || (!quote && strchr("|&;<>()$`?[#~{", c)) ||
            (!quote && c == '\\' && line[1] != '\'') ||
            (quote == '"' && strchr("$`\\", c)))
            return -1;
        if (c == quote)
            quote = '\0';
        else if (!quote && (c == '\'' || c == '"'))
            quote = c;
        else if (!quote && c == '\\' && line[1] == '\'')
            buf_char(b, *++line);
        else
            buf_char(b, c);
    }
}

bool str_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

const char *str_after(const char *s, char c)
{
    const char *at = strrchr(s, c);

    return at ? at + 1 : s;
}

bool str_ends(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);

    return n >= m && strcmp(s + n - m, end) == 0;
}

void str_trim(const char **s, size_t *n)
{
    for (; *n > 0 && isspace((unsigned char)**s); --*n)
        ++*s;
    while (*n > 0 && isspace((unsigned char)(*s)[*n - 1]))
        --*n;
}

int str_compare(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

const char *str_env(const char *name)
{
    const char *s = getenv(name);

    return s && *s ? s : NULL;
}

const char *str_or_empty(const char *s)
{
    return s ? s : "";
}

void percent_add(struct buf *b, const char *text, const char *keep)
{
    for (; *text; text++)
        if (isalnum((unsigned char)*text) || strchr(keep, *text))
            buf_char(b, *text);
        else
            buf_printf(b, "%%%02X", (unsigned char)*text);
}

bool percent_decode(char *text)
{
    char *to = text;
    bool good = true;

    for (const char *s = text; *s; s++) {
        unsigned byte = 0;

        if (*s == '%' && isxdigit((unsigned char)s[1]) &&
            isxdigit((unsigned char)s[2]))
            sscanf(s + 1, "%2x", &byte);
        good = good && (byte || *s != '%');
        *to++ = byte ? (char)byte : *s;
        s += byte ? 2 : 0;
    }
    *to = '\0';
    return good;
}
