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
typedef void manual_text_fn(struct buf *, const char *text, size_t n);

manual_text_fn manual_text_plain;   /* as it is */
manual_text_fn manual_roff;    /* man(7) and mdoc(7) */
manual_text_fn manual_text_pod;     /* the documentation inside Perl code */
manual_text_fn manual_text_info;    /* GNU Info */

/* UTF-8 without control characters, but for the usual white space? */
bool manual_text_is_valid(const char *text, size_t n);

#endif
