#include "config.h"
#include "data/corpus/where.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/filter/filter_tree.h"
#include "common/num.h"

struct where {
    struct arena mem;
    struct node *root;
    const char *field[WHERE_FIELDS];
    size_t n;
    atomic_bool seen[WHERE_FIELDS]; /* in a row */
};

/* ---- the filter ---------------------------------------------------------- */

static int read_field(struct filter_parser *p, struct clause *c)
{
    const struct lexeme t = p->lex.lexeme;

    if (t.kind != LEXEME_NAME && p->lex.text[t.place] != '"')
        return filter_tree_wrong(p, "the name of a field is expected");
    c->key = t.text;
    return filter_tree_advance(p);
}

static int set_value(struct filter_parser *p, const struct clause *c UNUSED,
                     struct value *v)
{
    v->is_number =
        p->lex.lexeme.kind == LEXEME_NAME && num_real(v->text, &v->number);
    return 0;
}

/* Give each field a number; false if there are too many. */
static bool number_fields(struct where *w, struct node *n)
{
    size_t i = 0;

    if (!n)
        return true;
    if (n->kind != CLAUSE)
        return number_fields(w, n->left) && number_fields(w, n->right);
    while (i < w->n && strcmp(w->field[i], n->clause.key) != 0)
        i++;
    if (i == WHERE_FIELDS)
        return false;
    w->field[i] = n->clause.key;
    w->n = i < w->n ? w->n : i + 1;
    n->clause.attribute = (int)i;
    return true;
}

struct where *where_parse(const char *text, struct err *e)
{
    struct where *w = xcalloc(1, sizeof *w);
    int ret =
        filter_tree_parse(&w->root, text, read_field, set_value, &w->mem, e);

    if (ret == 0 && !number_fields(w, w->root))
        ret =
            err_usage(e, "filter: there are more than %d fields", WHERE_FIELDS);
    if (ret == 0)
        return w;
    where_free(w);
    return NULL;
}

void where_free(struct where *w)
{
    if (!w)
        return;
    arena_clear(&w->mem);
    free(w);
}

bool where_names(const struct where *w, const char *path)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->field[i], path) == 0)
            return true;
    return false;
}

bool where_names_within(const struct where *w, const char *path)
{
    const size_t n = strlen(path);

    for (size_t i = 0; i < w->n; i++)
        if (strncmp(w->field[i], path, n) == 0 && w->field[i][n] == '.')
            return true;
    return false;
}

const char *where_missing(const struct where *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (!w->seen[i])
            return w->field[i];
    return NULL;
}

/* ---- a row --------------------------------------------------------------- */

void where_row_begin(struct where_row *r)
{
    if (!r->where)
        return;
    buf_trim(&r->text, 0);
    memset(r->at, 0, r->where->n * sizeof *r->at);
}

void where_row_set(struct where_row *r, const char *path, const char *text,
                   size_t n)
{
    struct where *w = r->where;

    for (size_t i = 0; i < w->n; i++) {
        if (strcmp(w->field[i], path) != 0)
            continue;
        r->at[i] = r->text.len + 1;
        buf_add(&r->text, text, n);
        buf_char(&r->text, '\0');
        if (!w->seen[i])
            w->seen[i] = true;
    }
}

static bool test_clause(const struct clause *c, void *arg)
{
    const struct where_row *r = arg;
    const size_t at = r->at[c->attribute];

    return at ? filter_test_text(c, r->text.s + at - 1)
              : filter_test_missing(c);
}

bool where_row_matches(struct where_row *r)
{
    return !r->where || filter_tree_test(r->where->root, test_clause, r);
}

void where_row_clear(struct where_row *r)
{
    buf_clear(&r->text);
}
