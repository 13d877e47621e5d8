/*
 * filter_resolve - what the names in a filter mean for these runs
 */
#include "config.h"
#include "store/query/filter.h"

#include <string.h>

#include "common/opt.h"
#include "store/query/filter_impl.h"
#include "store/query/find_key.h"

static int check_number(const struct clause *c, struct err *e)
{
    bool numbers = c->test != LIKE && c->test != ILIKE;

    for (size_t i = 0; i < c->n_values; i++)
        numbers = numbers && c->value[i].is_number;
    return numbers ? 0
                   : err_set(e, ERR_USAGE,
                             "filter: the metric %s is compared with numbers, "
                             "without quotes",
                             c->key);
}

/* A name without "metrics." or the like. */
static int resolve_name(struct clause *c, struct arena *mem,
                        const struct runs *runs, struct err *e)
{
    static const enum entity entities[] = {
        [PARAM] = PARAMS, [METRIC] = METRICS, [TAG] = TAGS
    };
    const char *key;
    const enum key_kind kind = find_key(runs, c->key, &key);

    if (kind == KINDS)
        return find_key_fail(runs->run, runs->n, KINDS, c->key, NULL, e);
    c->entity = entities[kind];
    c->key = arena_strdup(mem, key);
    return c->entity == METRICS ? check_number(c, e) : 0;
}

/* A status that there is none of, or an experiment. */
static int check_word(const struct clause *c, const struct runs *runs,
                      struct err *e)
{
    const bool status = c->attribute == STATUS;
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
    if (c->test == IS_NULL && c->entity != ANY)
        return 0;
    switch (c->entity) {
    case ANY:
        return resolve_name(c, mem, runs, e);
    case METRICS:
        return find_key_exists(runs, METRIC, c->key)
                   ? 0
                   : find_key_fail(runs->run, runs->n, METRIC, c->key, NULL, e);
    case PARAMS:
        return find_key_exists(runs, PARAM, c->key)
                   ? 0
                   : find_key_fail(runs->run, runs->n, PARAM, c->key, NULL, e);
    case ATTRIBUTES:
        return (c->attribute == EXPERIMENT || c->attribute == STATUS) &&
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
