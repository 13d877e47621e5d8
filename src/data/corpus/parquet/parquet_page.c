#include "config.h"
#include "data/corpus/parquet/parquet_page.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "data/corpus/parquet/parquet_decode.h"
#include "data/corpus/parquet/parquet_footer.h"
#include "data/corpus/parquet/thrift.h"

enum { VALUES_MAX = 1 << 27 };

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

int parquet_page_header(struct parquet_page *g, const uint8_t **at,
                        const uint8_t *end, struct err *e)
{
    struct thrift t = { .at = *at, .end = end };
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
    *at = t.at;
    if (t.bad || g->size < 0 || g->size > PARQUET_PAGE_MAX || g->packed < 0 ||
        g->packed > end - *at || g->values < 0 || g->values > VALUES_MAX ||
        g->levels < 0 || g->repeats < 0 || g->levels > g->size ||
        g->repeats > g->size - g->levels || g->levels + g->repeats > g->packed)
        return parquet_damaged(e, "invalid page header");
    return 0;
}

uint8_t *parquet_page_bytes(const struct parquet_page *g, const uint8_t *at,
                            int64_t codec, struct err *e)
{
    const size_t bare =
        (size_t)(g->type == PARQUET_PAGE_DATA_2 ? g->levels + g->repeats : 0);
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
