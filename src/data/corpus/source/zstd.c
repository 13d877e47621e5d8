/*
 * zstd - inflate Zstandard data, frame after frame, by libzstd
 */
#include "config.h"
#include "data/corpus/source/source.h"

#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>

#include "common/mem.h"

/* The logarithm of the largest window: 2 GiB, as with zstd --long=31.  Memory
 * is allocated for the window of the file. */
enum { WINDOW_MAX = sizeof(size_t) == 8 ? 31 : 27 };

struct zstd {
    ZSTD_DStream *stream;
    bool between; /* two frames: only there may the file end */
    const char *damage;
};

static void *zstd_open(struct err *e)
{
    struct zstd *z = xcalloc(1, sizeof *z);

    z->stream = ZSTD_createDStream();
    if (!z->stream || ZSTD_isError(ZSTD_DCtx_setParameter(
                          z->stream, ZSTD_d_windowLogMax, WINDOW_MAX))) {
        err_set(e, ERR_SYSTEM, "cannot initialize libzstd");
        ZSTD_freeDStream(z->stream);
        free(z);
        return NULL;
    }
    z->between = true;
    return z;
}

static void zstd_close(void *inflater)
{
    struct zstd *z = inflater;

    ZSTD_freeDStream(z->stream);
    free(z);
}

static ssize_t zstd_read(void *inflater, struct source_input *f, void *buf,
                         size_t n, struct err *e)
{
    struct zstd *z = inflater;
    ZSTD_outBuffer out = { buf, n, 0 };

    while (out.pos < n && !z->damage) {
        const ssize_t got = source_fill(f, e);
        const size_t had = out.pos;
        ZSTD_inBuffer in;
        size_t ret;

        if (got < 0)
            return -1;
        if (got == 0 && z->between)
            break;
        in = (ZSTD_inBuffer){ f->at, f->left, 0 };
        ret = ZSTD_decompressStream(z->stream, &out, &in);
        f->at += in.pos;
        f->left -= in.pos;
        if (ZSTD_isError(ret))
            z->damage = ZSTD_getErrorName(ret);
        else if (got == 0 && out.pos == had)
            z->damage = "it ends early; was the download interrupted?";
        z->between = ret == 0;
    }
    if (z->damage && out.pos == 0)
        return err_set(e, ERR_INPUT, "damaged zstd data: %s", z->damage);
    return (ssize_t)out.pos;
}

int zstd_block(const void *in, size_t n, void *out, size_t size, struct err *e)
{
    const size_t got = ZSTD_decompress(out, size, in, n);

    if (ZSTD_isError(got) || got != size)
        return err_set(e, ERR_INPUT, "damaged zstd data: %s",
                       ZSTD_isError(got) ? ZSTD_getErrorName(got)
                                         : "unexpected size");
    return 0;
}

const struct inflater zstd_inflater = {
    .name = "zstd",
    .open = zstd_open,
    .read = zstd_read,
    .close = zstd_close,
};
