#ifndef STORE_QUERY_FILTER_IMPL_H
#define STORE_QUERY_FILTER_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"

/*
 * filter_impl - what the files of the filter share
 *
 * filter_lex.c cuts the text into lexemes, filter_parse.c makes a tree of them,
 * filter_resolve.c looks its names up, and filter.c evaluates it.
 *
 * A name may consist of several pieces without a blank in between:
 * metrics.loss, metrics.`val/loss`, `metrics`."val/loss".  What comes before
 * its first dot is its entity.  A doubled quote inside quotes stands for
 * one, as in SQL and unlike in MLflow.
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

struct lexeme {
    enum lexeme_kind kind;
    const char *text;         /* without quotes */
    const char *entity, *key; /* of a name; entity NULL when it has none */
    size_t place;             /* in the filter */
};

struct lexer {
    const char *text;
    size_t at;
    struct arena *mem;
    struct lexeme lexeme; /* the current one */
};

/* Go to the next lexeme. */
int filter_lex(struct lexer *, struct err *);

/* Is the lexeme this word, bare, in any case? */
bool filter_is_word(const struct lexeme *, const char *word);

/* "filter: WHAT at 'REST'": always -1. */
int filter_wrong(const struct lexer *, struct err *, const char *what);

/* ANY: a parameter, a metric or a tag; filter_resolve() finds out which. */
enum entity { METRICS, PARAMS, TAGS, ATTRIBUTES, DATASETS, ANY };

/* MLflow's attributes and our own. */
enum attribute {
    RUN_ID,
    RUN_NAME,
    STATUS,
    REASON,
    USER,
    ARTIFACTS,
    EXPERIMENT,
    EXPERIMENT_ID,
    PARENT,
    FOLDER,
    DELETED,
    HOST,
    DAMAGE,
    START, /* this and those below are numbers */
    END,
    DURATION,
    STEPS,
    IDLE, /* seconds since the last point, while it has not ended */
    ATTEMPTS,
};

enum aspect { LAST, MIN, MAX, MEAN, COUNT, ARGMIN, ARGMAX, FIRST, AT };

enum test { COMPARE, IN, IS_NULL, IS_NAN, IS_FINITE, LIKE, ILIKE };

/* A bit for each way in which two values may compare. */
enum order { LT = 1, EQ = 2, LE = LT | EQ, GT = 4, NE = LT | GT, GE = GT | EQ };

struct clause {
    enum entity entity;
    enum aspect aspect;       /* of a metric */
    int64_t step;             /* of the aspect AT */
    enum attribute attribute; /* of the run */
    const char *key;          /* of any other entity */
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

struct filter {
    struct arena mem;
    struct node *root; /* NULL matches every run */
};

#endif
