#include "config.h"
#include "track/serve/http_gzip.h"

#include <stdint.h>
#include <string.h>
#include <zlib.h>

bool http_gzip_is_wanted(const char *accepted)
{
    const char *at = accepted ? strstr(accepted, "gzip") : NULL;

    if (!at || (at > accepted && !strchr(" ,\t", at[-1])))
        return false;
    at += strlen("gzip");
    at += strspn(at, " \t;q=");
    /* "gzip;q=0" refuses it */
    return *at == ',' || *at == '\0' || strspn(at, "0.") < strcspn(at, ", \t");
}

bool http_gzip(struct buf *b)
{
    enum { LEAST = 1400, LEVEL = 3, GZIP = 15 + 16, MEMORY = 8 };
    struct buf out = BUF_INIT;
    z_stream z = { 0 };
    bool good;

    if (b->len < LEAST || b->len > UINT32_MAX ||
        deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) !=
            Z_OK)
        return false;
    z.next_in = (unsigned char *)b->s;
    z.avail_in = (unsigned)b->len;
    z.avail_out = (unsigned)b->len;
    buf_room(&out, b->len);
    z.next_out = (unsigned char *)out.s;
    good = deflate(&z, Z_FINISH) == Z_STREAM_END;
    out.len = z.total_out;
    deflateEnd(&z);
    if (good) {
        const struct buf whole = *b;

        *b = out;
        out = whole;
    }
    buf_clear(&out);
    return good;
}
