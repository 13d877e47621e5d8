#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/*
 * emit - write JSON, value by value
 *
 *      struct emit o = { .b = &b };
 *
 *      emit_object(&o, NULL);
 *      emit_text(&o, "name", run->name);
 *      emit_array(&o, "steps");
 *      for (...)
 *          emit_int(&o, NULL, step[i]);
 *      emit_array_end(&o);
 *      emit_object_end(&o);
 *
 * Each value in an object has a key; one in an array has NULL instead.  A text
 * that is NULL is null; bad UTF-8 becomes U+FFFD.
 *
 * The members below `b` choose the form.  Zeroed, they write no spaces, numbers
 * as JavaScript does (1), and null for a number that is not finite.  `lines`
 * may change from value to value; it counts the objects and arrays around one.
 */
enum emit_form {
    EMIT_SHORT,  /* 1, 0.5, null */
    EMIT_QUOTED, /* 1.0, 0.5, "NaN" and "-Infinity" */
    EMIT_BARE,   /* 1.0, 0.5, NaN and -Infinity, as Python does */
};

struct emit {
    struct buf *b;
    enum emit_form reals;
    int digits; /* of EMIT_SHORT; 0: all */
    int lines;  /* a value in this many or fewer begins a line, indented */
    bool no_indent;
    bool spaced; /* ", " and ": " */
    bool ascii;  /* escape all other characters */
    int depth;   /* the objects and arrays that are open */
    bool comma;  /* a value precedes the next one */
};

void emit_object(struct emit *, const char *key);
void emit_object_end(struct emit *);
void emit_array(struct emit *, const char *key);
void emit_array_end(struct emit *);
void emit_text(struct emit *, const char *key, const char *value);
/* A text that may hold NUL. */
void emit_bytes(struct emit *, const char *key, const void *text, size_t n);
void emit_printf(struct emit *, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void emit_int(struct emit *, const char *key, int64_t value);
void emit_real(struct emit *, const char *key, double value);
void emit_reals(struct emit *, const char *key, const double *value, size_t n);
void emit_bool(struct emit *, const char *key, bool value);
void emit_null(struct emit *, const char *key);
/* A value that is JSON already. */
void emit_raw(struct emit *, const char *key, const char *json);
/* End a line after a whole value; another may follow. */
void emit_newline(struct emit *);

void emit_quote(struct buf *, const void *text, size_t n, bool ascii);
