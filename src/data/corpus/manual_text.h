#ifndef DATA_CORPUS_MANUAL_TEXT_H
#define DATA_CORPUS_MANUAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

/*
 * manual_text - the text of manuals and documentation, without markup
 *
 * Each function appends roughly what a reader would see: headings, paragraphs
 * and examples, with blank lines between them.  Unknown markup is left out.
 */
typedef void manual_text_fn(struct buf *, const char *text, size_t n);

manual_text_fn manual_text_plain; /* as it is */
manual_text_fn manual_roff;       /* man(7) and mdoc(7) */

/* Is this UTF-8 without control characters other than white space? */
bool manual_text_is_valid(const char *text, size_t n);

#endif
