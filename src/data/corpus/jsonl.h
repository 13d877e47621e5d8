#pragma once

#include <stddef.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * jsonl - read one string from a line of JSON Lines, and write lines
 *
 * The line must be an object of RFC 8259, or Python's extension of it with NaN
 * and infinities.  The string `field` of this object is unescaped in place;
 * if several fields have this name, the last one counts, as in Python.  With
 * several names, separated by '|', it is the first of them that the line has.
 *
 * With '[' as `kind` instead of '"', the field is a conversation, an array of
 * messages.  In its place comes the text
 *
 *      ROLE NUL CONTENT NUL ROLE NUL CONTENT NUL ...
 *
 * A message is an object with the strings "role" and "content" (OpenAI's form),
 * or "from" and "value" (ShareGPT's); other members are ignored.  A role
 * becomes "system", "user", "assistant" or "tool", whatever the form calls it.
 *
 * Returns 1; 0 for a blank line; -1 if the line is not JSON or lacks the field,
 * with the column and the reason in *e.  What the filter of the row names is
 * set in it, unless it is NULL; an object or an array is its JSON.
 */
struct where_row;
int jsonl_row(char *line, size_t n, const char *field, char kind,
              struct where_row *, char **text, size_t *len, struct err *e);

/* Append a line: an object with the field "text", in which U+FFFD replaces
 * bytes that are not UTF-8. */
void jsonl_write(struct buf *, const char *text, size_t n);

/* Append a line of JSON with this text in its field, which must be there. */
void jsonl_replace(struct buf *, const char *line, size_t n, const char *field,
                   const char *text, size_t len);
