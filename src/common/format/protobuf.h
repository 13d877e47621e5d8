#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/*
 * protobuf - messages in protocol buffers' wire format, without a schema
 *
 *      struct protobuf p = { data, data + n };
 *      struct protobuf_field f;
 *
 *      while (protobuf_next(&p, &f))
 *          if (f.number == 2)
 *              step = (int64_t)f.integer;
 *      if (p.bad) ...
 *
 * A field is one of: an integer (varint, fixed32, fixed64; `integer`, and as a
 * double or float in `real` where it is fixed), or bytes.
 */
struct protobuf {
    const unsigned char *at, *end;
    bool bad; /* it ends in the middle of a field */
};

enum proto_type { PROTO_VARINT, PROTO_64, PROTO_BYTES, PROTO_32 = 5 };

struct protobuf_field {
    int number;
    enum proto_type type;
    uint64_t integer;
    double real;
    const unsigned char *bytes;
    size_t n;
};

bool protobuf_next(struct protobuf *, struct protobuf_field *);
/* The next field of a number that is bytes. */
bool protobuf_find(struct protobuf *, int number, struct protobuf_field *);
/* The bytes of a field as a message of its own. */
struct protobuf protobuf_inside(const struct protobuf_field *);
/* Decode a signed integer in zigzag encoding. */
int64_t protobuf_zigzag(uint64_t);

void protobuf_put_int(struct buf *, int number, uint64_t);
void protobuf_put_double(struct buf *, int number, double);
void protobuf_put_float(struct buf *, int number, float);
void protobuf_put_bytes(struct buf *, int number, const void *, size_t n);
void protobuf_put_text(struct buf *, int number, const char *);

/* CRC-32C (Castagnoli), as TensorBoard's records have it. */
uint32_t crc32c(const void *, size_t n);
