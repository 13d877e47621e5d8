#include "config.h"
#include "common/filter/filter_tree.h"

#include <string.h>

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
    int ret;

    *root = NULL;
    p.lex = (struct lexer){ .text = arena_strdup(mem, text), .mem = mem };
    if (*text == '\0')
        return 0;
    ret = filter_tree_advance(&p);
    if (ret == 0)
        ret = read_or(&p, root);
    if (ret == 0 && p.lex.lexeme.kind != LEXEME_END)
        ret = filter_tree_wrong(&p, "\"and\" or \"or\" is expected");
    return ret;
}
