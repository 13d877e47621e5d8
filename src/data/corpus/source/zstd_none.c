/*
 * zstd_none - replaces zstd.c if configure did not find libzstd
 */
#include "config.h"
#include "data/corpus/source/source.h"

static void *none_open(struct err *e)
{
    err_input(e, "this is Zstandard data, but gdata was built without libzstd; "
                 "pipe it through 'zstd -dc'");
    return NULL;
}

int zstd_block(const void *in UNUSED, size_t n UNUSED, void *out UNUSED,
               size_t size UNUSED, struct err *e)
{
    return err_input(e, "this is Zstandard data, but gdata was built without "
                        "libzstd");
}

const struct inflater zstd_inflater = {
    .name = "zstd",
    .open = none_open,
};
