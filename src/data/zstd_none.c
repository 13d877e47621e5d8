/*
 * zstd_none - in the place of zstd.c when libzstd was not found
 */
#include "config.h"
#include "data/source.h"

static void *none_open(struct err *e)
{
    err_set(e, ERR_INPUT,
            "compressed by zstd, and this program was built "
            "without libzstd; pipe it through 'zstd -dc'");
    return NULL;
}

int zstd_block(const void *in, size_t n, void *out, size_t size, struct err *e)
{
    (void)in;
    (void)n;
    (void)out;
    (void)size;
    return err_set(e, ERR_INPUT,
                   "compressed by zstd, and this program was "
                   "built without libzstd");
}

const struct decoder_type zstd_decoder = {
    .name = "zstd",
    .magic = { 0x28, 0xb5, 0x2f, 0xfd },
    .magic_len = 4,
    .open = none_open,
};
