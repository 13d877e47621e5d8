/*
 * filter_test - whether a value passes a clause, and a thing a filter
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "common/filter/filter_tree.h"
#include "common/num.h"
#include "common/utf8.h"

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
