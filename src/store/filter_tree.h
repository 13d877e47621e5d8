#ifndef STORE_FILTER_TREE_H
#define STORE_FILTER_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/mem.h"

/*
 * filter_tree - a filter as it was read: clauses under "and", "or", "not"
 *
 * filter_parse.c makes the tree, filter.c walks it.
 */
enum entity { METRICS, PARAMS, TAGS, ATTRIBUTES, DATASETS };

/* Attributes: MLflow's, and ours behind them. */
enum attribute {
    RUN_ID, RUN_NAME, STATUS, USER, ARTIFACTS, EXPERIMENT, EXPERIMENT_ID,
    HOST, DAMAGE,
    START,      /* these and what follows are numbers */
    END, DURATION, ATTEMPTS,
};

enum measure { LAST, MIN, MAX, MEAN, COUNT };

enum test { COMPARE, IN, IS_NULL, LIKE, ILIKE };

enum order { EQ, NE, LT, LE, GT, GE };

struct clause {
    enum entity entity;
    enum measure measure;       /* of a metric */
    enum attribute attribute;   /* of the run */
    const char *key;            /* of the others */
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

#endif
