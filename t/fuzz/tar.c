/*
 * tar - fuzz the reader of tar archives
 *
 * with: src/track/proof/bundle.c
 */
#include "config.h"
#include "track/proof/bundle.h"

#include <string.h>

#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    FILE *fp = fmemopen((void *)(uintptr_t)data, n, "r");
    struct err e = { 0 };
    struct tar_head head;

    while (fp && tar_read_head(fp, &head, &e) > 0) {
        FUZZ_CHECK(head.size >= 0);
        FUZZ_CHECK(strlen(head.name) < sizeof head.name);
        for (int64_t i = 0; i < head.size && fgetc(fp) != EOF; i++)
            ;
        if (tar_read_pad(fp, head.size, &e) < 0)
            break;
    }
    if (fp)
        fclose(fp);
    return 0;
}
