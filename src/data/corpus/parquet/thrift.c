#include "config.h"
#include "data/corpus/parquet/thrift.h"

static void set_bad(struct thrift *t)
{
    t->bad = true;
    t->at = t->end;
}

static uint8_t read_byte(struct thrift *t)
{
    if (t->at == t->end) {
        set_bad(t);
        return 0;
    }
    return *t->at++;
}

uint64_t thrift_varint(struct thrift *t)
{
    uint64_t value = 0;

    for (int shift = 0; shift < 64; shift += 7) {
        const uint8_t b = read_byte(t);

        value |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80)
            return value;
    }
    set_bad(t);
    return 0;
}

int64_t thrift_int(struct thrift *t)
{
    const uint64_t v = thrift_varint(t);

    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

const char *thrift_text(struct thrift *t, size_t *len)
{
    const uint64_t n = thrift_varint(t);
    const char *text = (const char *)t->at;

    if (n > (uint64_t)(t->end - t->at)) {
        set_bad(t);
        *len = 0;
        return "";
    }
    t->at += n;
    *len = (size_t)n;
    return text;
}

/* Each element has at least one byte, which bounds the length. */
size_t thrift_list(struct thrift *t, enum thrift_type *type)
{
    const uint8_t head = read_byte(t);
    uint64_t n = head >> 4;

    if (n == 15)
        n = thrift_varint(t);
    *type = (enum thrift_type)(head & 15);
    if (n > (uint64_t)(t->end - t->at)) {
        set_bad(t);
        return 0;
    }
    return (size_t)n;
}

void thrift_begin(struct thrift *t)
{
    if (t->depth == THRIFT_DEPTH) {
        set_bad(t);
        return;
    }
    t->last[t->depth++] = 0;
}

bool thrift_field(struct thrift *t, struct thrift_field *f)
{
    const uint8_t head = read_byte(t);
    int16_t *last;

    if (t->bad || !head || !t->depth) {
        t->depth -= t->depth > 0;
        return false;
    }
    last = &t->last[t->depth - 1];
    *last = (int16_t)(head >> 4 ? *last + (head >> 4) : thrift_int(t));
    f->id = *last;
    f->type = (enum thrift_type)(head & 15);
    return !t->bad;
}

/* In a list or map a bool has one byte. */
static void skip_element(struct thrift *t, enum thrift_type type)
{
    if (type == THRIFT_TRUE || type == THRIFT_FALSE)
        read_byte(t);
    else
        thrift_skip(t, type);
}

static void skip_list(struct thrift *t)
{
    enum thrift_type type;
    const size_t n = thrift_list(t, &type);

    for (size_t i = 0; i < n && !t->bad; i++)
        skip_element(t, type);
}

static void skip_map(struct thrift *t)
{
    const uint64_t n = thrift_varint(t);
    const uint8_t types = n ? read_byte(t) : 0;

    for (uint64_t i = 0; i < n && !t->bad; i++) {
        skip_element(t, (enum thrift_type)(types >> 4));
        skip_element(t, (enum thrift_type)(types & 15));
    }
}

static void skip_struct(struct thrift *t)
{
    struct thrift_field f;

    thrift_begin(t);
    while (thrift_field(t, &f))
        thrift_skip(t, f.type);
}

/* Every nested structure, list or map counts as a level, so this terminates. */
void thrift_skip(struct thrift *t, enum thrift_type type)
{
    size_t n;

    if (t->depth >= THRIFT_DEPTH) {
        set_bad(t);
        return;
    }
    switch (type) {
    case THRIFT_TRUE:
    case THRIFT_FALSE:
        break;
    case THRIFT_BYTE:
        read_byte(t);
        break;
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64:
        thrift_varint(t);
        break;
    case THRIFT_DOUBLE:
        for (n = 0; n < 8; n++)
            read_byte(t);
        break;
    case THRIFT_BINARY:
        thrift_text(t, &n);
        break;
    case THRIFT_LIST:
    case THRIFT_SET:
        t->last[t->depth++] = 0;
        skip_list(t);
        t->depth--;
        break;
    case THRIFT_MAP:
        t->last[t->depth++] = 0;
        skip_map(t);
        t->depth--;
        break;
    case THRIFT_STRUCT:
        skip_struct(t);
        break;
    default:
        set_bad(t);
    }
}

void thrift_store(struct thrift *t, const struct thrift_field *f,
                  int64_t *const *to, int16_t n)
{
    if (f->id >= 0 && f->id < n && to[f->id])
        *to[f->id] = thrift_int(t);
    else
        thrift_skip(t, f->type);
}
