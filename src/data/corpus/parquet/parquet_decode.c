#include "config.h"
#include "data/corpus/parquet/parquet_decode.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/dl.h"
#include "common/mem.h"
#include "data/corpus/parquet/thrift.h"
#include "data/corpus/source/source.h"

enum { OPTIONAL = 1, LIST = 3, DEPTH_MOST = 64 };

int parquet_damaged(struct err *e, const char *what)
{
    return err_input(e, "damaged Parquet file: %s", what);
}

/* Field numbers are those in parquet.thrift of the Apache Parquet format. */
struct schema_element {
    int64_t type, repetition, children, converted, logical;
    const char *name;
    size_t len;
};

/* The number of the member that a union has, or -1. */
static int64_t read_union(struct thrift *t)
{
    struct thrift_field f;
    int64_t id = -1;

    thrift_begin(t);
    while (thrift_field(t, &f)) {
        id = f.id;
        thrift_skip(t, f.type);
    }
    return id;
}

static struct schema_element read_element(struct thrift *t)
{
    struct schema_element s = {
        .type = -1, .name = "", .converted = -1, .logical = -1
    };
    int64_t *const to[] = { [1] = &s.type,
                            [3] = &s.repetition,
                            [5] = &s.children,
                            [6] = &s.converted };
    struct thrift_field f;

    thrift_begin(t);
    while (thrift_field(t, &f))
        if (f.id == 4)
            s.name = thrift_text(t, &s.len);
        else if (f.id == 10 && f.type == THRIFT_STRUCT)
            s.logical = read_union(t);
        else
            thrift_store(t, &f, to, 7);
    return s;
}

void parquet_column_clear(struct parquet_column *c)
{
    for (size_t i = 0; i < c->n_all; i++)
        free(c->all[i].name);
    FREE(c->all, c->group);
}

/* Where an element of the tree is. */
struct place {
    const char *path;
    struct parquet_leaf of; /* what its columns have */
    int bare;               /* as many levels below have no names in the path */
    int depth;
};

/* Add the columns of the next element.  In the usual form of a list, its
 * element is within a group that is repeated, in a group that is not. */
static void read_tree(struct parquet_column *c, struct thrift *t, size_t *left,
                      const struct place *above)
{
    const struct schema_element s = read_element(t);
    struct place at = *above;
    char *path = above->bare > 0
                     ? xstrdup(above->path)
                     : xasprintf("%s%s%.*s", above->path,
                                 *above->path ? "." : "", (int)s.len, s.name);

    --*left;
    at.path = path;
    at.of.nulls += s.repetition != 0;
    at.of.nested |=
        at.of.list > 0 && (s.repetition > OPTIONAL || above->bare == 0);
    if (s.repetition > OPTIONAL)
        at.of.list = at.of.nulls;
    at.bare = s.converted == LIST || s.logical == LIST ? 2
              : above->bare == 2 && s.children == 1    ? 1
                                                       : 0;
    if (s.children > (int64_t)*left || ++at.depth > DEPTH_MOST) {
        t->bad = true;
    } else if (s.children > 0) {
        for (int64_t i = 0; i<s.children && * left> 0 && !t->bad; i++)
            read_tree(c, t, left, &at);
    } else {
        at.of.type = s.type;
        at.of.converted = s.converted;
        at.of.logical = s.logical;
        at.of.name = path;
        APPEND(c->all, c->n_all, c->all_room) = at.of;
        return;
    }
    free(path);
}

/* Find the column in the tree of columns, which is stored depth first. */
static int read_schema(struct parquet_column *c, struct thrift *t,
                       struct err *e)
{
    const struct place top = { .path = "" };
    enum thrift_type type;
    size_t left = thrift_list(t, &type);

    if (left-- > 0)
        read_element(t); /* the root */
    while (left > 0 && !t->bad)
        read_tree(c, t, &left, &top);
    if (t->bad)
        return parquet_damaged(e, "invalid schema");
    for (size_t i = 0; i < c->n_all && c->name; i++) {
        if (strcmp(c->all[i].name, c->name) != 0)
            continue;
        if (c->leaf >= 0)
            return err_input(e, "two columns are named \"%s\"", c->name);
        c->leaf = (int)i;
    }
    if (c->leaf < 0 && c->name)
        return err_input(e, "there is no column \"%s\"", c->name);
    return 0;
}

static void read_column(struct thrift *t, struct parquet_group *g)
{
    int64_t dictionary = 0;
    int64_t *const to[] = { [4] = &g->codec,
                            [5] = &g->values,
                            [7] = &g->size,
                            [9] = &g->offset,
                            [11] = &dictionary };
    struct thrift_field f;

    thrift_begin(t);
    while (thrift_field(t, &f))
        thrift_store(t, &f, to, 12);
    if (dictionary > 0 && dictionary < g->offset)
        g->offset = dictionary;
}

/* A column may be encrypted while the footer is not. */
static void read_chunk(struct parquet_column *c, struct thrift *t,
                       struct parquet_group *g)
{
    struct thrift_field f;

    thrift_begin(t);
    while (thrift_field(t, &f)) {
        c->encrypted = c->encrypted || f.id == 8;
        if (f.id == 3 && f.type == THRIFT_STRUCT)
            read_column(t, g);
        else
            thrift_skip(t, f.type);
    }
}

static void read_group(struct parquet_column *c, struct thrift *t)
{
    struct parquet_group g = { .offset = -1 };
    struct thrift_field f;
    enum thrift_type type;

    thrift_begin(t);
    while (thrift_field(t, &f)) {
        if (f.id == 1 && f.type == THRIFT_LIST) {
            const size_t n = thrift_list(t, &type);

            for (size_t i = 0; i < n && !t->bad; i++)
                if ((int64_t)i == c->leaf)
                    read_chunk(c, t, &g);
                else
                    thrift_skip(t, type);
        } else if (f.id == 3) {
            g.rows = thrift_int(t);
        } else {
            thrift_skip(t, f.type);
        }
    }
    APPEND(c->group, c->n, c->room) = g;
}

/* The schema has the lower field number, so it comes before the row groups. */
static int read_footer(struct parquet_column *c, const uint8_t *at, size_t n,
                       struct err *e)
{
    struct thrift t = { .at = at, .end = at + n };
    struct thrift_field f;
    enum thrift_type type;

    c->leaf = -1;
    thrift_begin(&t);
    while (thrift_field(&t, &f)) {
        if (f.id == 2 && f.type == THRIFT_LIST) {
            if (read_schema(c, &t, e) < 0)
                return -1;
        } else if (f.id == 4 && f.type == THRIFT_LIST && c->n_all > 0) {
            const size_t groups = thrift_list(&t, &type);

            for (size_t i = 0; i < groups && !t.bad; i++)
                read_group(c, &t);
        } else {
            thrift_skip(&t, f.type);
        }
    }
    if (c->encrypted)
        return err_input(e, "the column \"%s\" is encrypted", c->name);
    return t.bad || c->n_all == 0 ? parquet_damaged(e, "invalid footer") : 0;
}

int parquet_footer(struct parquet_column *c, const uint8_t *file, size_t size,
                   struct err *e)
{
    const uint8_t *tail;
    uint32_t n;

    tail = file + size - 8;
    if (memcmp(tail + 4, "PARE", 4) == 0)
        return err_input(e, "the Parquet file is encrypted");
    if (memcmp(tail + 4, "PAR1", 4) != 0)
        return err_input(e, "the Parquet footer is missing; was the download "
                            "interrupted?");
    memcpy(&n, tail, sizeof n);
    if (n > size - 8)
        return parquet_damaged(e, "invalid size of the footer");
    return read_footer(c, tail - n, n, e);
}

static uint32_t read_little(const uint8_t *p, int bytes)
{
    uint32_t value = 0;

    for (int i = 0; i < bytes; i++)
        value |= (uint32_t)p[i] << 8 * i;
    return value;
}

/* Number i of the numbers packed at p, of `width` bits each, up to 64. */
static uint64_t read_packed(const uint8_t *p, size_t i, int width)
{
    const size_t bit = i * (size_t)width;
    const size_t first = bit / 8, last = (bit + (size_t)width + 7) / 8;
    __extension__ unsigned __int128 value = 0;

    for (size_t k = last; k > first; k--)
        value = value << 8 | p[k - 1];
    return (uint64_t)(value >> bit % 8) &
           (width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX);
}

bool parquet_hybrid(const uint8_t *p, const uint8_t *end, int width,
                    uint32_t *out, size_t n)
{
    struct thrift t = { .at = p, .end = end };
    size_t done = 0;

    if (width < 0 || width > 32)
        return false;
    while (done < n) {
        const uint64_t head = thrift_varint(&t);
        const size_t left = (size_t)(t.end - t.at), want = n - done;

        if (t.bad || head >> 1 == 0)
            return false;
        if (head & 1) {
            const uint64_t groups = head >> 1;
            const size_t take = groups > want / 8 ? want : (size_t)groups * 8;
            const size_t bytes = (take * (size_t)width + 7) / 8;

            if (bytes > left)
                return false;
            for (size_t i = 0; i < take; i++)
                out[done + i] = (uint32_t)read_packed(t.at, i, width);
            if (groups * 8 > want) /* the last group may be incomplete */
                return true;
            t.at += groups * (uint64_t)width;
            done += take;
        } else {
            const size_t take = head >> 1 < want ? (size_t)(head >> 1) : want;
            const int bytes = (width + 7) / 8;
            uint32_t value;

            if ((size_t)bytes > left)
                return false;
            value = read_little(t.at, bytes);
            for (size_t i = 0; i < take; i++)
                out[done + i] = value;
            t.at += bytes;
            done += take;
        }
    }
    return true;
}

bool parquet_plain(const uint8_t *p, const uint8_t *end,
                   struct parquet_string *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t len;

        if (end - p < 4)
            return false;
        len = read_little(p, 4);
        p += 4;
        if (len > (size_t)(end - p))
            return false;
        out[i] = (struct parquet_string){ (const char *)p, len };
        p += len;
    }
    return true;
}

bool parquet_fixed(const uint8_t *p, const uint8_t *end, size_t width,
                   struct parquet_string *out, size_t n)
{
    if (n > (size_t)(end - p) / width)
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = (struct parquet_string){ (const char *)p + i * width, width };
    return true;
}

static const char truths[2] = { 0, 1 };

bool parquet_truths(const uint8_t *p, const uint8_t *end,
                    struct parquet_string *out, size_t n)
{
    if (n > 0 && (n - 1) / 8 >= (size_t)(end - p))
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = (struct parquet_string){ &truths[p[i / 8] >> i % 8 & 1], 1 };
    return true;
}

bool parquet_truths_hybrid(const uint8_t *p, const uint8_t *end,
                           struct parquet_string *out, size_t n)
{
    AUTO_FREE uint32_t *bit = xcalloc(n, sizeof *bit);
    bool good = end - p >= 4 && parquet_hybrid(p + 4, end, 1, bit, n);

    for (size_t i = 0; i < n && good; i++)
        out[i] = (struct parquet_string){ &truths[bit[i] & 1], 1 };
    return good;
}

/* Read n of the `count` values of a miniblock, each of which is stored as its
 * difference from the value before, in `width` bits (0 to 64). */
static bool read_miniblock(struct thrift *t, int width, size_t count,
                           int64_t least, int64_t *value, int64_t *out,
                           size_t n)
{
    const size_t bytes = (count * (size_t)width + 7) / 8;

    if (width > 64 || bytes > (size_t)(t->end - t->at))
        return false;
    for (size_t i = 0; i < n; i++) {
        *value = (int64_t)((uint64_t)*value + (uint64_t)least +
                           read_packed(t->at, i, width));
        out[i] = *value;
    }
    t->at += bytes;
    return true;
}

/* Read n numbers in DELTA_BINARY_PACKED, and move t past them. */
static bool read_differences(struct thrift *t, int64_t *out, size_t n)
{
    const uint64_t block = thrift_varint(t), minis = thrift_varint(t);
    const uint64_t total = thrift_varint(t);
    int64_t value = thrift_int(t);
    size_t done = 0, count;

    if (t->bad || total != n || !minis || minis > 512 || block > 1 << 20 ||
        !block || block % minis || block / minis % 8)
        return false;
    count = (size_t)(block / minis);
    if (n)
        out[done++] = value;
    while (done < n) {
        const int64_t least = thrift_int(t);
        const uint8_t *widths = t->at;

        if (t->bad || minis > (uint64_t)(t->end - t->at))
            return false;
        t->at += minis;
        for (uint64_t m = 0; m < minis && done < n; m++) {
            const size_t take = count < n - done ? count : n - done;

            if (!read_miniblock(t, widths[m], count, least, &value, out + done,
                                take))
                return false;
            done += take;
        }
    }
    return true;
}

bool parquet_differences(const uint8_t *p, const uint8_t *end,
                         struct parquet_string *out, size_t n, char **joined)
{
    struct thrift t = { .at = p, .end = end };
    int64_t *value = xcalloc(n, sizeof *value);

    *joined = (char *)value;
    return read_differences(&t, value, n) &&
           parquet_fixed((const uint8_t *)value, (const uint8_t *)(value + n),
                         sizeof *value, out, n);
}

bool parquet_delta_length(const uint8_t *p, const uint8_t *end,
                          struct parquet_string *out, size_t n)
{
    struct thrift t = { .at = p, .end = end };
    AUTO_FREE int64_t *len = xcalloc(n, sizeof *len);
    bool good = read_differences(&t, len, n);

    for (size_t i = 0; i < n && good; i++) {
        good = len[i] >= 0 && len[i] <= t.end - t.at;
        if (good) {
            out[i] =
                (struct parquet_string){ (const char *)t.at, (size_t)len[i] };
            t.at += len[i];
        }
    }
    return good;
}

/* The size of all strings with their prefixes; SIZE_MAX if a prefix is longer
 * than the string before, or the size exceeds `most`. */
static size_t joined_size(const int64_t *shared,
                          const struct parquet_string *own, size_t n,
                          size_t most)
{
    size_t sum = 0, before = 0;

    for (size_t i = 0; i < n; i++) {
        if (shared[i] < 0 || (uint64_t)shared[i] > before)
            return SIZE_MAX;
        before = (size_t)shared[i] + own[i].len;
        if (before > most - sum)
            return SIZE_MAX;
        sum += before;
    }
    return sum;
}

bool parquet_delta_bytes(const uint8_t *p, const uint8_t *end, size_t most,
                         struct parquet_string *out, size_t n, char **joined)
{
    struct thrift t = { .at = p, .end = end };
    AUTO_FREE int64_t *shared = xcalloc(n, sizeof *shared);
    size_t size = SIZE_MAX;
    const char *before = NULL;
    char *to;

    if (read_differences(&t, shared, n) &&
        parquet_delta_length(t.at, end, out, n))
        size = joined_size(shared, out, n, most);
    if (size < SIZE_MAX) {
        *joined = to = xmalloc(size + 1);
        for (size_t i = 0; i < n; i++) {
            const size_t head = (size_t)shared[i];

            if (head)
                memcpy(to, before, head);
            memcpy(to + head, out[i].text, out[i].len);
            out[i] = (struct parquet_string){ to, head + out[i].len };
            before = to;
            to += out[i].len;
        }
    }
    return size < SIZE_MAX;
}

/* Read the length of a literal or copy, and the distance of a copy; moves *p.
 */
static bool read_snappy_tag(const uint8_t **p, const uint8_t *end, size_t *len,
                            size_t *from)
{
    const uint8_t tag = *(*p)++;
    int extra = 0;

    *from = 0;
    switch (tag & 3) {
    case 0:
        *len = (size_t)(tag >> 2) + 1;
        if (*len > 60) {
            extra = (int)*len - 60;
            if (end - *p < extra)
                return false;
            *len = (size_t)read_little(*p, extra) + 1;
        }
        *p += extra;
        return true;
    case 1:
        *len = (size_t)(tag >> 2 & 7) + 4;
        if (end - *p < 1)
            return false;
        *from = (size_t)(tag >> 5) << 8 | *(*p)++;
        break;
    default:
        *len = (size_t)(tag >> 2) + 1;
        extra = (tag & 3) == 2 ? 2 : 4;
        if (end - *p < extra)
            return false;
        *from = read_little(*p, extra);
        *p += extra;
    }
    return *from > 0;
}

static bool read_snappy(const uint8_t *p, const uint8_t *end, uint8_t *out,
                        size_t n)
{
    struct thrift head = { .at = p, .end = end };
    size_t done = 0;

    if (thrift_varint(&head) != n || head.bad)
        return false;
    p = head.at;
    while (p < end) {
        size_t len, from;

        if (!read_snappy_tag(&p, end, &len, &from) || len > n - done)
            return false;
        if (from == 0) {
            if (len > (size_t)(end - p))
                return false;
            memcpy(out + done, p, len);
            p += len;
        } else if (from > done) {
            return false;
        } else if (from >= len) {
            memcpy(out + done, out + done - from, len);
        } else { /* source and destination overlap */
            for (size_t i = 0; i < len; i++)
                out[done + i] = out[done + i - from];
        }
        done += len;
    }
    return done == n;
}

enum parquet_codec {
    SNAPPY = 1,
    GZIP,
    LZO,
    BROTLI,
    LZ4,
    ZSTD,
    LZ4_RAW,
    CODECS
};

static const char *const codecs[CODECS] = {
    "none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw",
};

static bool gunzip(const uint8_t *in, size_t n, uint8_t *out, size_t size)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)in,
                   .avail_in = (uInt)n,
                   .next_out = out,
                   .avail_out = (uInt)size };
    bool good;

    if (inflateInit2(&z, 15 + 32) != Z_OK)
        return false;
    good = inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_out == 0;
    inflateEnd(&z);
    return good;
}

/* Inflate with a library that the machine may have: 1 if it could. */
static int use_library(bool brotli, const uint8_t *in, size_t n, uint8_t *out,
                       size_t size, struct err *e)
{
    static const struct dl_symbol symbols[][2] = {
        { { "LZ4_decompress_safe", 0 } }, { { "BrotliDecoderDecompress", 0 } }
    };
    union {
        int (*lz4)(const uint8_t *, uint8_t *, int, int);
        int (*brotli)(size_t, const uint8_t *, size_t *, uint8_t *);
    } call;
    size_t got = size;

    if (dl_load(&call, symbols[brotli],
                brotli ? "libbrotlidec.so.1" : "liblz4.so.1", e) < 0)
        return -1;
    return brotli ? call.brotli(n, in, &got, out) == 1 && got == size
                  : call.lz4(in, out, (int)n, (int)size) == (int)size;
}

int parquet_inflate(int64_t codec, const uint8_t *in, size_t n, uint8_t *out,
                    size_t size, struct err *e)
{
    int good = 0;

    switch (codec) {
    case PARQUET_UNCOMPRESSED:
        good = n == size;
        if (good && n)
            memcpy(out, in, n);
        break;
    case SNAPPY:
        good = read_snappy(in, in + n, out, size);
        break;
    case GZIP:
        good = gunzip(in, n, out, size);
        break;
    case ZSTD:
        good = zstd_block(in, n, out, size, e) == 0 ? 1 : -1;
        break;
    case BROTLI:
    case LZ4_RAW:
        good = use_library(codec == BROTLI, in, n, out, size, e);
        break;
    default:
        return err_input(e,
                         "pages compressed by %s are not supported; gdata(1) "
                         "shows how to convert the file in a pipe",
                         codec > 0 && codec < CODECS ? codecs[codec]
                                                     : "an unknown codec");
    }
    return good > 0   ? 0
           : good < 0 ? -1
                      : parquet_damaged(e, "a page cannot be inflated");
}
