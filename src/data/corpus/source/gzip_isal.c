/*
 * gzip_isal - inflate gzip data by ISA-L
 */
#include "config.h"
#include "data/corpus/source/gzip.h"

#include <stdlib.h>
#include <isa-l/igzip_lib.h>

#include "common/mem.h"

struct gzip_state {
    struct inflate_state z;
};

struct gzip_state *gzip_state_new(void)
{
    struct gzip_state *s = xcalloc(1, sizeof *s);

    isal_inflate_init(&s->z);
    s->z.crc_flag = ISAL_GZIP;
    return s;
}

bool gzip_state_inflate(struct gzip_state *s, const uint8_t **at, size_t *left,
                        uint8_t **to, const uint8_t *end, const char **damage)
{
    int ret;

    if (s->z.block_state == ISAL_BLOCK_FINISH) {
        isal_inflate_reset(&s->z);
        s->z.crc_flag = ISAL_GZIP;
    }
    s->z.next_in = (uint8_t *)(uintptr_t)*at;
    s->z.avail_in = (uint32_t)*left;
    s->z.next_out = *to;
    s->z.avail_out = (uint32_t)(end - *to);
    ret = isal_inflate(&s->z);
    *at = s->z.next_in;
    *left = s->z.avail_in;
    *to = s->z.next_out;
    if (ret != ISAL_DECOMP_OK && ret != ISAL_END_INPUT &&
        ret != ISAL_OUT_OVERFLOW)
        *damage = ret == ISAL_INCORRECT_CHECKSUM ? "incorrect checksum"
                                                 : "invalid data";
    return s->z.block_state == ISAL_BLOCK_FINISH;
}

void gzip_state_free(struct gzip_state *s)
{
    free(s);
}
