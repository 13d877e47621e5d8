#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * thrift - read structures in Thrift's compact protocol, for Parquet
 *
 *      thrift_begin(&t);
 *      while (thrift_field(&t, &f))
 *          if (f.id == 3)
 *              rows = thrift_int(&t);
 *          else
 *              thrift_skip(&t, f.type);
 *
 * An error sets t.bad, and everything read after it is zero or empty, so it is
 * enough to check t.bad at the end.
 */
enum thrift_type {
    THRIFT_TRUE = 1,
    THRIFT_FALSE,
    THRIFT_BYTE,
    THRIFT_I16,
    THRIFT_I32,
    THRIFT_I64,
    THRIFT_DOUBLE,
    THRIFT_BINARY,
    THRIFT_LIST,
    THRIFT_SET,
    THRIFT_MAP,
    THRIFT_STRUCT,
};

enum { THRIFT_DEPTH = 16 };

struct thrift {
    const uint8_t *at, *end;
    bool bad;
    int depth;
    int16_t last[THRIFT_DEPTH]; /* field of each open structure */
};

struct thrift_field {
    int16_t id;
    enum thrift_type type;
};

uint64_t thrift_varint(struct thrift *);
int64_t thrift_int(struct thrift *); /* I16, I32, I64 */
const char *thrift_text(struct thrift *, size_t *len);
size_t thrift_list(struct thrift *, enum thrift_type *); /* its length */
void thrift_begin(struct thrift *);
/* The next field; false at the end of the structure. */
bool thrift_field(struct thrift *, struct thrift_field *);
void thrift_skip(struct thrift *, enum thrift_type);
/* Store a field that is an integer in *to[number], or skip it if this is beyond
 * the n pointers or NULL. */
void thrift_store(struct thrift *, const struct thrift_field *,
                  int64_t *const *to, int16_t n);
