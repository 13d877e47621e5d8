#include "config.h"
#include "common/filter/filter_tree.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "common/num.h"
#include "common/utf8.h"

/* ---- the words ----------------------------------------------------------- */

int filter_lex_wrong(const struct lexer *l, struct err *e, const char *what)
{
    const char *rest = l->text + l->lexeme.place;

    return err_usage(e, "%s: %s at%s: %.200s", l->what ? l->what : "filter",
                     what, *rest ? "" : " the end of", *rest ? rest : l->text);
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
    AUTO(buf_clear) struct buf whole = BUF_INIT;
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

/* ---- the tree ------------------------------------------------------------ */

enum { DEPTH_MAX = 200 };

int filter_tree_advance(struct filter_parser *p)
{
    return filter_lex(&p->lex, p->e);
}

int filter_tree_wrong(const struct filter_parser *p, const char *what)
{
    return filter_lex_wrong(&p->lex, p->e, what);
}

bool filter_tree_at_word(const struct filter_parser *p, const char *word)
{
    return filter_lex_is_word(&p->lex.lexeme, word);
}

bool filter_tree_opens(const struct filter_parser *p)
{
    const char *after = p->lex.text + p->lex.at;

    return after[strspn(after, " ")] == '(';
}

int filter_tree_read_value(struct filter_parser *p, const struct clause *c,
                           struct value *v)
{
    const struct lexeme *t = &p->lex.lexeme;

    if (t->kind != LEXEME_NAME && t->kind != LEXEME_STRING)
        return filter_tree_wrong(p, "a value is expected");
    *v = (struct value){ .text = t->text };
    return p->value(p, c, v) < 0 ? -1 : filter_tree_advance(p);
}

/* A "not" before what follows. */
static int read_not(struct filter_parser *p, struct clause *c)
{
    if (!filter_tree_at_word(p, "not"))
        return 0;
    c->negated = true;
    return filter_tree_advance(p);
}

static int read_list(struct filter_parser *p, struct clause *c)
{
    if (p->lex.lexeme.kind != LEXEME_OPEN)
        return filter_tree_wrong(p, "\"(\" is expected");
    if (filter_tree_advance(p) < 0)
        return -1;
    while (p->lex.lexeme.kind != LEXEME_CLOSE) {
        c->value = arena_grow(p->mem, c->value, c->n_values, sizeof *c->value);
        if (filter_tree_read_value(p, c, &c->value[c->n_values++]) < 0)
            return -1;
        if (p->lex.lexeme.kind == LEXEME_COMMA) {
            if (filter_tree_advance(p) < 0)
                return -1;
        } else if (p->lex.lexeme.kind != LEXEME_CLOSE) {
            return filter_tree_wrong(p, "\",\" or \")\" is expected");
        }
    }
    if (c->n_values == 0)
        return filter_tree_wrong(p, "a list needs a value");
    return filter_tree_advance(p);
}

static int read_is(struct filter_parser *p, struct clause *c)
{
    c->test = IS_NULL;
    if (filter_tree_advance(p) < 0 || read_not(p, c) < 0)
        return -1;
    if (filter_tree_at_word(p, "null"))
        return filter_tree_advance(p);
    c->test = filter_tree_at_word(p, "nan") ? IS_NAN : IS_FINITE;
    if (!filter_tree_at_word(p, "nan") && !filter_tree_at_word(p, "finite"))
        return filter_tree_wrong(p,
                                 "\"null\", \"nan\" or \"finite\" is expected");
    if (c->is_text)
        return filter_tree_wrong(p, "only a number is");
    return filter_tree_advance(p);
}

static int read_compare(struct filter_parser *p, struct clause *c)
{
    c->test = COMPARE;
    c->order = p->lex.lexeme.order;
    c->value = arena_alloc(p->mem, sizeof *c->value);
    c->n_values = 1;
    if (filter_tree_advance(p) < 0)
        return -1;
    return filter_tree_read_value(p, c, c->value);
}

static int read_like(struct filter_parser *p, struct clause *c)
{
    c->test = filter_tree_at_word(p, "like") ? LIKE : ILIKE;
    if (c->is_number)
        return filter_tree_wrong(p, "a number has no pattern");
    if (filter_tree_advance(p) < 0)
        return -1;
    if (p->lex.lexeme.kind != LEXEME_STRING)
        return filter_tree_wrong(p, "a pattern in quotes is expected");
    c->value = arena_alloc(p->mem, sizeof *c->value);
    c->n_values = 1;
    return filter_tree_read_value(p, c, c->value);
}

static struct node *new_node(struct filter_parser *p, enum node_kind kind,
                             struct node *left, struct node *right)
{
    struct node *n = arena_alloc(p->mem, sizeof *n);

    n->kind = kind;
    n->left = left;
    n->right = right;
    return n;
}

static int read_clause(struct filter_parser *p, struct node **out)
{
    struct node *n = new_node(p, CLAUSE, NULL, NULL);
    struct clause *c = &n->clause;
    int got;

    *out = n;
    got = p->what(p, c);
    if (got != 0)
        return got < 0 ? -1 : 0;
    if (p->lex.lexeme.kind == LEXEME_COMPARE)
        return read_compare(p, c);
    if (filter_tree_at_word(p, "is"))
        return read_is(p, c);
    if (read_not(p, c) < 0)
        return -1;
    if (filter_tree_at_word(p, "in")) {
        c->test = IN;
        return filter_tree_advance(p) < 0 ? -1 : read_list(p, c);
    }
    if (filter_tree_at_word(p, "like") || filter_tree_at_word(p, "ilike"))
        return read_like(p, c);
    return filter_tree_wrong(p,
                             "one of = != < <= > >= in like ilike is expected");
}

static int read_or(struct filter_parser *p, struct node **out);

static int read_factor(struct filter_parser *p, struct node **out)
{
    int ret;

    if (++p->depth > DEPTH_MAX)
        return filter_tree_wrong(p, "too deep");
    if (filter_tree_at_word(p, "not")) {
        *out = new_node(p, NOT, NULL, NULL);
        ret = filter_tree_advance(p) < 0 ? -1 : read_factor(p, &(*out)->left);
    } else if (p->lex.lexeme.kind == LEXEME_OPEN) {
        ret = filter_tree_advance(p) < 0 ? -1 : read_or(p, out);
        if (ret == 0)
            ret = p->lex.lexeme.kind == LEXEME_CLOSE
                      ? filter_tree_advance(p)
                      : filter_tree_wrong(p, "\")\" is expected");
    } else {
        ret = read_clause(p, out);
    }
    p->depth--;
    return ret;
}

static int skip_and(struct filter_parser *p)
{
    while (filter_tree_at_word(p, "and"))
        if (filter_tree_advance(p) < 0)
            return -1;
    return 0;
}

/* As in MLflow, there may be nothing before or after an "and". */
static int read_and(struct filter_parser *p, struct node **out)
{
    if (skip_and(p) < 0 || read_factor(p, out) < 0)
        return -1;
    while (filter_tree_at_word(p, "and")) {
        struct node *right;

        if (skip_and(p) < 0)
            return -1;
        if (p->lex.lexeme.kind == LEXEME_END)
            return 0;
        if (read_factor(p, &right) < 0)
            return -1;
        *out = new_node(p, AND, *out, right);
    }
    return 0;
}

static int read_or(struct filter_parser *p, struct node **out)
{
    if (read_and(p, out) < 0)
        return -1;
    while (filter_tree_at_word(p, "or")) {
        struct node *right;

        if (filter_tree_advance(p) < 0 || read_and(p, &right) < 0)
            return -1;
        *out = new_node(p, OR, *out, right);
    }
    return 0;
}

int filter_tree_parse(struct node **root, const char *text,
                      filter_what_fn *what, filter_value_fn *value,
                      struct arena *mem, struct err *e)
{
    struct filter_parser p = {
        .mem = mem, .what = what, .value = value, .e = e
    };

    *root = NULL;
    p.lex = (struct lexer){ .text = arena_strdup(mem, text), .mem = mem };
    if (*text == '\0')
        return 0;
    if (filter_tree_advance(&p) < 0 || read_or(&p, root) < 0)
        return -1;
    return p.lex.lexeme.kind == LEXEME_END
               ? 0
               : filter_tree_wrong(&p, "\"and\" or \"or\" is expected");
}

static bool in_order(enum order order, int sign)
{
    const enum order is = sign < 0 ? LT : sign > 0 ? GT : EQ;

    return (order & is) != 0;
}

static bool compare_numbers(enum order order, double a, double b)
{
    if (isnan(a) || isnan(b))
        return order == NE;
    return in_order(order, (a > b) - (a < b));
}

/* Step over a character of each, and compare the two. */
static bool same_letter(const char **s, const char **pattern, bool fold)
{
    const char x = **s, y = **pattern;
    const int32_t a = utf8_next(s), b = utf8_next(pattern);

    if (a < 0) /* no letter, but a byte */
        return b < 0 && x == y;
    return a == b || (fold && utf8_fold(a) == utf8_fold(b));
}

/* SQL's LIKE: % is any run of characters, _ one, and nothing escapes. */
static bool like(const char *s, const char *pattern, bool fold)
{
    const char *star = NULL, *retry = NULL;

    while (*s) {
        const char *t = s, *p = pattern;

        if (*pattern == '%') {
            star = ++pattern;
            retry = s;
        } else if (*pattern == '_') {
            utf8_next(&s);
            pattern++;
        } else if (*pattern && same_letter(&t, &p, fold)) {
            s = t;
            pattern = p;
        } else if (star) {
            pattern = star;
            utf8_next(&retry);
            s = retry;
        } else {
            return false;
        }
    }
    while (*pattern == '%')
        pattern++;
    return *pattern == '\0';
}

static bool is_text(const struct value *v, const char *s)
{
    double x;

    if (v->is_number)
        return num_real(s, &x) && x == v->number;
    return strcmp(v->text, s) == 0;
}

bool filter_test_number(const struct clause *c, double x)
{
    bool found = false;

    if (c->test == IS_NULL)
        return c->negated;
    if (c->test == IS_NAN)
        return isnan(x) != c->negated;
    if (c->test == IS_FINITE)
        return isfinite(x) != c->negated;
    if (c->test == COMPARE)
        return compare_numbers(c->order, x, c->value->number);
    for (size_t i = 0; i < c->n_values && !found; i++)
        found = x == c->value[i].number;
    return found != c->negated;
}

bool filter_test_text(const struct clause *c, const char *s)
{
    const struct value *v = c->value;
    bool found = false;
    double x;

    switch (c->test) {
    case IS_NULL:
        return c->negated;
    case LIKE:
    case ILIKE:
        return like(s, v->text, c->test == ILIKE) != c->negated;
    case IS_NAN:
    case IS_FINITE:
        return num_real(s, &x) && filter_test_number(c, x);
    case IN:
        for (size_t i = 0; i < c->n_values && !found; i++)
            found = is_text(&v[i], s);
        return found != c->negated;
    default:
        break;
    }
    if (v->is_number)
        return num_real(s, &x) && compare_numbers(c->order, x, v->number);
    return in_order(c->order, strcmp(s, v->text));
}

bool filter_test_missing(const struct clause *c)
{
    return c->test == IS_NULL && !c->negated;
}

bool filter_tree_test(const struct node *n, filter_test_fn *test, void *arg)
{
    bool left;

    if (!n)
        return true;
    if (n->kind == CLAUSE)
        return test(&n->clause, arg);
    left = filter_tree_test(n->left, test, arg);
    if (n->kind == NOT)
        return !left;
    return n->kind == AND ? left && filter_tree_test(n->right, test, arg)
                          : left || filter_tree_test(n->right, test, arg);
}
