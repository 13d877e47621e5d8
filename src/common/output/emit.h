#ifndef COMMON_EMIT_H
#define COMMON_EMIT_H

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
 * Each value in an object has a key; one in an array has NULL instead.  Numbers
 * have all their digits, unless fewer are asked for.  A number that is not
 * finite and a text that is NULL are null; bad UTF-8 becomes U+FFFD.
 */
struct emit {
    struct buf *b;
    bool comma; /* a value precedes the next one */
    int digits; /* of numbers; 0: all */
};

void emit_object(struct emit *, const char *key);
void emit_object_end(struct emit *);
void emit_array(struct emit *, const char *key);
void emit_array_end(struct emit *);
void emit_text(struct emit *, const char *key, const char *value);
void emit_printf(struct emit *, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void emit_int(struct emit *, const char *key, int64_t value);
void emit_real(struct emit *, const char *key, double value);
void emit_reals(struct emit *, const char *key, const double *value, size_t n);
void emit_bool(struct emit *, const char *key, bool value);
void emit_null(struct emit *, const char *key);
/* A value that is JSON already. */
void emit_raw(struct emit *, const char *key, const char *json);

#endif
