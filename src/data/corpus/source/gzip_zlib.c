/*
 * gzip_zlib - inflate gzip data by zlib
 */
#include "config.h"
#include "data/corpus/source/source.h"

#define ZLIB_CONST
#include <zlib.h>

#include "common/mem.h"

struct gzip {
    z_stream z;
    bool ended; /* a member */
};

static void *gzip_open(struct err *e)
{
    struct gzip *s = xcalloc(1, sizeof *s);

    if (inflateInit2(&s->z, 15 + 16) == Z_OK)
        return s;
    err_set(e, ERR_SYSTEM, "not enough memory to inflate gzip data");
    free(s);
    return NULL;
}

static bool gzip_inflate(void *inflater, const uint8_t **at, size_t *left,
                         uint8_t **to, const uint8_t *end, const char **damage)
{
    struct gzip *s = inflater;
    int ret;

    if (s->ended)
        inflateReset(&s->z);
    s->z.next_in = *at;
    s->z.avail_in = (uInt)*left;
    s->z.next_out = *to;
    s->z.avail_out = (uInt)(end - *to);
    ret = inflate(&s->z, Z_NO_FLUSH);
    *at = s->z.next_in;
    *left = s->z.avail_in;
    *to = s->z.next_out;
    if (ret != Z_OK && ret != Z_BUF_ERROR && ret != Z_STREAM_END)
        *damage = s->z.msg ? s->z.msg : "unknown error";
    s->ended = ret == Z_STREAM_END;
    return s->ended;
}

static void gzip_close(void *inflater)
{
    AUTO_FREE struct gzip *s = inflater;

    inflateEnd(&s->z);
}

const struct inflater gzip_inflater = {
    .name = "gzip",
    .is_padded = true,
    .open = gzip_open,
    .inflate = gzip_inflate,
    .close = gzip_close,
};
