/*
 * parquet - the pages of one column of strings, and the strings in them
 *
 * Field numbers are those in parquet.thrift of the Apache Parquet format.
 */
#include "config.h"
#include "data/corpus/parquet.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "data/corpus/parquet_decode.h"
#include "data/corpus/parquet_footer.h"
#include "data/corpus/thrift.h"

enum {
    PAGE_MAX = 1 << 30, /* bytes of a page, inflated */
    VALUES_MAX = 1 << 27,
};

enum parquet_page_type { PAGE_DATA, PAGE_INDEX, PAGE_DICTIONARY, PAGE_DATA_2 };
enum parquet_encoding {
    ENC_PLAIN = 0,
    ENC_PLAIN_DICTIONARY = 2,
    ENC_DELTA_LENGTH = 6,
    ENC_DELTA_BYTES = 7,
    ENC_DICTIONARY = 8,
};

/* The header of a page. */
struct parquet_page {
    int64_t type, size, packed; /* bytes inflated, bytes in the file */
    int64_t values, encoding;
    int64_t levels; /* bytes of definition levels, of version 2 */
    int64_t repeats;
    bool plain; /* version 2 and not compressed */
};

struct parquet {
    const uint8_t *map;
    size_t size;
    char *name;
    struct parquet_column column;

    size_t next_group;
    const uint8_t *at, *end; /* in the current column chunk */
    int64_t left;            /* values of it that were not read yet */
    int64_t codec;
    uint8_t *dict_data, *page_data;
    char *joined; /* strings that are not contiguous in page_data */
    struct parquet_string *dict, *value;
    size_t dict_n, value_n, value_at;
    int64_t row; /* of value_at */
};

static int map_file(struct parquet *p, const char *path, struct err *e)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *map = MAP_FAILED;

    if (fd < 0 || fstat(fd, &st) < 0) {
        err_sys(e, "cannot open");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (!S_ISREG(st.st_mode) || st.st_size < 12) {
        close(fd);
        return err_set(e, ERR_INPUT, "this is not a Parquet file");
    }
    p->size = (size_t)st.st_size;
    map = mmap(NULL, p->size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return err_sys(e, "cannot map");
    p->map = map;
    return 0;
}

int parquet_open(struct parquet **out, const char *path, const char *column,
                 struct err *e)
{
    struct parquet *p = xcalloc(1, sizeof *p);

    p->name = xstrdup(column);
    p->column.name = p->name;
    if (map_file(p, path, e) < 0 ||
        parquet_footer(&p->column, p->map, p->size, e) < 0) {
        parquet_close(p);
        return err_wrap(e, "%s", path);
    }
    *out = p;
    return 0;
}

void parquet_close(struct parquet *p)
{
    union {
        const uint8_t *map;
        void *memory;
    } u = { p->map };

    if (p->map)
        munmap(u.memory, p->size);
    free(p->name);
    free(p->column.group);
    free(p->dict_data);
    free(p->page_data);
    free(p->joined);
    free(p->dict);
    free(p->value);
    free(p);
}

static void read_data_header(struct thrift *t, struct parquet_page *g,
                             int version)
{
    struct thrift_field f;

    thrift_begin(t);
    while (thrift_field(t, &f)) {
        if (f.id == 1)
            g->values = thrift_int(t);
        else if (f.id == (version == 2 ? 4 : 2))
            g->encoding = thrift_int(t);
        else if (version == 2 && f.id == 5)
            g->levels = thrift_int(t);
        else if (version == 2 && f.id == 6)
            g->repeats = thrift_int(t);
        else if (version == 2 && f.id == 7)
            g->plain = f.type == THRIFT_FALSE;
        else
            thrift_skip(t, f.type);
    }
    thrift_end(t);
}

static int read_page_header(struct parquet *p, struct parquet_page *g,
                            struct err *e)
{
    struct thrift t = { .at = p->at, .end = p->end };
    struct thrift_field f;

    *g = (struct parquet_page){ .type = -1 };
    thrift_begin(&t);
    while (thrift_field(&t, &f))
        switch (f.id) {
        case 1:
            g->type = thrift_int(&t);
            break;
        case 2:
            g->size = thrift_int(&t);
            break;
        case 3:
            g->packed = thrift_int(&t);
            break;
        case 5:
        case 7:
            read_data_header(&t, g, 1);
            break;
        case 8:
            read_data_header(&t, g, 2);
            break;
        default:
            thrift_skip(&t, f.type);
        }
    p->at = t.at;
    if (t.bad || g->size < 0 || g->size > PAGE_MAX || g->packed < 0 ||
        g->packed > p->end - p->at || g->values < 0 || g->values > VALUES_MAX ||
        g->levels < 0 || g->repeats < 0 || g->levels > g->size ||
        g->repeats > g->size - g->levels || g->levels + g->repeats > g->packed)
        return parquet_damaged(e, "invalid page header");
    return 0;
}

/* The inflated bytes of a page.  In version 2 the levels, which are never
 * compressed, come first. */
static uint8_t *page_bytes(struct parquet *p, const struct parquet_page *g,
                           struct err *e)
{
    const size_t bare =
        (size_t)(g->type == PAGE_DATA_2 ? g->levels + g->repeats : 0);
    const size_t packed = (size_t)g->packed - bare;
    uint8_t *out = mem_alloc((size_t)g->size + 1, 1, "a page of Parquet", e);

    if (!out)
        return NULL;
    memcpy(out, p->at, bare);
    if (packed == 0 && (size_t)g->size == bare)
        return out; /* only nulls */
    if (parquet_inflate(g->plain ? PARQUET_UNCOMPRESSED : p->codec,
                        p->at + bare, packed, out + bare,
                        (size_t)g->size - bare, e) < 0) {
        free(out);
        return NULL;
    }
    return out;
}

static int read_dictionary(struct parquet *p, const struct parquet_page *g,
                           struct err *e)
{
    free(p->dict_data);
    free(p->dict);
    p->dict = NULL;
    p->dict_n = 0;
    p->dict_data = page_bytes(p, g, e);
    if (!p->dict_data)
        return -1;
    if (g->values > g->size / 4)
        return parquet_damaged(e, "invalid dictionary");
    p->dict = xcalloc((size_t)g->values, sizeof *p->dict);
    if (!parquet_plain(p->dict_data, p->dict_data + g->size, p->dict,
                       (size_t)g->values))
        return parquet_damaged(e, "invalid dictionary");
    p->dict_n = (size_t)g->values;
    return 0;
}

/* Strings as indexes into the dictionary; the first byte is their width. */
static bool look_up(const struct parquet *p, const uint8_t *at,
                    const uint8_t *end, struct parquet_string *out, size_t n)
{
    uint32_t *index = xcalloc(n, sizeof *index);
    bool good =
        n == 0 || (at < end && parquet_hybrid(at + 1, end, *at, index, n));

    for (size_t i = 0; i < n && good; i++) {
        good = index[i] < p->dict_n;
        if (good)
            out[i] = p->dict[index[i]];
    }
    free(index);
    return good;
}

static int read_values(struct parquet *p, const struct parquet_page *g,
                       const uint8_t *at, const uint8_t *end, size_t n,
                       struct err *e)
{
    struct parquet_string *out = p->value;
    bool good = false;

    switch (g->encoding) {
    case ENC_PLAIN:
        good = parquet_plain(at, end, out, n);
        break;
    case ENC_PLAIN_DICTIONARY:
    case ENC_DICTIONARY:
        good = look_up(p, at, end, out, n);
        break;
    case ENC_DELTA_LENGTH:
        good = parquet_delta_length(at, end, out, n);
        break;
    case ENC_DELTA_BYTES:
        good = parquet_delta_bytes(at, end, PAGE_MAX, out, n, &p->joined);
        break;
    default:
        return err_set(e, ERR_INPUT,
                       "strings in encoding %lld are not supported; gdata(1) "
                       "shows how to convert the file in a pipe",
                       (long long)g->encoding);
    }
    return good ? 0 : parquet_damaged(e, "invalid strings in a page");
}

/*
 * Read which rows have a value.  *at points at the levels before, and at the
 * values after the call.  Returns the number of values, or -1.
 */
static int64_t read_levels(const struct parquet *p,
                           const struct parquet_page *g, const uint8_t **at,
                           const uint8_t *end, uint32_t *there)
{
    const uint8_t *levels = *at + g->repeats;
    int64_t n = 0;
    uint32_t len = (uint32_t)g->levels;

    if (g->type == PAGE_DATA_2) {
        *at = levels + len;
    } else if (p->column.nullable) {
        if (end - *at < 4)
            return -1;
        memcpy(&len, *at, sizeof len);
        levels = *at + 4;
        if (len > (size_t)(end - levels))
            return -1;
        *at = levels + len;
    }
    if (!p->column.nullable)
        return g->values;
    if (!parquet_hybrid(levels, levels + len, 1, there, (size_t)g->values))
        return -1;
    for (int64_t i = 0; i < g->values; i++)
        n += there[i] & 1;
    return n;
}

/* Move the values to their rows, starting with the last. */
static void spread_values(struct parquet_string *value, const uint32_t *there,
                          size_t rows, size_t n)
{
    for (size_t i = rows; i-- > 0;)
        value[i] = there[i] & 1 ? value[--n] : (struct parquet_string){ "", 0 };
}

static int read_data(struct parquet *p, const struct parquet_page *g,
                     struct err *e)
{
    const size_t rows = (size_t)g->values;
    uint32_t *there = NULL;
    const uint8_t *at, *end;
    int64_t n;
    int ret = -1;

    free(p->page_data);
    free(p->joined);
    free(p->value);
    p->joined = NULL;
    p->value = NULL;
    p->value_n = p->value_at = 0;
    p->page_data = page_bytes(p, g, e);
    if (!p->page_data)
        return -1;
    at = p->page_data;
    end = at + g->size;
    there = mem_alloc(rows, sizeof *there, "a page of Parquet", e);
    p->value = mem_alloc(rows, sizeof *p->value, "a page of Parquet", e);
    if (!there || !p->value)
        goto out;
    n = read_levels(p, g, &at, end, there);
    if (n < 0) {
        parquet_damaged(e, "invalid levels in a page");
        goto out;
    }
    if (read_values(p, g, at, end, (size_t)n, e) < 0)
        goto out;
    if (p->column.nullable)
        spread_values(p->value, there, rows, (size_t)n);
    p->value_n = rows;
    p->left -= g->values;
    ret = 0;

out:
    free(there);
    return ret;
}

/* Open the next row group: 1, 0 after the last one, or -1. */
static int open_group(struct parquet *p, struct err *e)
{
    const struct parquet_group *g;

    if (p->next_group == p->column.n)
        return 0;
    g = &p->column.group[p->next_group++];
    p->left = 0;
    if (g->values != g->rows)
        return parquet_damaged(
            e, "a row group has more or fewer values than rows");
    if (g->values == 0)
        return 1;
    if (g->offset < 4 || g->size < 0 || g->values < 0 ||
        (uint64_t)g->offset > p->size ||
        (uint64_t)g->size > p->size - (uint64_t)g->offset)
        return parquet_damaged(e, "a row group lies outside the file");
    p->at = p->map + g->offset;
    p->end = p->at + g->size;
    p->left = g->values;
    p->codec = g->codec;
    p->dict_n = 0;
    return 1;
}

/* Read the next page with values: 1, 0 at the end, or -1. */
static int next_page(struct parquet *p, struct err *e)
{
    struct parquet_page g;

    while (p->value_at == p->value_n) {
        int got = 0;

        if (p->left <= 0) {
            got = open_group(p, e);
            if (got <= 0)
                return got;
            continue;
        }
        if (p->at == p->end)
            return parquet_damaged(e, "a row group ends early");
        if (read_page_header(p, &g, e) < 0)
            return -1;
        if (g.type == PAGE_DICTIONARY)
            got = read_dictionary(p, &g, e);
        else if (g.type == PAGE_DATA || g.type == PAGE_DATA_2)
            got = read_data(p, &g, e);
        if (got < 0)
            return -1;
        p->at += g.packed;
    }
    return 1;
}

/* Skip row groups before the row without inflating them. */
static void skip_groups(struct parquet *p, int64_t row)
{
    while (p->left <= 0 && p->value_at == p->value_n &&
           p->next_group < p->column.n &&
           p->column.group[p->next_group].rows > 0 &&
           p->column.group[p->next_group].rows <= row - p->row)
        p->row += p->column.group[p->next_group++].rows;
}

int parquet_next(struct parquet *p, int64_t row, struct corpus_block *b,
                 struct err *e)
{
    size_t n = 0, bytes = 0;
    char *to;
    int got;

    for (;;) {
        size_t left;

        skip_groups(p, row);
        got = next_page(p, e);
        if (got <= 0)
            return got;
        left = p->value_n - p->value_at;
        if (row - p->row < (int64_t)left)
            break;
        p->value_at += left;
        p->row += (int64_t)left;
    }
    p->value_at += (size_t)(row - p->row);
    p->row = row;
    while (p->value_at + n < p->value_n &&
           (n == 0 || bytes + p->value[p->value_at + n].len <= CORPUS_BLOCK))
        bytes += p->value[p->value_at + n++].len;
    if (!b->data || bytes > b->data_room) {
        free(b->data);
        b->data = xmalloc(bytes);
        b->data_room = bytes;
    }
    to = b->data;
    for (size_t i = 0; i < n; i++, p->value_at++, p->row++) {
        const struct parquet_string *s = &p->value[p->value_at];

        GROW(b->doc, b->n, b->room);
        if (s->len)
            memcpy(to, s->text, s->len);
        b->doc[b->n++] = (struct corpus_doc){ .text = to,
                                              .len = s->len,
                                              .line = p->row + 1,
                                              .begins = true,
                                              .ends = true };
        to += s->len;
    }
    b->size = bytes;
    return 1;
}
