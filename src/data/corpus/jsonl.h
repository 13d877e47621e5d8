#ifndef DATA_CORPUS_JSONL_H
#define DATA_CORPUS_JSONL_H

#include <stddef.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * jsonl - read one string from a line of JSON Lines, and write lines
 *
 * The line must be an object of RFC 8259, or Python's extension of it with NaN
 * and infinities.  The string `field` of this object is unescaped in place.  Of
 * several fields with this name the last counts, as in Python.
 *
 * Returns 1; 0 for a blank line; -1 if the line is not JSON or lacks the field,
 * with the column and the reason in *e.
 */
int jsonl_field(char *line, size_t n, const char *field, char **text,
                size_t *len, struct err *e);

/* Append the text as the inside of a JSON string, with U+FFFD for bytes that
 * are not UTF-8. */
void jsonl_escape(struct buf *, const char *text, size_t n);

/* Append a line: an object with the field "text". */
void jsonl_write(struct buf *, const char *text, size_t n);

#endif
