/*
 * zstd - inflate Zstandard data, frame after frame, by libzstd
 */
#include "config.h"
#include "data/corpus/source/source.h"

#include <zstd.h>

/* The logarithm of the largest window: 2 GiB, as with zstd --long=31.  Memory
 * is allocated for the window of the file. */
enum { WINDOW_MAX = sizeof(size_t) == 8 ? 31 : 27 };

static void *zstd_open(struct err *e)
{
    ZSTD_DStream *z = ZSTD_createDStream();

    if (z && !ZSTD_isError(
                 ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, WINDOW_MAX)))
        return z;
    err_set(e, ERR_SYSTEM, "cannot initialize libzstd");
    ZSTD_freeDStream(z);
    return NULL;
}

static void zstd_close(void *z)
{
    ZSTD_freeDStream(z);
}

static bool zstd_inflate(void *z, const uint8_t **at, size_t *left,
                         uint8_t **to, const uint8_t *end, const char **damage)
{
    ZSTD_outBuffer out = { *to, (size_t)(end - *to), 0 };
    ZSTD_inBuffer in = { *at, *left, 0 };
    const size_t ret = ZSTD_decompressStream(z, &out, &in);

    *at += in.pos;
    *left -= in.pos;
    *to += out.pos;
    if (ZSTD_isError(ret))
        *damage = ZSTD_getErrorName(ret);
    return ret == 0;
}

int zstd_block(const void *in, size_t n, void *out, size_t size, struct err *e)
{
    const size_t got = ZSTD_decompress(out, size, in, n);

    if (ZSTD_isError(got) || got != size)
        return err_input(e, "damaged zstd data: %s",
                         ZSTD_isError(got) ? ZSTD_getErrorName(got)
                                           : "unexpected size");
    return 0;
}

const struct inflater zstd_inflater = {
    .name = "zstd",
    .open = zstd_open,
    .inflate = zstd_inflate,
    .close = zstd_close,
};
