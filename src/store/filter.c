#include "config.h"
#include "store/filter.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/num.h"
#include "store/filter_lex.h"

/* -- what a clause asks for -------------------------------------------- */

enum entity { METRICS, PARAMS, TAGS, ATTRIBUTES, DATASETS };

enum measure { LAST, MIN, MAX, MEAN, COUNT };

enum test { COMPARE, IN, IS_NULL, LIKE, ILIKE };

enum order { EQ, NE, LT, LE, GT, GE };

struct clause {
    enum entity entity;
    enum measure measure;
    const char *key;
    enum test test;
    bool negated;
    enum order order;
    struct value {
        bool is_number;
        double number;
        const char *text;
    } *value;
    size_t n_values;
};

enum node_kind { CLAUSE, AND, OR, NOT };

struct node {
    enum node_kind kind;
    struct node *left, *right;
    struct clause clause;
};

struct filter {
    struct arena mem;
    struct node *root;          /* NULL lets every run pass */
};

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

static const char *const measures[] = { [LAST] = "last", [MIN] = "min",
                                        [MAX] = "max", [MEAN] = "mean",
                                        [COUNT] = "count" };

/* Attributes: MLflow's, and ours behind them. */
enum attribute {
    RUN_ID, RUN_NAME, STATUS, USER, ARTIFACTS, EXPERIMENT, EXPERIMENT_ID,
    HOST, DAMAGE, START, END, DURATION, ATTEMPTS
};

static const struct {
    const char *word;
    enum attribute attribute;
    bool is_number;
} attributes[] = {
    { "run_id", RUN_ID, false },
    { "id", RUN_ID, false },
    { "run_name", RUN_NAME, false },
    { "run name", RUN_NAME, false },
    { "name", RUN_NAME, false },
    { "Run name", RUN_NAME, false },
    { "Run Name", RUN_NAME, false },
    { "status", STATUS, false },
    { "user_id", USER, false },
    { "user", USER, false },
    { "artifact_uri", ARTIFACTS, false },
    { "experiment", EXPERIMENT, false },
    { "experiment_name", EXPERIMENT, false },
    { "experiment_id", EXPERIMENT_ID, false },
    { "host", HOST, false },
    { "damage", DAMAGE, false },
    { "start_time", START, true },
    { "created", START, true },
    { "Created", START, true },
    { "end_time", END, true },
    { "duration", DURATION, true },
    { "attempts", ATTEMPTS, true },
};

/* -- reading ----------------------------------------------------------- */

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
    return filter_is_word(&p->lex.token, word);
}

/* What a function looks at is a metric, with its entity or without. */
static int read_measured(struct parser *p, struct clause *c, size_t measure)
{
    c->entity = METRICS;
    c->measure = (enum measure)measure;
    if (advance(p) < 0 || advance(p) < 0)
        return -1;
    if (p->lex.token.kind != TOKEN_NAME && p->lex.token.kind != TOKEN_STRING)
        return wrong(p, "a metric is expected");
    c->key = p->lex.token.text;
    if (p->lex.token.entity && (strcmp(p->lex.token.entity, "metrics") == 0 ||
                                strcmp(p->lex.token.entity, "metric") == 0))
        c->key = p->lex.token.key;
    if (advance(p) < 0)
        return -1;
    return p->lex.token.kind == TOKEN_CLOSE ? advance(p)
                                            : wrong(p, "\")\" is expected");
}

/* After a function's name a parenthesis stands at once. */
static bool is_measure(const struct parser *p, size_t *measure)
{
    const struct token *t = &p->lex.token;
    const char *after = p->lex.text + p->lex.at;

    if (t->kind != TOKEN_NAME || t->entity || after[strspn(after, " ")] != '(')
        return false;
    for (*measure = LAST; *measure <= COUNT; ++*measure)
        if (strcasecmp(t->text, measures[*measure]) == 0)
            return true;
    return false;
}

static int check_attribute(struct parser *p, const char *key)
{
    struct buf known = BUF_INIT;

    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if (strcmp(attributes[i].word, key) == 0) {
            buf_clear(&known);
            return 0;
        }
        if (islower((unsigned char)attributes[i].word[0]) &&
            !strchr(attributes[i].word, ' '))
            buf_printf(&known, "%s%s", known.len ? ", " : "",
                       attributes[i].word);
    }
    err_set(p->e, ERR_USAGE, "filter: there is no attribute %s; a metric is "
            "metrics.%s, a parameter params.%s; attributes are %s", key, key,
            key, known.s);
    buf_clear(&known);
    return -1;
}

/* What the clause looks at. */
static int read_what(struct parser *p, struct clause *c)
{
    const struct token t = p->lex.token;
    size_t i;

    if (is_measure(p, &i))
        return read_measured(p, c, i);
    if (t.kind != TOKEN_NAME)
        return wrong(p, "a name as metrics.loss is expected");
    c->key = t.key;
    c->entity = ATTRIBUTES;
    if (t.entity) {
        for (i = 0; i < sizeof entities / sizeof entities[0]; i++)
            if (strcmp(entities[i].word, t.entity) == 0)
                break;
        if (i == sizeof entities / sizeof entities[0])
            return err_set(p->e, ERR_USAGE, "filter: %s is none of metrics, "
                           "params, tags, datasets, attributes: %s", t.entity,
                           t.text);
        c->entity = entities[i].entity;
    }
    if (c->entity == ATTRIBUTES && check_attribute(p, c->key) < 0)
        return -1;
    if (c->entity == DATASETS && strcmp(c->key, "name") != 0 &&
        strcmp(c->key, "digest") != 0 && strcmp(c->key, "context") != 0)
        return wrong(p, "a dataset has name, digest and context,");
    return advance(p);
}

static bool takes_numbers(const struct clause *c)
{
    if (c->entity == METRICS)
        return true;
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        if (c->entity == ATTRIBUTES && attributes[i].is_number &&
            strcmp(attributes[i].word, c->key) == 0)
            return true;
    return false;
}

static int read_value(struct parser *p, struct clause *c, struct value *v)
{
    const struct token *t = &p->lex.token;
    const bool duration = strcmp(c->key, "duration") == 0;

    if (t->kind != TOKEN_NAME && t->kind != TOKEN_STRING)
        return wrong(p, "a value is expected");
    *v = (struct value){ .text = t->text };
    if (t->kind == TOKEN_NAME) {
        v->is_number = num_real(t->text, &v->number) ||
                       (takes_numbers(c) && duration &&
                        num_secs(t->text, &v->number));
        if (v->is_number && t->text[strlen(t->text) - 1] == '%')
            v->is_number = false;
    }
    if (takes_numbers(c) && !v->is_number)
        return wrong(p, "a number, without quotes, is expected");
    return advance(p);
}

static int read_list(struct parser *p, struct clause *c)
{
    size_t room = 0;

    if (p->lex.token.kind != TOKEN_OPEN)
        return wrong(p, "\"(\" is expected");
    if (advance(p) < 0)
        return -1;
    while (p->lex.token.kind != TOKEN_CLOSE) {
        if (c->n_values == room) {
            struct value *more;

            room = room ? room * 2 : 8;
            more = arena_alloc(p->mem, room * sizeof *more);
            if (c->n_values)
                memcpy(more, c->value, c->n_values * sizeof *more);
            c->value = more;
        }
        if (read_value(p, c, &c->value[c->n_values++]) < 0)
            return -1;
        if (p->lex.token.kind == TOKEN_COMMA) {
            if (advance(p) < 0)
                return -1;
        } else if (p->lex.token.kind != TOKEN_CLOSE) {
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
    return at_word(p, "null") ? advance(p) : wrong(p, "\"null\" is expected");
}

static int read_compare(struct parser *p, struct clause *c)
{
    static const struct {
        const char *sign;
        enum order order;
    } orders[] = { { "=", EQ },  { "==", EQ }, { "!=", NE }, { "<>", NE },
                   { "<", LT },  { "<=", LE }, { ">", GT },  { ">=", GE } };

    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        if (strcmp(orders[i].sign, p->lex.token.text) == 0)
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
    if (p->lex.token.kind != TOKEN_STRING)
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

static int read_clause(struct parser *p, struct node **out)
{
    struct node *n = new_node(p, CLAUSE, NULL, NULL);
    struct clause *c = &n->clause;

    *out = n;
    if (read_what(p, c) < 0)
        return -1;
    if (p->lex.token.kind == TOKEN_COMPARE)
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
    } else if (p->lex.token.kind == TOKEN_OPEN) {
        ret = advance(p) < 0 ? -1 : read_or(p, out);
        if (ret == 0)
            ret = p->lex.token.kind == TOKEN_CLOSE
                      ? advance(p)
                      : wrong(p, "\")\" is expected");
    } else {
        ret = read_clause(p, out);
    }
    p->depth--;
    return ret;
}

/* MLflow lets an "and" with nothing before or after it pass. */
static int read_and(struct parser *p, struct node **out)
{
    if (at_word(p, "and") && advance(p) < 0)
        return -1;
    if (read_factor(p, out) < 0)
        return -1;
    while (at_word(p, "and")) {
        struct node *right;

        if (advance(p) < 0)
            return -1;
        if (p->lex.token.kind == TOKEN_END)
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

    p.lex = (struct lexer){ .text = arena_strdup(&f->mem, text),
                            .mem = &f->mem };
    if (*text == '\0')
        return f;
    ret = advance(&p);
    if (ret == 0)
        ret = read_or(&p, &f->root);
    if (ret == 0 && p.lex.token.kind != TOKEN_END)
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

/* -- asking ------------------------------------------------------------ */

static bool in_order(enum order order, int sign)
{
    switch (order) {
    case EQ: return sign == 0;
    case NE: return sign != 0;
    case LT: return sign < 0;
    case LE: return sign <= 0;
    case GT: return sign > 0;
    default: return sign >= 0;
    }
}

static bool compare_numbers(enum order order, double a, double b)
{
    if (isnan(a) || isnan(b))
        return order == NE;
    return in_order(order, (a > b) - (a < b));
}

/* MLflow's LIKE: % is any run of characters, _ one, and nothing escapes. */
static bool like(const char *s, const char *pattern, bool fold)
{
    const char *star = NULL, *retry = NULL;

    while (*s) {
        const int a = (unsigned char)*s, b = (unsigned char)*pattern;
        const bool same = fold ? tolower(a) == tolower(b) : a == b;

        if (*pattern == '%') {
            star = ++pattern;
            retry = s;
        } else if (*pattern == '_') {
            do                          /* a whole code point */
                s++;
            while ((*s & 0xc0) == 0x80);
            pattern++;
        } else if (*pattern && same) {
            s++;
            pattern++;
        } else if (star) {
            pattern = star;
            s = ++retry;
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

static bool test_text(const struct clause *c, const char *s)
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

static bool test_number(const struct clause *c, double x)
{
    bool found = false;

    if (c->test == IS_NULL)
        return c->negated;
    if (c->test == COMPARE)
        return compare_numbers(c->order, x, c->value->number);
    for (size_t i = 0; i < c->n_values && !found; i++)
        found = x == c->value[i].number;
    return found != c->negated;
}

/* Something that is not there. */
static bool test_missing(const struct clause *c)
{
    return c->test == IS_NULL && !c->negated;
}

static bool test_metric(const struct clause *c, const struct run_info *run)
{
    const struct metric_sum *m = run_info_metric(run, c->key);

    if (!m)
        return test_missing(c);
    switch (c->measure) {
    case LAST:  return test_number(c, m->last);
    case MIN:   return test_number(c, m->min);
    case MAX:   return test_number(c, m->max);
    case MEAN:  return test_number(c, m->mean);
    default:    return test_number(c, (double)m->count);
    }
}

static bool test_dataset(const struct clause *c, const struct run_info *run)
{
    for (size_t i = 0; i < run->n_inputs; i++) {
        const struct input *in = &run->inputs[i];
        const char *s = strcmp(c->key, "name") == 0     ? in->name
                        : strcmp(c->key, "digest") == 0 ? in->digest
                                                        : in->context;

        if (s && test_text(c, s))
            return true;
    }
    return run->n_inputs == 0 && test_missing(c);
}

/* MLflow knows fewer states; by the one it sees a run is found too. */
static bool test_status(const struct clause *c, const struct run_info *run)
{
    const bool found = test_text(c, run_status_word(run->status));
    bool other;

    if (run->status != RUN_PREEMPTED)
        return found;
    other = test_text(c, run_status_word(RUN_KILLED));
    return c->negated || (c->test == COMPARE && c->order == NE) ? found && other
                                                           : found || other;
}

static double seconds(const struct run_info *run)
{
    const int64_t end = run->end_ms ? run->end_ms : run->seen_ms;

    return (double)(end - run->start_ms) / 1000;
}

static const char *host_of(const struct run_info *run)
{
    return run_info_tag(run, "gtrack.host");
}

static bool test_attribute(const struct clause *c, const struct run_info *run)
{
    const char *s = NULL;
    size_t i = 0;

    while (strcmp(attributes[i].word, c->key) != 0)
        i++;
    switch (attributes[i].attribute) {
    case RUN_ID:        s = run->id;            break;
    case RUN_NAME:      s = run->name;          break;
    case USER:          s = run->user;          break;
    case ARTIFACTS:     s = run->artifact_uri;  break;
    case EXPERIMENT:    s = run->experiment;    break;
    case EXPERIMENT_ID: s = run->experiment_id; break;
    case HOST:          s = host_of(run);       break;
    case DAMAGE:        s = run->damage;        break;
    case STATUS:        return test_status(c, run);
    case START:         return test_number(c, (double)run->start_ms);
    case DURATION:      return test_number(c, seconds(run));
    case ATTEMPTS:      return test_number(c, run->attempts);
    case END:
        return run->end_ms ? test_number(c, (double)run->end_ms)
                           : test_missing(c);
    }
    return s ? test_text(c, s) : test_missing(c);
}

static bool test_clause(const struct clause *c, const struct run_info *run)
{
    const char *s;

    switch (c->entity) {
    case METRICS:    return test_metric(c, run);
    case DATASETS:   return test_dataset(c, run);
    case ATTRIBUTES: return test_attribute(c, run);
    case PARAMS:     s = run_info_param(run, c->key); break;
    default:         s = run_info_tag(run, c->key);   break;
    }
    return s ? test_text(c, s) : test_missing(c);
}

static bool test_node(const struct node *n, const struct run_info *run)
{
    switch (n->kind) {
    case CLAUSE: return test_clause(&n->clause, run);
    case AND:    return test_node(n->left, run) && test_node(n->right, run);
    case OR:     return test_node(n->left, run) || test_node(n->right, run);
    default:     return !test_node(n->left, run);
    }
}

bool filter_match(const struct filter *f, const struct run_info *run)
{
    return !f->root || test_node(f->root, run);
}
