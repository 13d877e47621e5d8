#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * boundary - where a text may be divided
 *
 * The first three functions return the last position in text[least..n) before
 * which a document may be divided without changing its tokens (corpus.h has the
 * rules), or 0 if there is none: before a blank; only before a space, never
 * before a newline; or, for text without blanks, before white space or Chinese
 * punctuation that follows a letter of any script.
 */
typedef size_t boundary_fn(const char *text, size_t n, size_t least);

boundary_fn boundary_before_blank, boundary_before_space, boundary_after_letter;

/* The character that ends at n > 0, or UTF8_BAD, and its length in bytes. */
uint32_t boundary_last_char(const uint8_t *text, size_t n, size_t *len);

/* The last position where a UTF-8 character begins; at least 1, if n > 1. */
size_t boundary_between_characters(const char *text, size_t n);

/* The last occurrence of a word in text[0..n), or NULL. */
const char *boundary_last_word(const char *text, size_t n, const char *word,
                               size_t len);

int64_t boundary_count_lines(const char *text, size_t n);

/* Where the text of a tokenizer may be divided. */
enum boundary_kind {
    BOUNDARY_ANY,   /* at all of these boundaries */
    BOUNDARY_SPACE, /* only at those of boundary_before_space() */
    BOUNDARY_NONE   /* nowhere: any characters may be one token */
};

/* Text that must not be divided, for example a special token. */
struct boundary_word {
    const char *text;
    size_t len;
};

/* Is text + at inside an occurrence of one of the words, or directly after it?
 * An occurrence that continues beyond the end of the text counts, too. */
bool boundary_inside_words(const struct boundary_word *, size_t n_words,
                           const char *text, size_t n, size_t at);
