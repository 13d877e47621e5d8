#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"

/*
 * filter_tree - filters of anything: their words, their tree, their tests
 *
 *      struct node *root;
 *
 *      if (filter_tree_parse(&root, text, read_what, read_value, &mem, e) < 0)
 *          return -1;
 *      if (filter_tree_test(root, test_clause, thing)) ...
 *
 *      filter := term ( "or" term )*
 *      term   := factor ( "and" factor )*
 *      factor := "not" factor | "(" filter ")" | clause
 *      clause := what cmp value
 *              | what ["not"] "in" "(" value ("," value)* ")"
 *              | what "is" ["not"] ("null" | "nan" | "finite")
 *              | what ["not"] ("like" | "ilike") string
 *      cmp    := = == != <> < <= > >=
 *
 * What a clause is about is read by a function of the caller; store/query has
 * runs, data/corpus the fields of documents.  A name may consist of several
 * pieces without a blank in between: metrics.loss, metrics.`val/loss`,
 * `metrics`."val/loss".  What comes before its first dot is its entity.  A
 * doubled quote inside quotes stands for one, as in SQL and unlike in MLflow.
 */
enum lexeme_kind {
    LEXEME_END,
    LEXEME_NAME,    /* bare, or of several pieces */
    LEXEME_STRING,  /* one piece, in quotes */
    LEXEME_COMPARE, /* = == != <> < <= > >= */
    LEXEME_OPEN,
    LEXEME_CLOSE,
    LEXEME_COMMA,
};

/* A bit for each way in which two values may compare. */
enum order { LT = 1, EQ = 2, LE = LT | EQ, GT = 4, NE = LT | GT, GE = GT | EQ };

struct lexeme {
    enum lexeme_kind kind;
    const char *text;         /* without quotes */
    const char *entity, *key; /* of a name; entity NULL when it has none */
    size_t place;             /* in the filter */
    enum order order;         /* of LEXEME_COMPARE */
};

struct lexer {
    const char *text;
    size_t at;
    struct arena *mem;
    const char *what;     /* it is, for errors; NULL: a filter */
    struct lexeme lexeme; /* the current one */
};

/* Go to the next lexeme. */
int filter_lex(struct lexer *, struct err *);

/* Is the lexeme this word, bare, in any case? */
bool filter_lex_is_word(const struct lexeme *, const char *word);

/* "filter: WHAT at: REST"; always -1. */
int filter_lex_wrong(const struct lexer *, struct err *, const char *what);

/* ---- the tree ------------------------------------------------------------ */

enum test { COMPARE, IN, IS_NULL, IS_NAN, IS_FINITE, LIKE, ILIKE };

struct clause {
    int entity, aspect, attribute; /* what the caller makes of them, */
    int64_t step;                  /* and of this */
    const char *key;
    bool is_number, is_text; /* which it is; neither: either */
    enum test test;
    bool negated;
    enum order order;
    struct value {
        bool is_number;
        double number;
        const char *text;
    } * value;
    size_t n_values;
};

enum node_kind { CLAUSE, AND, OR, NOT };

struct node {
    enum node_kind kind;
    struct node *left, *right;
    struct clause clause;
};

struct filter_parser;

/* Read what a clause is about, up to the lexeme after it: 1 if that is the
 * whole clause, else 0, or -1. */
typedef int filter_what_fn(struct filter_parser *, struct clause *);
/* Make a value of the current lexeme. */
typedef int filter_value_fn(struct filter_parser *, const struct clause *,
                            struct value *);

struct filter_parser {
    struct lexer lex;
    struct arena *mem;
    filter_what_fn *what;
    filter_value_fn *value;
    int depth;
    struct err *e;
};

/* The root is NULL for an empty text, which everything matches.  An error is an
 * ERR_USAGE that quotes the place. */
int filter_tree_parse(struct node **root, const char *text, filter_what_fn *,
                      filter_value_fn *, struct arena *, struct err *);

/* For the functions of the caller. */
int filter_tree_advance(struct filter_parser *);
int filter_tree_wrong(const struct filter_parser *, const char *what);
bool filter_tree_at_word(const struct filter_parser *, const char *word);
int filter_tree_read_value(struct filter_parser *, const struct clause *,
                           struct value *);
/* Does a parenthesis follow, as after the name of a function? */
bool filter_tree_opens(const struct filter_parser *);

/* ---- tests --------------------------------------------------------------- */

typedef bool filter_test_fn(const struct clause *, void *arg);

bool filter_tree_test(const struct node *, filter_test_fn *, void *arg);

/* Test a clause with what it is about: a text, a number, or nothing. */
bool filter_test_text(const struct clause *, const char *s);
bool filter_test_number(const struct clause *, double x);
bool filter_test_missing(const struct clause *);
