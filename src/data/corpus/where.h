#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * where - documents chosen by the other fields of their line
 *
 *      struct where *w = where_parse("score >= 3 and meta.lang = 'en'", e);
 *      struct where_row row = { .where = w };
 *
 *      for each document
 *          where_row_begin(&row);
 *          where_row_set(&row, "score", "4", 1);      as it is read
 *          if (where_row_matches(&row)) ...
 *      where_row_clear(&row);
 *
 * The grammar is that of common/filter.  A field of an object within the line
 * is named with a dot.  A value is a text, which is compared with a number as a
 * number; a truth value is true or false, and null is as if it were missing.  A
 * clause about something that is missing is false, also with !=.
 *
 * Any number of threads may use one struct where, each with a row of its own.
 */
enum { WHERE_FIELDS = 64 };

struct where;

struct where *where_parse(const char *text, struct err *); /* NULL: an error */
void where_free(struct where *);                           /* NULL is fine */

/* Does it name this field, or one within it? */
bool where_names(const struct where *, const char *path);
bool where_names_within(const struct where *, const char *path);
/* The first field that no row had, or NULL. */
const char *where_missing(const struct where *);

struct where_row {
    struct where *where;     /* NULL matches all */
    struct buf text;         /* the values, each with a NUL */
    size_t at[WHERE_FIELDS]; /* where they begin, plus one; 0: missing */
};

void where_row_begin(struct where_row *);
/* The last of several values counts.  Ignored unless the filter names it. */
void where_row_set(struct where_row *, const char *path, const char *text,
                   size_t n);
bool where_row_matches(struct where_row *);
void where_row_clear(struct where_row *);
