/*
 * filter_lex - from the text of a filter to its words
 */
#include "config.h"
#include "common/filter/filter_tree.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"

int filter_lex_wrong(const struct lexer *l, struct err *e, const char *what)
{
    const char *rest = l->text + l->lexeme.place;

    return err_set(e, ERR_USAGE, "%s: %s at%s: %.200s",
                   l->what ? l->what : "filter", what,
                   *rest ? "" : " the end of", *rest ? rest : l->text);
}

bool filter_lex_is_word(const struct lexeme *t, const char *word)
{
    return t->kind == LEXEME_NAME && !t->entity &&
           strcasecmp(t->text, word) == 0;
}

static bool is_bare(char c)
{
    const unsigned char u = (unsigned char)c;

    return isalnum(u) || u >= 0x80 || (u && strchr("_./:+-%@", u));
}

static bool is_quote(char c)
{
    return c == '\'' || c == '"' || c == '`';
}

/* Append the content of the quoted piece that begins at l->at. */
static int quoted(struct lexer *l, struct buf *out, struct err *e)
{
    const char quote = l->text[l->at++];

    for (;;) {
        const char *from = l->text + l->at, *end = strchr(from, quote);

        if (!end)
            return filter_lex_wrong(l, e, "a quote has no end");
        buf_add(out, from, (size_t)(end - from));
        l->at = (size_t)(end - l->text) + 1;
        if (l->text[l->at] != quote || quote == '`')
            return 0;
        buf_char(out, l->text[l->at++]);
    }
}

/* A name, or a string if it is a single quoted piece, as '...' always is. */
static int name(struct lexer *l, struct err *e)
{
    const bool text = l->text[l->at] == '\'';
    struct buf whole = BUF_INIT;
    struct lexeme *t = &l->lexeme;
    size_t dot = 0, pieces = 0;
    bool bare = false, found = false;
    int ret = 0;

    while (ret == 0) {
        const char c = l->text[l->at];
        const size_t start = whole.len;

        if (is_quote(c)) {
            ret = quoted(l, &whole, e);
        } else if (is_bare(c)) {
            bare = true;
            while (is_bare(l->text[l->at]))
                buf_char(&whole, l->text[l->at++]);
            for (size_t i = start; i < whole.len && !found; i++) {
                found = whole.s[i] == '.';
                dot = i;
            }
        } else {
            break;
        }
        pieces++;
        if (text)
            break;
    }
    t->kind = bare || pieces > 1 || l->text[t->place] == '`' ? LEXEME_NAME
                                                             : LEXEME_STRING;
    t->text = arena_strndup(l->mem, whole.s, whole.len);
    t->entity = found ? arena_strndup(l->mem, whole.s, dot) : NULL;
    t->key = found ? t->text + dot + 1 : t->text;
    buf_clear(&whole);
    return ret;
}

static bool compare(struct lexer *l)
{
    static const struct {
        const char *sign;
        enum order order;
    } orders[] = { { "==", EQ }, { "!=", NE }, { "<>", NE }, { "<=", LE },
                   { ">=", GE }, { "=", EQ },  { "<", LT },  { ">", GT } };

    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        const size_t n = strlen(orders[i].sign);

        if (strncmp(l->text + l->at, orders[i].sign, n) == 0) {
            l->lexeme.kind = LEXEME_COMPARE;
            l->lexeme.order = orders[i].order;
            l->at += n;
            return true;
        }
    }
    return false;
}

int filter_lex(struct lexer *l, struct err *e)
{
    char c;

    l->at += strspn(l->text + l->at, " \t\r\n\f\v");
    l->lexeme = (struct lexeme){ LEXEME_END, "", NULL, "", l->at, EQ };
    c = l->text[l->at];
    if (c == '\0' || compare(l))
        return 0;
    if (is_quote(c) || is_bare(c))
        return name(l, e);
    l->at++;
    l->lexeme.kind = c == '('   ? LEXEME_OPEN
                     : c == ')' ? LEXEME_CLOSE
                     : c == ',' ? LEXEME_COMMA
                     : c == '*' ? LEXEME_NAME
                                : LEXEME_END;
    if (c == '*') /* of an expression */
        l->lexeme.text = "*";
    return l->lexeme.kind == LEXEME_END
               ? filter_lex_wrong(l, e, "this has no meaning")
               : 0;
}
