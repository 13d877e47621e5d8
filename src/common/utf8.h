#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/*
 * utf8 - text as a terminal shows it
 *
 * Names come from files and may hold anything; what is printed to a terminal
 * goes through utf8_visible() first, so that nothing in a run's name can move
 * the cursor or change a colour.
 */

/* The code point at *s, and step over it; -1 and one byte for bad UTF-8. */
int32_t utf8_next(const char **s);

/* Append a code point. */
void utf8_add(struct buf *, int32_t code);

/* One form for what differs by case alone, in the Latin, Greek, Cyrillic and
 * Armenian scripts; other code points as they are. */
int32_t utf8_fold(int32_t code);

/* Columns a string takes on a terminal. */
size_t utf8_width(const char *s);

/* Append s with control characters as ^X, bad bytes as U+FFFD. */
void utf8_visible(struct buf *, const char *s);

/* Append what fits into width columns, the last of them an ellipsis. */
void utf8_cut(struct buf *, const char *s, size_t width);

/* How many code points, each bad byte one; and are there no bad ones? */
size_t utf8_count(const char *s);
bool utf8_valid(const char *s);

/* Append s with every bad byte replaced by U+FFFD. */
void utf8_clean(struct buf *, const char *s, size_t n);

/* Does the locale of the environment speak UTF-8? */
bool utf8_locale(void);

#endif
