#include "config.h"
#include "data/token/sentencepiece.h"

#include <string.h>

enum { MARK = sizeof SENTENCEPIECE_SPACE - 1 };

/* Append text with one string replaced by another. */
static void add_replaced(struct buf *b, const char *text, size_t n,
                         const char *from, const char *to)
{
    const size_t len = strlen(from);
    const char *const end = text + n, *found;

    while ((found = memmem(text, (size_t)(end - text), from, len))) {
        buf_add(b, text, (size_t)(found - text));
        buf_str(b, to);
        text = found + len;
    }
    buf_add(b, text, (size_t)(end - text));
}

void sentencepiece_add_spaces(struct buf *b, const void *text, size_t n)
{
    add_replaced(b, text, n, SENTENCEPIECE_SPACE, " ");
}

void sentencepiece_add_marks(struct buf *b, const void *text, size_t n)
{
    add_replaced(b, text, n, " ", SENTENCEPIECE_SPACE);
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

int sentencepiece_byte(const char *name, size_t n)
{
    int high, low;

    if (n != 6 || memcmp(name, "<0x", 3) != 0 || name[5] != '>')
        return -1;
    high = hex_digit(name[3]);
    low = hex_digit(name[4]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}
