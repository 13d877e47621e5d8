#ifndef DATA_CORPUS_JSONL_H
#define DATA_CORPUS_JSONL_H

#include <stddef.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * jsonl - one string out of one line of JSON Lines, and into one
 *
 * The line must be one object, by RFC 8259; its string called `field`, at the
 * outermost level, is unescaped in place and handed out.  Of equal names the
 * last counts, as in Python.  A lone surrogate (\ud800) becomes U+FFFD.  Bytes
 * that are not UTF-8 pass through.
 *
 * Returns 1; 0 for a blank line; -1 for a line that is not JSON or lacks the
 * field, with column and reason in *e.
 */
int jsonl_field(char *line, size_t n, const char *field, char **text,
                size_t *len, struct err *e);

/* Append text as it stands between the quotes of a string; U+FFFD for bytes
 * that are not UTF-8. */
void jsonl_escape(struct buf *, const char *text, size_t n);

/* Append a line of its own: an object with the text as "text". */
void jsonl_write(struct buf *, const char *text, size_t n);

#endif
