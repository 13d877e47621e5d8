/*
 * manual_text - manuals and plain text
 */
#include "config.h"
#include "data/corpus/manual_text.h"

#include <string.h>

#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static manual_text_fn *const all[] = { manual_text_plain, manual_roff };
    char *copy = malloc(n ? n : 1);

    memcpy(copy, data, n);
    manual_text_is_valid(copy, n);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct buf out = BUF_INIT;

        all[i](&out, copy, n);
        FUZZ_CHECK(out.len <= 8 * n + 64);
        buf_clear(&out);
    }
    free(copy);
    return 0;
}
