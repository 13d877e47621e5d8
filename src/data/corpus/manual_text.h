#ifndef DATA_CORPUS_MANUAL_TEXT_H
#define DATA_CORPUS_MANUAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

/*
 * prose - the words of manuals, without their markup
 *
 * Each appends what a reader would see, roughly: headings, paragraphs and
 * examples, a blank line between them.  Layout is not kept; what a converter
 * does not know it leaves out.
 */
typedef void prose_fn(struct buf *, const char *text, size_t n);

prose_fn prose_plain;   /* as it is */
prose_fn prose_roff;    /* man(7) and mdoc(7) */
prose_fn prose_pod;     /* the documentation inside Perl code */
prose_fn prose_info;    /* GNU Info */

/* UTF-8 without control characters, but for the usual white space? */
bool prose_is_text(const char *text, size_t n);

#endif
