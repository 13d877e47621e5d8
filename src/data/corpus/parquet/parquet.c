/*
 * parquet - the pages of one column, and the values in them
 *
 * Field numbers are those in parquet.thrift of the Apache Parquet format.
 */
#include "config.h"
#include "data/corpus/parquet/parquet.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/mem.h"
#include "common/path.h"
#include "data/corpus/parquet/thrift.h"
#include "data/corpus/source/download.h"

/* ---- pages --------------------------------------------------------------- */

enum page_type { PAGE_DATA, PAGE_INDEX, PAGE_DICTIONARY, PAGE_DATA_2 };

enum {
    PAGE_MAX = 1 << 30, /* bytes, inflated */
    VALUES_MAX = 1 << 27
};

struct page {
    int64_t type, size, packed; /* bytes inflated, bytes in the file */
    int64_t values, encoding;
    int64_t levels; /* bytes of definition levels, of version 2 */
    int64_t repeats;
    bool plain; /* version 2 and not compressed */
};

static void read_data_header(struct thrift *t, struct page *g, bool second)
{
    int64_t *to[] = { [1] = &g->values, [5] = &g->levels, [6] = &g->repeats };
    struct thrift_field f;

    to[second ? 4 : 2] = &g->encoding;
    thrift_begin(t);
    while (thrift_field(t, &f))
        if (second && f.id == 7)
            g->plain = f.type == THRIFT_FALSE;
        else
            thrift_store(t, &f, to, second ? 7 : 3);
}

/* Read the header at *at, and move past it.  Its sizes fit together, and into
 * what is left of the file. */
static int read_page_header(struct page *g, const uint8_t **at,
                            const uint8_t *end, struct err *e)
{
    int64_t *const to[] = { [1] = &g->type, [2] = &g->size, [3] = &g->packed };
    struct thrift t = { .at = *at, .end = end };
    struct thrift_field f;

    *g = (struct page){ .type = -1 };
    thrift_begin(&t);
    while (thrift_field(&t, &f))
        if (f.id == 5 || f.id == 7 || f.id == 8)
            read_data_header(&t, g, f.id == 8);
        else
            thrift_store(&t, &f, to, 4);
    *at = t.at;
    if (t.bad || g->size < 0 || g->size > PAGE_MAX || g->packed < 0 ||
        g->packed > end - *at || g->values < 0 || g->values > VALUES_MAX ||
        g->levels < 0 || g->repeats < 0 || g->levels > g->size ||
        g->repeats > g->size - g->levels || g->levels + g->repeats > g->packed)
        return parquet_damaged(e, "invalid page header");
    return 0;
}

/* The inflated bytes of a page, which the caller frees; or NULL.  In version 2
 * the levels, which are never compressed, come first. */
static uint8_t *page_bytes(const struct page *g, const uint8_t *at,
                           int64_t codec, struct err *e)
{
    const size_t bare =
        (size_t)(g->type == PAGE_DATA_2 ? g->levels + g->repeats : 0);
    const size_t packed = (size_t)g->packed - bare;
    uint8_t *out = mem_alloc((size_t)g->size + 1, 1, "a page of Parquet", e);

    if (!out)
        return NULL;
    memcpy(out, at, bare);
    if (packed == 0 && (size_t)g->size == bare)
        return out; /* only nulls */
    if (parquet_inflate(g->plain ? PARQUET_UNCOMPRESSED : codec, at + bare,
                        packed, out + bare, (size_t)g->size - bare, e) < 0) {
        free(out);
        return NULL;
    }
    return out;
}

/* ---- files --------------------------------------------------------------- */

struct parquet_file {
    const char *path;
    size_t size;
    const uint8_t *map; /* NULL: the file is on a server, */
    struct http *http;
    char *tag;     /* where it must keep this tag, */
    uint8_t *tail; /* and this is its end, with the footer */
    size_t tail_n;
};

static bool append(void *arg, const void *data, size_t n)
{
    uint8_t **to = arg;

    memcpy(*to, data, n); /* no more comes than was asked for */
    *to += n;
    return true;
}

/* Download n bytes.  The first time, the size and the tag become known. */
static int download(struct parquet_file *f, int64_t from, uint8_t *to, size_t n,
                    struct err *e)
{
    AUTO(http_reply_clear) struct http_reply reply = HTTP_REPLY_INIT;
    const struct http_call call = { .url = f->path,
                                    .from = from,
                                    .count = (int64_t)n,
                                    .tag = f->tag,
                                    .whole = (int64_t)f->size,
                                    .sink = append,
                                    .arg = &to };
    const int ret = n > 0 ? download_call(f->http, &call, &reply, e) : 0;

    if (ret == 0 && f->size == 0) {
        f->size = (size_t)reply.size;
        xreplace(&f->tag, reply.tag);
    }
    return ret;
}

/* Download the last n bytes. */
static int download_tail(struct parquet_file *f, size_t n, struct err *e)
{
    free(f->tail);
    f->tail = mem_alloc(n + 1, 1, "the footer of Parquet", e);
    f->tail_n = n;
    return f->tail ? download(f, (int64_t)(f->size - n), f->tail, n, e) : -1;
}

/* Download the end of the file, and more of it if the footer is longer. */
static int open_url(struct parquet_file *f, const struct http_conf *conf,
                    uint8_t first[4], struct err *e)
{
    enum { TAIL = 64 << 10 };
    struct http_conf http = conf ? *conf : (struct http_conf){ 0 };
    uint32_t n;

    http.name_tries = DOWNLOAD_NAME_TRIES;
    f->http = http_open(&http, e);
    if (!f->http || download(f, 0, first, 4, e) < 0 ||
        download_tail(f, f->size < TAIL ? f->size : TAIL, e) < 0)
        return -1;
    if (f->tail_n < TAIL)
        return 0;
    memcpy(&n, f->tail + TAIL - 8, sizeof n);
    return n <= TAIL - 8 || n > f->size - 12 ? 0 : download_tail(f, n + 8ul, e);
}

static int open_map(struct parquet_file *f, uint8_t first[4], struct err *e)
{
    struct stat st = { 0 };
    void *map;

    if (path_map(&map, &st, path_open(f->path, PATH_FOLLOW_LINKS, e), f->path,
                 e) < 0)
        return -1;
    f->map = map;
    f->size = (size_t)st.st_size;
    if (f->size >= 4)
        memcpy(first, f->map, 4);
    return 0;
}

int parquet_file_open(struct parquet_file **out, const char *path,
                      const struct http_conf *http, struct err *e)
{
    struct parquet_file *f = xcalloc(1, sizeof *f);
    uint8_t first[4] = "";
    int ret;

    f->path = path;
    ret = download_is_url(path) ? open_url(f, http, first, e)
                                : open_map(f, first, e);
    if (ret == 0 && (f->size < 12 || memcmp(first, "PAR", 3) != 0))
        ret = err_input(e, "%s: this is not a Parquet file", path);
    if (ret == 0)
        *out = f;
    else
        parquet_file_close(f);
    return ret;
}

void parquet_file_close(struct parquet_file *f)
{
    if (!f)
        return;
    if (f->map)
        munmap((void *)(uintptr_t)f->map, f->size);
    http_close(f->http);
    FREE(f->tag, f->tail, f);
}

/* ---- values -------------------------------------------------------------- */

enum parquet_encoding {
    ENC_PLAIN = 0,
    ENC_PLAIN_DICTIONARY = 2,
    ENC_HYBRID = 3,
    ENC_DELTA = 5,
    ENC_DELTA_LENGTH = 6,
    ENC_DELTA_BYTES = 7,
    ENC_DICTIONARY = 8,
};

struct parquet {
    struct parquet_file *file;
    char *name;
    struct parquet_column column;

    size_t next_group;
    const uint8_t *at, *end; /* in the current column chunk, */
    uint8_t *chunk;          /* which this is, if it was downloaded */
    int64_t left;            /* values of it that were not read yet */
    int64_t codec;
    uint8_t *dict_data, *page_data;
    char *joined; /* strings that are not contiguous in page_data */
    struct parquet_string *dict, *value;
    uint32_t *first; /* of lists, the element with which each begins */
    size_t dict_n, value_n, value_at;
    int64_t row; /* of value_at */
};

int parquet_open(struct parquet **out, struct parquet_file *f,
                 const char *column, struct err *e)
{
    struct parquet *p = xcalloc(1, sizeof *p);

    p->file = f;
    p->name = column ? xstrdup(column) : NULL;
    p->column.name = p->name;
    if (parquet_footer(&p->column, f->map ? f->map : f->tail,
                       f->map ? f->size : f->tail_n, e) < 0) {
        parquet_close(p);
        return err_wrap(e, "%s", f->path);
    }
    *out = p;
    return 0;
}

const struct parquet_column *parquet_column(const struct parquet *p)
{
    return &p->column;
}

void parquet_close(struct parquet *p)
{
    if (!p)
        return;
    parquet_column_clear(&p->column);
    FREE(p->name, p->chunk, p->dict_data, p->page_data, p->joined, p->dict,
         p->value, p->first, p);
}

static const struct parquet_leaf *leaf_of(const struct parquet *p)
{
    return &p->column.all[p->column.leaf];
}

/* Read values in the encoding PLAIN, one after the other. */
static bool read_plain(const struct parquet *p, const uint8_t *at,
                       const uint8_t *end, struct parquet_string *out, size_t n)
{
    switch (leaf_of(p)->type) {
    case PARQUET_BOOLEAN:
        return parquet_truths(at, end, out, n);
    case PARQUET_INT32:
    case PARQUET_FLOAT:
        return parquet_fixed(at, end, 4, out, n);
    case PARQUET_INT64:
    case PARQUET_DOUBLE:
        return parquet_fixed(at, end, 8, out, n);
    default:
        return parquet_plain(at, end, out, n);
    }
}

static int read_dictionary(struct parquet *p, const struct page *g,
                           struct err *e)
{
    FREE(p->dict_data, p->dict);
    p->dict = NULL;
    p->dict_n = 0;
    p->dict_data = page_bytes(g, p->at, p->codec, e);
    if (!p->dict_data)
        return -1;
    if (g->values > g->size / 4)
        return parquet_damaged(e, "invalid dictionary");
    p->dict = xcalloc((size_t)g->values, sizeof *p->dict);
    if (!read_plain(p, p->dict_data, p->dict_data + g->size, p->dict,
                    (size_t)g->values))
        return parquet_damaged(e, "invalid dictionary");
    p->dict_n = (size_t)g->values;
    return 0;
}

/* Read values stored as indexes into the dictionary; the first byte is the
 * width of an index. */
static bool look_up(const struct parquet *p, const uint8_t *at,
                    const uint8_t *end, struct parquet_string *out, size_t n)
{
    AUTO_FREE uint32_t *index = xcalloc(n, sizeof *index);
    bool good =
        n == 0 || (at < end && parquet_hybrid(at + 1, end, *at, index, n));

    for (size_t i = 0; i < n && good; i++) {
        good = index[i] < p->dict_n;
        if (good)
            out[i] = p->dict[index[i]];
    }
    return good;
}

/* Can values of this type have this encoding? */
static bool is_possible(int64_t type, int64_t encoding)
{
    switch (encoding) {
    case ENC_HYBRID:
        return type == PARQUET_BOOLEAN;
    case ENC_DELTA:
        return type == PARQUET_INT32 || type == PARQUET_INT64;
    case ENC_DELTA_LENGTH:
    case ENC_DELTA_BYTES:
        return type == PARQUET_BYTES;
    default:
        return true;
    }
}

static int read_values(struct parquet *p, const struct page *g,
                       const uint8_t *at, const uint8_t *end, size_t n,
                       struct err *e)
{
    struct parquet_string *out = p->value;
    bool good = false;

    switch (is_possible(leaf_of(p)->type, g->encoding) ? g->encoding : -1) {
    case ENC_PLAIN:
        good = read_plain(p, at, end, out, n);
        break;
    case ENC_PLAIN_DICTIONARY:
    case ENC_DICTIONARY:
        good = look_up(p, at, end, out, n);
        break;
    case ENC_HYBRID:
        good = parquet_truths_hybrid(at, end, out, n);
        break;
    case ENC_DELTA:
        good = parquet_differences(at, end, out, n, &p->joined);
        break;
    case ENC_DELTA_LENGTH:
        good = parquet_delta_length(at, end, out, n);
        break;
    case ENC_DELTA_BYTES:
        good = parquet_delta_bytes(at, end, PAGE_MAX, out, n, &p->joined);
        break;
    default:
        return err_input(e,
                         "values in encoding %lld are not supported; gdata(1) "
                         "shows how to convert the file in a pipe",
                         (long long)g->encoding);
    }
    return good ? 0 : parquet_damaged(e, "invalid values in a page");
}

/* Read levels of up to `most`, which take `len` bytes, or as many as the four
 * bytes before them say (-1). */
static bool take_levels(const uint8_t **at, const uint8_t *end, int64_t len,
                        uint32_t most, uint32_t *level, size_t n)
{
    const uint8_t *from = *at;
    uint32_t size;

    if (len < 0) {
        if (end - *at < (int)sizeof size)
            return false;
        memcpy(&size, *at, sizeof size);
        from += sizeof size;
        len = size;
    }
    if (len > end - from)
        return false;
    *at = from + len;
    return most == 0 ||
           parquet_hybrid(from, *at, 32 - __builtin_clz(most), level, n);
}

/*
 * Read which values are there, and which go on with a list, and move *at from
 * the levels to the values.  Returns the number of values, or -1.
 */
static int64_t read_levels(const struct parquet *p, const struct page *g,
                           const uint8_t **at, const uint8_t *end,
                           uint32_t *there, uint32_t *again)
{
    const struct parquet_leaf *leaf = leaf_of(p);
    const bool second = g->type == PAGE_DATA_2;
    const size_t n = (size_t)g->values;
    int64_t found = 0;

    if ((second || leaf->list) &&
        !take_levels(at, end, second ? g->repeats : -1, leaf->list ? 1 : 0,
                     again, n))
        return -1;
    if ((second || leaf->nulls) &&
        !take_levels(at, end, second ? g->levels : -1, leaf->nulls, there, n))
        return -1;
    for (size_t i = 0; i < n; i++)
        found += leaf->nulls == 0 || there[i] == leaf->nulls;
    return found;
}

/* Move the values to their places, starting with the last. */
static void spread_values(struct parquet_string *value, const uint32_t *there,
                          uint32_t nulls, size_t all, size_t n)
{
    for (size_t i = all; i-- > 0;)
        value[i] =
            there[i] == nulls ? value[--n] : (struct parquet_string){ 0 };
}

/* Find where each list begins, and remove what stands for an empty one. */
static void find_lists(struct parquet *p, const uint32_t *there,
                       const uint32_t *again, size_t all)
{
    uint32_t n = 0;

    p->value_n = 0;
    for (size_t i = 0; i < all; i++) {
        if (!again[i])
            p->first[p->value_n++] = n;
        if (there[i] >= leaf_of(p)->list)
            p->value[n++] = p->value[i];
    }
    p->first[p->value_n] = n;
}

static int read_data(struct parquet *p, const struct page *g, struct err *e)
{
    static const char what[] = "a page of Parquet";
    const struct parquet_leaf *leaf = leaf_of(p);
    const size_t all = (size_t)g->values;
    AUTO_FREE uint32_t *there = NULL, *again = NULL;
    const uint8_t *at, *end;
    int64_t n;

    FREE(p->page_data, p->joined, p->value, p->first);
    p->joined = NULL;
    p->value = NULL;
    p->value_n = p->value_at = 0;
    p->page_data = page_bytes(g, p->at, p->codec, e);
    there = mem_alloc(all, sizeof *there, what, e);
    again = mem_alloc(leaf->list ? all : 1, sizeof *again, what, e);
    p->value = mem_alloc(all, sizeof *p->value, what, e);
    p->first = mem_alloc(leaf->list ? all + 1 : 1, sizeof *p->first, what, e);
    if (!p->page_data || !there || !again || !p->value || !p->first)
        return -1;
    at = p->page_data;
    end = at + g->size;
    n = read_levels(p, g, &at, end, there, again);
    if (n < 0 || (leaf->list && all > 0 && again[0]))
        return parquet_damaged(e, n < 0 ? "invalid levels in a page"
                                        : "a list begins in another page");
    if (read_values(p, g, at, end, (size_t)n, e) < 0)
        return -1;
    if (leaf->nulls)
        spread_values(p->value, there, leaf->nulls, all, (size_t)n);
    p->value_n = all;
    if (leaf->list)
        find_lists(p, there, again, all);
    p->left -= g->values;
    return 0;
}

/* Open the next row group: 1, 0 after the last one, or -1. */
static int open_group(struct parquet *p, struct err *e)
{
    const struct parquet_group *g;

    if (p->next_group == p->column.n)
        return 0;
    g = &p->column.group[p->next_group++];
    p->left = 0;
    if (g->values != g->rows && !leaf_of(p)->list)
        return parquet_damaged(
            e, "a row group has more or fewer values than rows");
    if (g->values == 0)
        return 1;
    if (g->offset < 4 || g->size < 0 || g->values < 0 ||
        (uint64_t)g->offset > p->file->size ||
        (uint64_t)g->size > p->file->size - (uint64_t)g->offset)
        return parquet_damaged(e, "a row group lies outside the file");
    p->at = p->file->map ? p->file->map + g->offset : NULL;
    if (!p->at) {
        free(p->chunk);
        p->chunk = mem_alloc((size_t)g->size + 1, 1, "a row group", e);
        p->at = p->chunk;
        if (!p->at ||
            download(p->file, g->offset, p->chunk, (size_t)g->size, e) < 0)
            return -1;
    }
    p->end = p->at + g->size;
    p->left = g->values;
    p->codec = g->codec;
    p->dict_n = 0;
    return 1;
}

/* Read the next page with values: 1, 0 at the end, or -1. */
static int next_page(struct parquet *p, struct err *e)
{
    struct page g;

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
        if (read_page_header(&g, &p->at, p->end, e) < 0)
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

int parquet_seek(struct parquet *p, int64_t row, struct err *e)
{
    for (;;) {
        size_t left;
        int got;

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
    return 1;
}

const struct parquet_string *parquet_value(const struct parquet *p)
{
    return &p->value[leaf_of(p)->list ? p->first[p->value_at] : p->value_at];
}

size_t parquet_elements(const struct parquet *p)
{
    return leaf_of(p)->list ? p->first[p->value_at + 1] - p->first[p->value_at]
                            : 1;
}

size_t parquet_left(const struct parquet *p)
{
    return p->value_n - p->value_at;
}
