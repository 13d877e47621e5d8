/*
 * gzip_zlib - inflate gzip data by zlib
 */
#include "config.h"
#include "data/corpus/source/gzip.h"

#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>

#include "common/mem.h"

struct gzip_state {
    z_stream z;
    bool ended; /* a member */
};

struct gzip_state *gzip_state_new(void)
{
    struct gzip_state *s = xcalloc(1, sizeof *s);

    if (inflateInit2(&s->z, 15 + 16) == Z_OK)
        return s;
    free(s);
    return NULL;
}

bool gzip_state_inflate(struct gzip_state *s, const uint8_t **at, size_t *left,
                        uint8_t **to, const uint8_t *end, const char **damage)
{
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

void gzip_state_free(struct gzip_state *s)
{
    inflateEnd(&s->z);
    free(s);
}
