#ifndef STORE_FILTER_LEX_H
#define STORE_FILTER_LEX_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/mem.h"

/*
 * filter_lex - a filter cut into words
 *
 * A name may be of several pieces without a blank between: metrics.loss,
 * metrics.`val/loss`, `metrics`."val/loss".  What comes before its first dot
 * is its entity.  There are no escapes inside quotes; a doubled quote stands
 * for two, as in MLflow.
 */
enum token_kind {
    TOKEN_END,
    TOKEN_NAME,                 /* bare, or of several pieces */
    TOKEN_STRING,               /* one piece, in quotes */
    TOKEN_COMPARE,              /* = == != <> < <= > >= */
    TOKEN_OPEN, TOKEN_CLOSE, TOKEN_COMMA,
};

struct token {
    enum token_kind kind;
    const char *text;           /* without quotes */
    const char *entity, *key;   /* of a name; entity NULL when it has none */
    size_t place;               /* in the filter */
};

struct lexer {
    const char *text;
    size_t at;
    struct arena *mem;
    struct token token;         /* the one that is looked at */
};

/* Look at the next token. */
int filter_lex(struct lexer *, struct err *);

/* Is the token this word, bare, in any case? */
bool filter_is_word(const struct token *, const char *word);

/* "filter: WHAT at 'REST'": always -1. */
int filter_wrong(const struct lexer *, struct err *, const char *what);

#endif
