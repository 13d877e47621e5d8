#include "config.h"
#include "store/query/filter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/filter/filter_tree.h"
#include "common/num.h"
#include "common/opt.h"
#include "store/query/run_value.h"

/* ANY: a parameter, a metric or a tag; filter_resolve() finds out which. */
enum entity { METRICS, PARAMS, TAGS, ATTRIBUTES, DATASETS, ANY };

struct filter {
    struct arena mem;
    struct node *root; /* NULL matches every run */
};

/* ---- from the words of a filter to its tree ------------------------------ */

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
    c->aspect = (int)aspect;
    if (filter_tree_advance(p) < 0 || filter_tree_advance(p) < 0)
        return -1;
    if (p->lex.lexeme.kind != LEXEME_NAME &&
        p->lex.lexeme.kind != LEXEME_STRING)
        return filter_tree_wrong(p, "a metric is expected");
    c->key = p->lex.lexeme.text;
    if (p->lex.lexeme.entity && (strcmp(p->lex.lexeme.entity, "metrics") == 0 ||
                                 strcmp(p->lex.lexeme.entity, "metric") == 0))
        c->key = p->lex.lexeme.key;
    if (filter_tree_advance(p) < 0 ||
        (c->aspect == FUNCTION_AT && read_step(p, c) < 0))
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
    for (*aspect = 0; run_value_functions[*aspect]; ++*aspect)
        if (strcasecmp(t->text, run_value_functions[*aspect]) == 0)
            return true;
    return false;
}

/* A name without an entity, unless one is expected, may be something else. */
static int read_attribute(struct filter_parser *p, struct clause *c,
                          bool expected)
{
    AUTO(buf_clear) struct buf known = BUF_INIT;

    c->attribute = run_value_find(c->key, true);
    if (c->attribute >= 0)
        return 0;
    c->entity = ANY;
    if (!expected)
        return 0;
    for (int i = 0; run_value_attributes[i]; i++)
        buf_printf(&known, "%s, ", run_value_attributes[i]);
    err_usage(p->e,
              "filter: there is no attribute %s; attributes are %shost and "
              "idle",
              c->key, known.s);
    return -1;
}

/* Is it compared with dates? */
static bool is_time(const struct clause *c)
{
    return c->entity == ATTRIBUTES && (c->attribute == ATTRIBUTE_STARTED ||
                                       c->attribute == ATTRIBUTE_ENDED);
}

/* Is it compared with durations? */
static bool is_duration(const struct clause *c)
{
    return c->entity == ATTRIBUTES &&
           (c->attribute == ATTRIBUTE_TIME || c->attribute == ATTRIBUTE_IDLE);
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
        c->aspect = FUNCTION_MEAN;
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
    const bool bare = t->kind == LEXEME_NAME;
    int64_t ms;

    if (is_time(c) && clock_parse(t->text, &ms)) {
        *out = (double)ms;
        return true;
    }
    if (bare && num_real(t->text, out))
        return t->text[strlen(t->text) - 1] != '%';
    return bare && is_duration(c) && num_secs(t->text, out);
}

static int set_value(struct filter_parser *p, const struct clause *c,
                     struct value *v)
{
    v->is_number = read_number(c, &p->lex.lexeme, &v->number);
    if (c->entity == ATTRIBUTES && c->attribute == ATTRIBUTE_STATUS &&
        c->test != LIKE)
        v->text = upper_case(p->mem, v->text);
    if (c->is_number && !v->is_number)
        return filter_tree_wrong(
            p, is_time(c) ? "a date such as '2026-11-21' is expected"
                          : "a number, without quotes, is expected");
    return 0;
}

/* stalled(10min) is idle >= 10min. */
static int read_stalled(struct filter_parser *p, struct clause *c)
{
    *c = (struct clause){ .entity = ATTRIBUTES,
                          .attribute = ATTRIBUTE_IDLE,
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
    c->is_number =
        c->entity == METRICS || is_time(c) || is_duration(c) ||
        (c->entity == ATTRIBUTES && (c->attribute == ATTRIBUTE_STEPS ||
                                     c->attribute == ATTRIBUTE_ATTEMPTS));
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

/* ---- what the names in a filter mean for these runs ---------------------- */

static int check_number(const struct clause *c, struct err *e)
{
    bool numbers = c->test != LIKE && c->test != ILIKE;

    for (size_t i = 0; i < c->n_values; i++)
        numbers = numbers && c->value[i].is_number;
    return numbers
               ? 0
               : err_usage(e,
                           "filter: the metric %s is compared with numbers, "
                           "without quotes",
                           c->key);
}

/* A name without "metrics." or the like. */
static int resolve_name(struct clause *c, struct arena *mem,
                        const struct runs *runs, struct err *e)
{
    static const enum entity kinds[] = {
        [PARAM] = PARAMS, [METRIC] = METRICS, [TAG] = TAGS
    };
    const char *key;
    const enum key_kind kind = find_key(runs, c->key, &key);

    if (kind == KINDS)
        return find_key_fail(runs->run, runs->n, KINDS, c->key, NULL, e);
    c->entity = kinds[kind];
    c->key = arena_strdup(mem, key);
    return c->entity == METRICS ? check_number(c, e) : 0;
}

/* A status that there is none of, or an experiment. */
static int check_word(const struct clause *c, const struct runs *runs,
                      struct err *e)
{
    const bool status = c->attribute == ATTRIBUTE_STATUS;
    const size_t n = status ? RUN_STALE : runs->n;
    struct opt_nearest near = { .word = c->value->text };

    for (size_t i = 0; i < n; i++) {
        const char *word = status ? run_status_word((enum run_status)(i + 1))
                                  : runs->run[i].experiment;

        if (strcmp(word, near.word) == 0)
            return 0;
        opt_nearest_try(&near, word);
    }
    err_set(e, ERR_MISSING, "%s %s",
            status ? "there is no status" : "no run is in an experiment",
            near.word);
    return opt_nearest_add(&near, e);
}

/* A name that no run has is a mistake, unless just that is asked for. */
static int resolve_clause(struct clause *c, struct arena *mem,
                          const struct runs *runs, struct err *e)
{
    const enum key_kind kind = c->entity == METRICS ? METRIC : PARAM;

    if (c->test == IS_NULL && c->entity != ANY)
        return 0;
    switch (c->entity) {
    case ANY:
        return resolve_name(c, mem, runs, e);
    case METRICS:
    case PARAMS:
        return find_key_exists(runs, kind, c->key)
                   ? 0
                   : find_key_fail(runs->run, runs->n, kind, c->key, NULL, e);
    case ATTRIBUTES:
        return (c->attribute == ATTRIBUTE_EXPERIMENT ||
                c->attribute == ATTRIBUTE_STATUS) &&
                       c->test == COMPARE && c->order == EQ
                   ? check_word(c, runs, e)
                   : 0;
    default:
        return 0;
    }
}

static int resolve_node(struct node *n, struct arena *mem,
                        const struct runs *runs, struct err *e)
{
    if (!n)
        return 0;
    if (n->kind == CLAUSE)
        return resolve_clause(&n->clause, mem, runs, e);
    return resolve_node(n->left, mem, runs, e) < 0
               ? -1
               : resolve_node(n->right, mem, runs, e);
}

int filter_resolve(struct filter *f, const struct runs *runs, struct err *e)
{
    return runs->n ? resolve_node(f->root, &f->mem, runs, e) : 0;
}

/* ---- does a run match? --------------------------------------------------- */

static bool test_cell(const struct clause *c, const struct table_cell *cell)
{
    switch (cell->type) {
    case TABLE_NONE:
        return filter_test_missing(c);
    case TABLE_TEXT:
        return filter_test_text(c, cell->text);
    case TABLE_INT:
    case TABLE_TIME:
        return filter_test_number(c, (double)cell->i);
    default:
        return filter_test_number(c, cell->x);
    }
}

static bool test_dataset(const struct clause *c, const struct run_info *run)
{
    for (size_t i = 0; i < run->n_inputs; i++) {
        const struct run_dataset *in = &run->inputs[i];
        const char *s = strcmp(c->key, "name") == 0     ? in->name
                        : strcmp(c->key, "digest") == 0 ? in->digest
                                                        : in->context;

        if (s && filter_test_text(c, s))
            return true;
    }
    return run->n_inputs == 0 && filter_test_missing(c);
}

/* A run is also found by the status that MLflow, which knows fewer, sees. */
static bool test_status(const struct clause *c, const struct run_info *run)
{
    const bool found = filter_test_text(c, run_status_word(run->status));
    bool other;

    if (run_status_mlflow(run->status) == run->status)
        return found;
    other =
        filter_test_text(c, run_status_word(run_status_mlflow(run->status)));
    return c->negated || (c->test == COMPARE && c->order == NE)
               ? found && other
               : found || other;
}

static bool test_clause(const struct clause *c, const struct run_info *run,
                        struct err *e)
{
    struct table_cell cell = { .type = TABLE_NONE };
    const char *s = NULL;

    switch (c->entity) {
    case METRICS:
        cell = run_value_metric(run, c->key, (enum run_function)c->aspect,
                                c->step, e);
        if (run->unread && !run_info_metric(run, c->key))
            err_set(e, ERR_SYSTEM, "run %s could not be read: %s", run->name,
                    run->damage);
        return test_cell(c, &cell);
    case ANY: /* there is no run to find it in */
        return false;
    case DATASETS:
        return test_dataset(c, run);
    case ATTRIBUTES:
        if (c->attribute == ATTRIBUTE_STATUS)
            return test_status(c, run);
        cell = run_value_attribute(c->attribute, run);
        return test_cell(c, &cell);
    case PARAMS:
        s = run_info_param(run, c->key);
        break;
    case TAGS:
        s = run_info_tag(run, c->key);
        break;
    }
    return s ? filter_test_text(c, s) : filter_test_missing(c);
}

struct tested {
    const struct run_info *run;
    struct err why; /* a metric could not be read */
};

static bool test_run(const struct clause *c, void *arg)
{
    struct tested *t = arg;

    return test_clause(c, t->run, &t->why);
}

int filter_match(const struct filter *f, const struct run_info *run,
                 struct err *e)
{
    struct tested t = { .run = run };
    const bool matches = filter_tree_test(f->root, test_run, &t);

    if (t.why.kind == ERR_NONE)
        return matches;
    *e = t.why;
    return -1;
}
