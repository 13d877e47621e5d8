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
    { "changed", CHANGED },
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

/* The second argument of at(). */
static int read_step(struct filter_parser *p, struct clause *c)
{
    if (p->lex.lexeme.kind != LEXEME_COMMA)
        return filter_tree_wrong(p, "a comma and a step are expected");
    if (filter_tree_advance(p) < 0)
        return -1;
    if (!num_int(p->lex.lexeme.text, &c->step))
        return filter_tree_wrong(p, "a step is expected");
    return filter_tree_advance(p);
}

/* The argument of a function: a metric, with or without its entity. */
static int read_aspect(struct filter_parser *p, struct clause *c, size_t aspect)
{
    c->entity = METRICS;
    c->aspect = (enum aspect)aspect;
    if (filter_tree_advance(p) < 0 || filter_tree_advance(p) < 0)
        return -1;
    if (p->lex.lexeme.kind != LEXEME_NAME &&
        p->lex.lexeme.kind != LEXEME_STRING)
        return filter_tree_wrong(p, "a metric is expected");
    c->key = p->lex.lexeme.text;
    if (p->lex.lexeme.entity && (strcmp(p->lex.lexeme.entity, "metrics") == 0 ||
                                 strcmp(p->lex.lexeme.entity, "metric") == 0))
        c->key = p->lex.lexeme.key;
    if (filter_tree_advance(p) < 0 || (c->aspect == AT && read_step(p, c) < 0))
        return -1;
    return p->lex.lexeme.kind == LEXEME_CLOSE
               ? filter_tree_advance(p)
               : filter_tree_wrong(p, "\")\" is expected");
}

/* Is this the name of a function of a metric? */
static bool is_aspect(const struct filter_parser *p, size_t *aspect)
{
    const struct lexeme *t = &p->lex.lexeme;

    if (t->kind != LEXEME_NAME || t->entity || !filter_tree_opens(p))
        return false;
    for (*aspect = LAST; *aspect <= AT; ++*aspect)
        if (strcasecmp(t->text, aspects[*aspect]) == 0)
            return true;
    return false;
}

/* A name without an entity, unless one is expected, may be something else. */
static int read_attribute(struct filter_parser *p, struct clause *c,
                          bool expected)
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
static int read_what(struct filter_parser *p, struct clause *c)
{
    const struct lexeme t = p->lex.lexeme;
    size_t i;

    if (is_aspect(p, &i))
        return read_aspect(p, c, i);
    if (t.kind != LEXEME_NAME && p->lex.text[t.place] != '"')
        return filter_tree_wrong(p, "a name as metrics.loss is expected");
    c->key = t.key;
    c->entity = ATTRIBUTES;
    if (t.entity) {
        for (i = 0; i < sizeof entities / sizeof entities[0]; i++)
            if (strcmp(entities[i].word, t.entity) == 0)
                break;
        c->entity = ANY;
        if (i < sizeof entities / sizeof entities[0])
            c->entity = (int)entities[i].entity;
        c->key = c->entity == ANY ? t.text : t.key;
    }
    if (run_rate_is(c->key))
        c->aspect = MEAN;
    if (c->entity == ATTRIBUTES && read_attribute(p, c, t.entity != NULL) < 0)
        return -1;
    if (c->entity == DATASETS && strcmp(c->key, "name") != 0 &&
        strcmp(c->key, "digest") != 0 && strcmp(c->key, "context") != 0)
        return filter_tree_wrong(p, "a dataset has name, digest and context,");
    return filter_tree_advance(p);
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

static int set_value(struct filter_parser *p, const struct clause *c,
                     struct value *v)
{
    v->is_number = read_number(c, &p->lex.lexeme, &v->number);
    if (c->entity == ATTRIBUTES && c->attribute == STATUS && c->test != LIKE)
        v->text = upper_case(p->mem, v->text);
    if (c->is_number && !v->is_number)
        return filter_tree_wrong(p,
                                 c->entity == ATTRIBUTES && c->attribute <= END
                                     ? "a date such as '2026-11-21' is expected"
                                     : "a number, without quotes, is expected");
    return 0;
}

/* stalled(10min) is idle >= 10min. */
static int read_stalled(struct filter_parser *p, struct clause *c)
{
    *c = (struct clause){ .entity = ATTRIBUTES,
                          .attribute = IDLE,
                          .test = COMPARE,
                          .order = GE,
                          .is_number = true,
                          .value = arena_alloc(p->mem, sizeof *c->value),
                          .n_values = 1 };
    if (filter_tree_advance(p) < 0 || filter_tree_advance(p) < 0 ||
        filter_tree_read_value(p, c, c->value) < 0)
        return -1;
    return p->lex.lexeme.kind == LEXEME_CLOSE
               ? filter_tree_advance(p)
               : filter_tree_wrong(p, "\")\" is expected");
}

/* The left side of a clause, or all of stalled(). */
static int read_left(struct filter_parser *p, struct clause *c)
{
    if (filter_tree_at_word(p, "stalled") && filter_tree_opens(p))
        return read_stalled(p, c) < 0 ? -1 : 1;
    if (read_what(p, c) < 0)
        return -1;
    c->is_number = c->entity == METRICS ||
                   (c->entity == ATTRIBUTES && c->attribute >= START);
    c->is_text = !c->is_number && c->entity != ANY;
    return 0;
}

struct filter *filter_parse(const char *text, struct err *e)
{
    struct filter *f = xcalloc(1, sizeof *f);

    if (filter_tree_parse(&f->root, text, read_left, set_value, &f->mem, e) ==
        0)
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
