/*
 * filter_parse - from the words of a filter to its tree
 */
#include "config.h"
#include "store/query/filter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/num.h"
#include "store/query/filter_impl.h"
#include "store/read/run_rate.h"

/* clang-format off */
static const struct {
    const char *word;
    enum entity entity;
} entities[] = {
    { "metric", METRICS },       { "metrics", METRICS },
    { "param", PARAMS },         { "params", PARAMS },
    { "parameter", PARAMS },     { "parameters", PARAMS },
    { "tag", TAGS },             { "tags", TAGS },
    { "attribute", ATTRIBUTES }, { "attributes", ATTRIBUTES },
    { "attr", ATTRIBUTES },      { "run", ATTRIBUTES },
    { "dataset", DATASETS },     { "datasets", DATASETS },
};

static const char *const aspects[] = {
    [LAST] = "last",     [MIN] = "min",       [MAX] = "max",
    [MEAN] = "mean",     [COUNT] = "count",   [ARGMIN] = "argmin",
    [ARGMAX] = "argmax", [FIRST] = "first",   [AT] = "at",
};

static const struct {
    const char *word;
    enum attribute attribute;
} attributes[] = {
    { "run_id", RUN_ID },
    { "id", RUN_ID },
    { "run_name", RUN_NAME },
    { "run name", RUN_NAME },
    { "name", RUN_NAME },
    { "Run name", RUN_NAME },
    { "Run Name", RUN_NAME },
    { "status", STATUS },
    { "state", STATUS },
    { "reason", REASON },
    { "user_id", USER },
    { "user", USER },
    { "artifact_uri", ARTIFACTS },
    { "experiment", EXPERIMENT },
    { "experiment_name", EXPERIMENT },
    { "experiment_id", EXPERIMENT_ID },
    { "parent", PARENT },
    { "folder", FOLDER },
    { "deleted", DELETED },
    { "host", HOST },
    { "damage", DAMAGE },
    { "started", START },
    { "start_time", START },
    { "created", START },
    { "Created", START },
    { "ended", END },
    { "end_time", END },
    { "time", DURATION },
    { "duration", DURATION },
    { "steps", STEPS },
    { "idle", IDLE },
    { "attempts", ATTEMPTS },
};
/* clang-format on */

struct parser {
    struct lexer lex;
    struct arena *mem;
    int depth;
    struct err *e;
};

enum { DEPTH_MAX = 200 };

static int advance(struct parser *p)
{
    return filter_lex(&p->lex, p->e);
}

static int wrong(const struct parser *p, const char *what)
{
    return filter_wrong(&p->lex, p->e, what);
}

static bool at_word(const struct parser *p, const char *word)
{
    return filter_is_word(&p->lex.lexeme, word);
}

/* The second argument of at(). */
static int read_step(struct parser *p, struct clause *c)
{
    if (p->lex.lexeme.kind != LEXEME_COMMA)
        return wrong(p, "a comma and a step are expected");
    if (advance(p) < 0)
        return -1;
    if (!num_int(p->lex.lexeme.text, &c->step))
        return wrong(p, "a step is expected");
    return advance(p);
}

/* The argument of a function: a metric, with or without its entity. */
static int read_aspect(struct parser *p, struct clause *c, size_t aspect)
{
    c->entity = METRICS;
    c->aspect = (enum aspect)aspect;
    if (advance(p) < 0 || advance(p) < 0)
        return -1;
    if (p->lex.lexeme.kind != LEXEME_NAME &&
        p->lex.lexeme.kind != LEXEME_STRING)
        return wrong(p, "a metric is expected");
    c->key = p->lex.lexeme.text;
    if (p->lex.lexeme.entity && (strcmp(p->lex.lexeme.entity, "metrics") == 0 ||
                                 strcmp(p->lex.lexeme.entity, "metric") == 0))
        c->key = p->lex.lexeme.key;
    if (advance(p) < 0 || (c->aspect == AT && read_step(p, c) < 0))
        return -1;
    return p->lex.lexeme.kind == LEXEME_CLOSE ? advance(p)
                                              : wrong(p, "\")\" is expected");
}

/* Does a parenthesis follow, as after the name of a function? */
static bool opens_parenthesis(const struct parser *p)
{
    const char *after = p->lex.text + p->lex.at;

    return after[strspn(after, " ")] == '(';
}

/* Is this the name of a function of a metric? */
static bool is_aspect(const struct parser *p, size_t *aspect)
{
    const struct lexeme *t = &p->lex.lexeme;

    if (t->kind != LEXEME_NAME || t->entity || !opens_parenthesis(p))
        return false;
    for (*aspect = LAST; *aspect <= AT; ++*aspect)
        if (strcasecmp(t->text, aspects[*aspect]) == 0)
            return true;
    return false;
}

/* A name without an entity, unless one is expected, may be something else. */
static int read_attribute(struct parser *p, struct clause *c, bool expected)
{
    struct buf known = BUF_INIT;

    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if (strcmp(attributes[i].word, c->key) == 0) {
            c->attribute = attributes[i].attribute;
            buf_clear(&known);
            return 0;
        }
        if (islower((unsigned char)attributes[i].word[0]) &&
            !strchr(attributes[i].word, ' '))
            buf_printf(&known, "%s%s", known.len ? ", " : "",
                       attributes[i].word);
    }
    c->entity = ANY;
    if (expected)
        err_set(p->e, ERR_USAGE,
                "filter: there is no attribute %s; attributes are %s", c->key,
                known.s);
    buf_clear(&known);
    return expected ? -1 : 0;
}

/* The left side of a clause. */
static int read_what(struct parser *p, struct clause *c)
{
    const struct lexeme t = p->lex.lexeme;
    size_t i;

    if (is_aspect(p, &i))
        return read_aspect(p, c, i);
    if (t.kind != LEXEME_NAME && p->lex.text[t.place] != '"')
        return wrong(p, "a name as metrics.loss is expected");
    c->key = t.key;
    c->entity = ATTRIBUTES;
    if (t.entity) {
        for (i = 0; i < sizeof entities / sizeof entities[0]; i++)
            if (strcmp(entities[i].word, t.entity) == 0)
                break;
        c->entity =
            i < sizeof entities / sizeof entities[0] ? entities[i].entity : ANY;
        c->key = c->entity == ANY ? t.text : t.key;
    }
    if (run_rate_is(c->key))
        c->aspect = MEAN;
    if (c->entity == ATTRIBUTES && read_attribute(p, c, t.entity != NULL) < 0)
        return -1;
    if (c->entity == DATASETS && strcmp(c->key, "name") != 0 &&
        strcmp(c->key, "digest") != 0 && strcmp(c->key, "context") != 0)
        return wrong(p, "a dataset has name, digest and context,");
    return advance(p);
}

static bool takes_numbers(const struct clause *c)
{
    return c->entity == METRICS ||
           (c->entity == ATTRIBUTES && c->attribute >= START);
}

static const char *upper_case(struct arena *mem, const char *text)
{
    char *out = arena_strdup(mem, text);

    for (char *c = out; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return out;
}

/* Read a number, or what stands for one. */
static bool read_number(const struct clause *c, const struct lexeme *t,
                        double *out)
{
    const bool bare = t->kind == LEXEME_NAME, own = c->entity == ATTRIBUTES;
    int64_t ms;

    if (own && (c->attribute == START || c->attribute == END) &&
        clock_parse(t->text, &ms)) {
        *out = (double)ms;
        return true;
    }
    if (bare && num_real(t->text, out))
        return t->text[strlen(t->text) - 1] != '%';
    return bare && own && (c->attribute == DURATION || c->attribute == IDLE) &&
           num_secs(t->text, out);
}

static int read_value(struct parser *p, struct clause *c, struct value *v)
{
    const struct lexeme *t = &p->lex.lexeme;

    if (t->kind != LEXEME_NAME && t->kind != LEXEME_STRING)
        return wrong(p, "a value is expected");
    *v = (struct value){ .text = t->text };
    v->is_number = read_number(c, t, &v->number);
    if (c->entity == ATTRIBUTES && c->attribute == STATUS && c->test != LIKE)
        v->text = upper_case(p->mem, t->text);
    if (takes_numbers(c) && !v->is_number)
        return wrong(p, c->entity == ATTRIBUTES && c->attribute <= END
                            ? "a date such as '2026-11-21' is expected"
                            : "a number, without quotes, is expected");
    return advance(p);
}

static int read_list(struct parser *p, struct clause *c)
{
    if (p->lex.lexeme.kind != LEXEME_OPEN)
        return wrong(p, "\"(\" is expected");
    if (advance(p) < 0)
        return -1;
    while (p->lex.lexeme.kind != LEXEME_CLOSE) {
        c->value = arena_grow(p->mem, c->value, c->n_values, sizeof *c->value);
        if (read_value(p, c, &c->value[c->n_values++]) < 0)
            return -1;
        if (p->lex.lexeme.kind == LEXEME_COMMA) {
            if (advance(p) < 0)
                return -1;
        } else if (p->lex.lexeme.kind != LEXEME_CLOSE) {
            return wrong(p, "\",\" or \")\" is expected");
        }
    }
    if (c->n_values == 0)
        return wrong(p, "a list needs a value");
    return advance(p);
}

static int read_is(struct parser *p, struct clause *c)
{
    c->test = IS_NULL;
    if (advance(p) < 0)
        return -1;
    if (at_word(p, "not")) {
        c->negated = true;
        if (advance(p) < 0)
            return -1;
    }
    if (at_word(p, "null"))
        return advance(p);
    c->test = at_word(p, "nan") ? IS_NAN : IS_FINITE;
    if (!at_word(p, "nan") && !at_word(p, "finite"))
        return wrong(p, "\"null\", \"nan\" or \"finite\" is expected");
    if (!takes_numbers(c) && c->entity != ANY)
        return wrong(p, "only a number is");
    return advance(p);
}

static int read_compare(struct parser *p, struct clause *c)
{
    static const struct {
        const char *sign;
        enum order order;
    } orders[] = { { "=", EQ }, { "==", EQ }, { "!=", NE }, { "<>", NE },
                   { "<", LT }, { "<=", LE }, { ">", GT },  { ">=", GE } };

    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        if (strcmp(orders[i].sign, p->lex.lexeme.text) == 0)
            c->order = orders[i].order;
    c->test = COMPARE;
    c->value = arena_alloc(p->mem, sizeof *c->value);
    c->n_values = 1;
    if (advance(p) < 0)
        return -1;
    return read_value(p, c, c->value);
}

static int read_like(struct parser *p, struct clause *c)
{
    c->test = at_word(p, "like") ? LIKE : ILIKE;
    if (takes_numbers(c))
        return wrong(p, "a number has no pattern");
    if (advance(p) < 0)
        return -1;
    if (p->lex.lexeme.kind != LEXEME_STRING)
        return wrong(p, "a pattern in quotes is expected");
    c->value = arena_alloc(p->mem, sizeof *c->value);
    c->n_values = 1;
    return read_value(p, c, c->value);
}

static struct node *new_node(struct parser *p, enum node_kind kind,
                             struct node *left, struct node *right)
{
    struct node *n = arena_alloc(p->mem, sizeof *n);

    n->kind = kind;
    n->left = left;
    n->right = right;
    return n;
}

/* stalled(10min) is idle >= 10min. */
static int read_stalled(struct parser *p, struct clause *c)
{
    *c = (struct clause){ .entity = ATTRIBUTES,
                          .attribute = IDLE,
                          .test = COMPARE,
                          .order = GE,
                          .value = arena_alloc(p->mem, sizeof *c->value),
                          .n_values = 1 };
    if (advance(p) < 0 || advance(p) < 0 || read_value(p, c, c->value) < 0)
        return -1;
    return p->lex.lexeme.kind == LEXEME_CLOSE ? advance(p)
                                              : wrong(p, "\")\" is expected");
}

static int read_clause(struct parser *p, struct node **out)
{
    struct node *n = new_node(p, CLAUSE, NULL, NULL);
    struct clause *c = &n->clause;

    *out = n;
    if (at_word(p, "stalled") && opens_parenthesis(p))
        return read_stalled(p, c);
    if (read_what(p, c) < 0)
        return -1;
    if (p->lex.lexeme.kind == LEXEME_COMPARE)
        return read_compare(p, c);
    if (at_word(p, "is"))
        return read_is(p, c);
    if (at_word(p, "not")) {
        c->negated = true;
        if (advance(p) < 0)
            return -1;
    }
    if (at_word(p, "in")) {
        c->test = IN;
        return advance(p) < 0 ? -1 : read_list(p, c);
    }
    if (at_word(p, "like") || at_word(p, "ilike"))
        return read_like(p, c);
    return wrong(p, "one of = != < <= > >= in like ilike is expected");
}

static int read_or(struct parser *p, struct node **out);

static int read_factor(struct parser *p, struct node **out)
{
    int ret;

    if (++p->depth > DEPTH_MAX)
        return wrong(p, "too deep");
    if (at_word(p, "not")) {
        *out = new_node(p, NOT, NULL, NULL);
        ret = advance(p) < 0 ? -1 : read_factor(p, &(*out)->left);
    } else if (p->lex.lexeme.kind == LEXEME_OPEN) {
        ret = advance(p) < 0 ? -1 : read_or(p, out);
        if (ret == 0)
            ret = p->lex.lexeme.kind == LEXEME_CLOSE
                      ? advance(p)
                      : wrong(p, "\")\" is expected");
    } else {
        ret = read_clause(p, out);
    }
    p->depth--;
    return ret;
}

static int skip_and(struct parser *p)
{
    while (at_word(p, "and"))
        if (advance(p) < 0)
            return -1;
    return 0;
}

/* As in MLflow, there may be nothing before or after an "and". */
static int read_and(struct parser *p, struct node **out)
{
    if (skip_and(p) < 0 || read_factor(p, out) < 0)
        return -1;
    while (at_word(p, "and")) {
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

static int read_or(struct parser *p, struct node **out)
{
    if (read_and(p, out) < 0)
        return -1;
    while (at_word(p, "or")) {
        struct node *right;

        if (advance(p) < 0 || read_and(p, &right) < 0)
            return -1;
        *out = new_node(p, OR, *out, right);
    }
    return 0;
}

struct filter *filter_parse(const char *text, struct err *e)
{
    struct filter *f = xcalloc(1, sizeof *f);
    struct parser p = { .mem = &f->mem, .e = e };
    int ret;

    p.lex =
        (struct lexer){ .text = arena_strdup(&f->mem, text), .mem = &f->mem };
    if (*text == '\0')
        return f;
    ret = advance(&p);
    if (ret == 0)
        ret = read_or(&p, &f->root);
    if (ret == 0 && p.lex.lexeme.kind != LEXEME_END)
        ret = wrong(&p, "\"and\" or \"or\" is expected");
    if (ret == 0)
        return f;
    filter_free(f);
    return NULL;
}

void filter_free(struct filter *f)
{
    if (!f)
        return;
    arena_clear(&f->mem);
    free(f);
}
