#ifndef DATA_TOKEN_BOUNDARY_H
#define DATA_TOKEN_BOUNDARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * cut - where a text may be divided
 */

/*
 * The last place in text[least..n) before which a document may be cut without
 * changing its tokens (corpus.h says which), or 0 for none.
 */
size_t cut_before_blank(const char *text, size_t n, size_t least);

/* The same for text that has no blanks: before white space, or a stop as of
 * Chinese, that follows a letter of any script. */
size_t cut_after_letter(const char *text, size_t n, size_t least);

/* The last place where a character of UTF-8 begins; at least 1, if n > 1. */
size_t cut_between_characters(const char *text, size_t n);

/* What memmem(3) finds, but the last one, or NULL. */
const char *cut_last(const char *text, size_t n, const char *word, size_t len);

int64_t cut_count_lines(const char *text, size_t n);

/* Does text + at lie within such a word, or one that text ends in? */
bool cut_divides(const char *text, size_t n, size_t at, const char *word,
                 size_t len);

#endif
