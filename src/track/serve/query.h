#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/mem.h"

/*
 * query - the parameters of a URL: "store=0&filter=lr%20%3C%201"
 *
 *      struct query q = { 0 };
 *
 *      if (query_parse(&q, text, e) == 0)
 *          ... query_get(&q, "filter") ...
 *      query_clear(&q);
 *
 * An escape that is not one, or that stands for a NUL, is ERR_USAGE, and so are
 * more parameters than any page asks with.
 */
enum { QUERY_MOST = 64 };

struct query {
    struct arena mem;
    const char *key[QUERY_MOST], *value[QUERY_MOST];
    size_t n;
    const char *body; /* what a POST sends */
};

int query_parse(struct query *, const char *text, struct err *);
/* The value of a key; NULL if it is missing or empty. */
const char *query_get(const struct query *, const char *key);
/* Is its value "1"? */
bool query_flag(const struct query *, const char *key);
/* A whole number from 0 to most, or `otherwise` if it is missing. */
int query_number(const struct query *, const char *key, int most, int otherwise,
                 int *out, struct err *);
/* The parts of a value between commas; the list belongs to the query. */
size_t query_list(struct query *, const char *key, char ***list);
void query_clear(struct query *);
