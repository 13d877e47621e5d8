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

/* Does a token have a space after another character? */
static bool has_inner_space(const struct tokenizer *t, int32_t id)
{
    const uint8_t *s = token_text(t, id);

    for (uint32_t i = 1; i < t->token[id].len; i++)
        if (s[i] == ' ' && s[i - 1] != ' ')
            return true;
    return false;
}

void sentencepiece_choose_pieces(struct tokenizer *t)
{
    bool words = !t->whole;

    if (t->pretokenizer == PRETOKENIZE_SPACES)
        return;
    for (size_t i = 0; i < t->n_merges && words; i++)
        words = !has_inner_space(t, t->merge[i].into);
    t->pretokenizer = words ? PRETOKENIZE_WORDS : PRETOKENIZE_NONE;
}
