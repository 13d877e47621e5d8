#include "config.h"
#include "plot/expression.h"

#include <math.h>
#include <string.h>

#include "common/filter/filter_tree.h"
#include "common/num.h"

enum { MOST_BYTES = 1000 }; /* which bounds the depth, too */

struct reading {
    struct lexer lex;
    const struct run_info *run; /* or NULL: only the form counts */
    bool load;
    int operations, metrics;
    struct err *e;
};

/* A number, or a value for each step. */
struct operand {
    bool constant;
    double number;
    struct series s;
};

static double apply(char sign, double x, double y)
{
    return sign == '+'   ? x + y
           : sign == '-' ? x - y
           : sign == '*' ? x * y
                         : x / y;
}

/* a becomes "a SIGN b", and b nothing. */
static void combine(struct operand *a, char sign, struct operand *b)
{
    const struct series x = a->s, y = b->s;
    struct series *out = a->constant ? &b->s : &a->s;
    size_t i = 0, k = 0, n = 0;

    if (a->constant && b->constant)
        a->number = apply(sign, a->number, b->number);
    while (!(a->constant && b->constant) && (a->constant || i < x.n) &&
           (b->constant || k < y.n)) {
        if (!a->constant && !b->constant && x.step[i] != y.step[k]) {
            *(x.step[i] < y.step[k] ? &i : &k) += 1;
            continue;
        }
        out->step[n] = out->step[out == &a->s ? i : k];
        out->ms[n] = out->ms[out == &a->s ? i : k];
        out->value[n++] = apply(sign, a->constant ? a->number : x.value[i],
                                b->constant ? b->number : y.value[k]);
        i++;
        k++;
    }
    out->n = n;
    if (a->constant)
        *a = (struct operand){ b->constant, a->number, b->s };
    else
        series_free(&b->s);
}

static int read_word(struct reading *r, struct operand *a)
{
    const struct lexeme t = r->lex.lexeme;

    if (t.kind != LEXEME_NAME && t.kind != LEXEME_STRING)
        return filter_lex_wrong(&r->lex, r->e,
                                "a metric or a number is expected");
    a->constant = t.kind == LEXEME_NAME && num_real(t.text, &a->number);
    r->metrics += !a->constant;
    if (!a->constant && r->run && !run_info_metric(r->run, t.text))
        return err_set(r->e, ERR_MISSING,
                       "expression: run %s has no metric %s at: %.200s",
                       r->run->name, t.text, r->lex.text + t.place);
    if (!a->constant && r->load && series_load(&a->s, r->run, t.text, 0, r->e))
        return -1;
    return filter_lex(&r->lex, r->e);
}

static double negate(double x)
{
    return -x;
}

static int read_operand(struct reading *r, struct operand *a, int level);

static int read_factor(struct reading *r, struct operand *a)
{
    const struct lexeme t = r->lex.lexeme;
    const bool minus = r->lex.text[t.place] == '-',
               calls = r->lex.text[r->lex.at] == '(';
    double (*const function)(double) =
        minus                                    ? negate
        : calls && filter_lex_is_word(&t, "exp") ? exp
        : calls && filter_lex_is_word(&t, "log") ? log
                                                 : NULL;
    int ret;

    if (!function && t.kind != LEXEME_OPEN)
        return read_word(r, a);
    if (minus) /* it may begin a name */
        r->lex.at = t.place + 1;
    r->operations += function != NULL;
    ret = filter_lex(&r->lex, r->e) < 0 ? -1
          : t.kind == LEXEME_OPEN       ? read_operand(r, a, 0)
                                        : read_factor(r, a);
    if (ret == 0 && t.kind == LEXEME_OPEN)
        ret = r->lex.lexeme.kind == LEXEME_CLOSE
                  ? filter_lex(&r->lex, r->e)
                  : filter_lex_wrong(&r->lex, r->e,
                                     "')' or an operator is expected");
    for (size_t i = 0; function && i < a->s.n; i++)
        a->s.value[i] = function(a->s.value[i]);
    if (function)
        a->number = function(a->number);
    return ret;
}

/* A sum on level 0, a product on level 1. */
static int read_operand(struct reading *r, struct operand *a, int level)
{
    int ret = level ? read_factor(r, a) : read_operand(r, a, 1);

    while (ret == 0 &&
           (filter_lex_is_word(&r->lex.lexeme, level ? "*" : "+") ||
            filter_lex_is_word(&r->lex.lexeme, level ? "/" : "-"))) {
        const char sign = *r->lex.lexeme.text;
        struct operand b = { 0 };

        r->operations++;
        ret = filter_lex(&r->lex, r->e) < 0 ? -1
              : level                       ? read_factor(r, &b)
                                            : read_operand(r, &b, 1);
        combine(a, sign, &b);
    }
    return ret;
}

static int read_all(struct reading *r, struct operand *a)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    int ret;

    *a = (struct operand){ 0 };
    r->lex.what = "expression";
    r->lex.mem = &mem;
    ret = strlen(r->lex.text) > MOST_BYTES
              ? filter_lex_wrong(&r->lex, r->e, "too long")
          : filter_lex(&r->lex, r->e) < 0 ? -1
                                          : read_operand(r, a, 0);
    if (ret == 0 && (r->lex.lexeme.kind != LEXEME_END || !r->metrics))
        ret = filter_lex_wrong(&r->lex, r->e,
                               r->metrics ? "an operator is expected"
                                          : "a metric is expected");
    return ret;
}

int expression_check(const char *text, const struct run_info *run,
                     struct err *e)
{
    struct reading r = { .lex.text = text, .run = run, .e = e };
    struct operand a;

    return read_all(&r, &a) < 0 ? -1 : r.operations;
}

int expression_load(struct series *s, const char *text,
                    const struct run_info *run, struct err *e)
{
    struct reading r = { { .text = text }, run, .load = true, .e = e };
    struct operand a;
    const int ret = read_all(&r, &a);

    *s = a.s;
    if (ret < 0)
        series_free(s);
    return ret;
}
