#ifndef DATA_TOKEN_JSON_H
#define DATA_TOKEN_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * json - read a JSON text from front to end, without a tree
 *
 * A tokenizer's file is 100,000 strings and a few words around them; the caller
 * knows what to expect where, so it asks for it:
 *
 *      struct json j = json_over(text, n);
 *
 *      if (json_enter(&j, '{', e) < 0)
 *          return -1;
 *      while ((got = json_key(&j, &key, e)) > 0) {
 *          if (json_is(&key, "vocab_size"))
 *              got = json_int(&j, &size, e);
 *          else
 *              got = json_skip(&j, e);
 *          if (got < 0)
 *              break;
 *      }
 *      return got < 0 ? -1 : json_end(&j, e);
 *
 * What is wrong is said with line and column.  A string lies in the text itself
 * or, if it had escapes, in the reader; it is good until the next call.
 */
struct json {
    const char *text, *p, *end;
    bool first; /* nothing of this object or array is read */
    int depth;
    struct buf room; /* the last string with escapes */
};

struct json_text {
    const char *s;
    size_t n;
};

struct json json_over(const char *text, size_t n);
void json_clear(struct json *);

/* The first character of the next value: one of { [ " 0 t f n, or NUL. */
char json_next(struct json *);

int json_enter(struct json *, char open, struct err *);
int json_key(struct json *, struct json_text *, struct err *); /* 0: closed */
int json_item(struct json *, struct err *); /* 1: a value; 0: closed */
/* (jansson has a json_string() of its own) */
int json_chars(struct json *, struct json_text *, struct err *);
int json_int(struct json *, int64_t *, struct err *);
int json_bool(struct json *, bool *, struct err *);
int json_skip(struct json *, struct err *); /* a value of any kind */
int json_end(struct json *, struct err *);  /* nothing more but blanks */

bool json_is(const struct json_text *, const char *s);

/* Put "line L, column C: " of what comes next before the message. */
int json_fail(const struct json *, struct err *, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Append s as a JSON string, quoted, in ASCII; bytes that are not UTF-8 are
 * written as U+FFFD. */
void json_quote(struct buf *, const char *s, size_t n);

#endif
