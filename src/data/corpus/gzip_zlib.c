/*
 * gzip_zlib - gzip through zlib, member after member
 */
#include "config.h"
#include "data/corpus/source.h"

#include <stdbool.h>
#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>

#include "common/mem.h"

struct gzip {
    z_stream z;
    bool between; /* members; only there may the file end */
    bool broken;
};

static void *gzip_open(struct err *e)
{
    struct gzip *g = xcalloc(1, sizeof *g);

    if (inflateInit2(&g->z, 15 + 16) != Z_OK) {
        err_set(e, ERR_SYSTEM, "cannot start zlib");
        free(g);
        return NULL;
    }
    return g;
}

static void gzip_close(void *decoder)
{
    struct gzip *g = decoder;

    inflateEnd(&g->z);
    free(g);
}

static ssize_t gzip_read(void *decoder, struct source_input *f, void *buf,
                         size_t n, struct err *e)
{
    struct gzip *g = decoder;

    if (g->broken)
        return err_set(e, ERR_INPUT, "damaged gzip data");
    g->z.next_out = buf;
    g->z.avail_out = (uInt)(n < 1u << 30 ? n : 1u << 30);
    while (g->z.avail_out) {
        const ssize_t got = source_fill(f, e);
        int ret;

        if (got < 0)
            return -1;
        if (got == 0 && g->between)
            break;
        if (got == 0) {
            if (g->z.next_out != (Bytef *)buf)
                break; /* the next call says it */
            return err_set(e, ERR_INPUT,
                           "the gzip data end early; an unfinished download?");
        }
        if (g->between) {
            const int more = source_next_member(f);

            if (more == 0)
                continue;
            if (more < 0 && g->z.next_out != (Bytef *)buf)
                break;
            if (more < 0)
                return err_set(e, ERR_INPUT,
                               "something else follows the gzip data");
            inflateReset(&g->z);
        }
        g->between = false;
        g->z.next_in = f->at;
        g->z.avail_in = (uInt)f->left;
        ret = inflate(&g->z, Z_NO_FLUSH);
        f->at = g->z.next_in;
        f->left = g->z.avail_in;
        if (ret == Z_STREAM_END) {
            g->between = true;
        } else if (ret != Z_OK && ret != Z_BUF_ERROR) {
            g->broken = true;
            if (g->z.next_out != (Bytef *)buf)
                break;
            return err_set(e, ERR_INPUT, "damaged gzip data: %s",
                           g->z.msg ? g->z.msg : "unknown");
        }
    }
    return (ssize_t)(g->z.next_out - (Bytef *)buf);
}

const struct inflater gzip_inflater = {
    .name = "gzip",
    .magic = { 0x1f, 0x8b },
    .mask = { 0xff, 0xff },
    .open = gzip_open,
    .read = gzip_read,
    .close = gzip_close,
};
