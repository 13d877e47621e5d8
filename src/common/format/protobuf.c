#include "config.h"
#include "common/format/protobuf.h"

#include <string.h>

static bool take_varint(struct protobuf *p, uint64_t *out)
{
    uint64_t x = 0;

    for (int shift = 0; shift < 64 && p->at < p->end; shift += 7) {
        const unsigned char c = *p->at++;

        x |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) {
            *out = x;
            return true;
        }
    }
    return false;
}

static bool take_fixed(struct protobuf *p, size_t n, uint64_t *out)
{
    uint64_t x = 0;

    if ((size_t)(p->end - p->at) < n)
        return false;
    for (size_t i = 0; i < n; i++)
        x |= (uint64_t)p->at[i] << (8 * i);
    p->at += n;
    *out = x;
    return true;
}

static bool take_value(struct protobuf *p, struct protobuf_field *f)
{
    uint32_t bits;
    float single;

    switch (f->type) {
    case PROTO_VARINT:
        return take_varint(p, &f->integer);
    case PROTO_64:
        if (!take_fixed(p, 8, &f->integer))
            return false;
        memcpy(&f->real, &f->integer, sizeof f->real);
        return true;
    case PROTO_32:
        if (!take_fixed(p, 4, &f->integer))
            return false;
        bits = (uint32_t)f->integer;
        memcpy(&single, &bits, sizeof single);
        f->real = (double)single;
        return true;
    case PROTO_BYTES:
        if (!take_varint(p, &f->integer) ||
            f->integer > (uint64_t)(p->end - p->at))
            return false;
        f->bytes = p->at;
        f->n = (size_t)f->integer;
        p->at += f->n;
        return true;
    }
    return false;
}

bool protobuf_next(struct protobuf *p, struct protobuf_field *f)
{
    uint64_t tag;

    *f = (struct protobuf_field){ 0 };
    if (p->at == p->end)
        return false;
    if (!take_varint(p, &tag) || tag >> 3 == 0 || tag >> 3 > INT32_MAX) {
        p->bad = true;
        return false;
    }
    f->number = (int)(tag >> 3);
    f->type = (enum proto_type)(tag & 7);
    p->bad = !take_value(p, f);
    return !p->bad;
}

bool protobuf_find(struct protobuf *in, int number, struct protobuf_field *f)
{
    while (protobuf_next(in, f))
        if (f->number == number && f->type == PROTO_BYTES)
            return true;
    return false;
}

struct protobuf protobuf_inside(const struct protobuf_field *f)
{
    return (struct protobuf){ f->bytes, f->bytes + f->n, false };
}

int64_t protobuf_zigzag(uint64_t x)
{
    return (int64_t)(x >> 1) ^ -(int64_t)(x & 1);
}

static void put_varint(struct buf *b, uint64_t x)
{
    for (; x >= 0x80; x >>= 7)
        buf_char(b, (char)(x | 0x80));
    buf_char(b, (char)x);
}

static void put_fixed(struct buf *b, uint64_t x, int n)
{
    for (int i = 0; i < n; i++)
        buf_char(b, (char)(x >> (8 * i)));
}

static void put_tag(struct buf *b, int number, enum proto_type type)
{
    put_varint(b, (uint64_t)number << 3 | type);
}

void protobuf_put_int(struct buf *b, int number, uint64_t x)
{
    put_tag(b, number, PROTO_VARINT);
    put_varint(b, x);
}

void protobuf_put_double(struct buf *b, int number, double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    put_tag(b, number, PROTO_64);
    put_fixed(b, bits, 8);
}

void protobuf_put_float(struct buf *b, int number, float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    put_tag(b, number, PROTO_32);
    put_fixed(b, bits, 4);
}

void protobuf_put_bytes(struct buf *b, int number, const void *data, size_t n)
{
    put_tag(b, number, PROTO_BYTES);
    put_varint(b, n);
    buf_add(b, data, n);
}

void protobuf_put_text(struct buf *b, int number, const char *s)
{
    protobuf_put_bytes(b, number, s, strlen(s));
}

uint32_t crc32c(const void *data, size_t n)
{
    static const uint32_t polynomial = 0x82f63b78; /* reflected */
    const unsigned char *p = data;
    uint32_t table[16], crc = ~(uint32_t)0;

    /* half a byte at a time: the table is made in no time, records are short */
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t c = i;

        for (int bit = 0; bit < 4; bit++)
            c = c & 1 ? c >> 1 ^ polynomial : c >> 1;
        table[i] = c;
    }
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}
