#include "config.h"
#include "track/import/wandb_log.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/mem.h"

enum { BLOCK = 32768, HEADER = 7, WHOLE = 1, FIRST, MIDDLE, LAST };

struct wandb_log {
    FILE *fp;
    unsigned char block[BLOCK];
    size_t n, at;
    const char *path;
};

struct wandb_log *wandb_log_open(const char *path, struct err *e)
{
    struct wandb_log *r = xcalloc(1, sizeof *r);

    r->path = path;
    r->fp = fopen(path, "re");
    if (!r->fp) {
        err_open(e, "cannot read %s", path);
        wandb_log_close(r);
        return NULL;
    }
    r->n = fread(r->block, 1, BLOCK, r->fp);
    r->at = HEADER;
    if (r->n < HEADER || memcmp(r->block, ":W&B\xe1\xbe\0", HEADER) != 0) {
        err_set(e, ERR_INPUT, "%s is not a log of W&B", path);
        wandb_log_close(r);
        return NULL;
    }
    return r;
}

void wandb_log_close(struct wandb_log *r)
{
    if (!r)
        return;
    if (r->fp)
        fclose(r->fp);
    free(r);
}

int wandb_log_next(struct wandb_log *r, struct buf *out, struct err *e)
{
    bool inside = false;

    buf_trim(out, 0);
    for (;;) {
        const unsigned char *h;
        size_t len;
        uLong crc;

        if (r->at + HEADER > r->n) {
            r->n = fread(r->block, 1, BLOCK, r->fp);
            r->at = 0;
            if (r->n < HEADER)
                return 0;
        }
        h = r->block + r->at;
        len = (size_t)h[4] | (size_t)h[5] << 8;
        if (h[6] == 0 && len == 0) { /* the rest of the block is unused */
            r->at = r->n;
            continue;
        }
        if (h[6] < WHOLE || h[6] > LAST || r->at + HEADER + len > r->n)
            return 0;
        crc = crc32(0, h + 6, (uInt)len + 1);
        if (crc != ((uLong)h[0] | (uLong)h[1] << 8 | (uLong)h[2] << 16 |
                    (uLong)h[3] << 24))
            return err_set(e, ERR_INPUT, "%s has a wrong checksum", r->path);
        if (h[6] == WHOLE || h[6] == FIRST)
            buf_trim(out, 0);
        else if (!inside)
            return err_set(e, ERR_INPUT, "%s has a record without a beginning",
                           r->path);
        buf_add(out, h + HEADER, len);
        r->at += HEADER + len;
        if (h[6] == WHOLE || h[6] == LAST)
            return 1;
        inside = true;
    }
}
