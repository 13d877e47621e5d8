/*
 * gzip_isal - gzip through ISA-L, member after member; thrice zlib's speed
 */
#include "config.h"
#include "data/corpus/source.h"

#include <stdbool.h>
#include <stdlib.h>
#include <isa-l/igzip_lib.h>

#include "common/mem.h"

struct gzip {
    struct inflate_state z;
    bool between; /* members; only there may the file end */
    int broken;
};

static void *gzip_open(struct err *e)
{
    struct gzip *g = xcalloc(1, sizeof *g);

    (void)e;
    isal_inflate_init(&g->z);
    g->z.crc_flag = ISAL_GZIP;
    return g;
}

static void gzip_close(void *decoder)
{
    free(decoder);
}

static const char *reason(int code)
{
    static const struct {
        int code;
        const char *text;
    } reasons[] = {
        { ISAL_INVALID_BLOCK, "an invalid block" },
        { ISAL_INVALID_SYMBOL, "an invalid symbol" },
        { ISAL_INVALID_LOOKBACK, "an invalid distance" },
        { ISAL_INVALID_WRAPPER, "an invalid header" },
        { ISAL_UNSUPPORTED_METHOD, "an unknown method" },
        { ISAL_INCORRECT_CHECKSUM, "incorrect check sum" },
    };

    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].code == code)
            return reasons[i].text;
    return "unknown";
}

static ssize_t gzip_read(void *decoder, struct source_input *f, void *buf,
                         size_t n, struct err *e)
{
    struct gzip *g = decoder;

    g->z.next_out = buf;
    g->z.avail_out = (uint32_t)(n < 1u << 30 ? n : 1u << 30);
    while (g->z.avail_out && !g->broken) {
        const ssize_t got = source_fill(f, e);
        int ret;

        if (got < 0)
            return -1;
        if (got == 0 && g->between)
            break;
        if (got == 0) {
            if (g->z.next_out != (uint8_t *)buf)
                break; /* the next call says it */
            return err_set(e, ERR_INPUT,
                           "the gzip data end early; an unfinished download?");
        }
        if (g->between) {
            const int more = source_next_member(f);

            if (more == 0)
                continue;
            if (more < 0 && g->z.next_out != (uint8_t *)buf)
                break;
            if (more < 0)
                return err_set(e, ERR_INPUT,
                               "something else follows the gzip data");
            isal_inflate_reset(&g->z);
            g->z.crc_flag = ISAL_GZIP;
        }
        g->between = false;
        g->z.next_in = f->buf + (f->at - f->buf);
        g->z.avail_in = (uint32_t)f->left;
        ret = isal_inflate(&g->z);
        f->at = g->z.next_in;
        f->left = g->z.avail_in;
        if (ret != ISAL_DECOMP_OK && ret != ISAL_END_INPUT &&
            ret != ISAL_OUT_OVERFLOW)
            g->broken = ret;
        else
            g->between = g->z.block_state == ISAL_BLOCK_FINISH;
    }
    if (g->broken && g->z.next_out == (uint8_t *)buf)
        return err_set(e, ERR_INPUT, "damaged gzip data: %s",
                       reason(g->broken));
    return (ssize_t)(g->z.next_out - (uint8_t *)buf);
}

const struct inflater gzip_inflater = {
    .name = "gzip",
    .magic = { 0x1f, 0x8b },
    .mask = { 0xff, 0xff },
    .open = gzip_open,
    .read = gzip_read,
    .close = gzip_close,
};
