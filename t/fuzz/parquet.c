/*
 * parquet - one column of a Parquet file
 */
#include "config.h"
#include "data/corpus/parquet.h"

#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct corpus_block b = { .seq = 0 };
    struct err e = ERR_INIT;
    struct parquet *p;
    char path[32];
    const int fd = fuzz_file(data, n, path);
    int64_t row = 0;

    if (parquet_open(&p, path, "text", &e) == 0) {
        while (row < 1 << 16 && parquet_next(p, row, &b, &e) > 0) {
            for (size_t i = 0; i < b.n; i++)
                FUZZ_CHECK(b.doc[i].text >= b.data &&
                           b.doc[i].text + b.doc[i].len <= b.data + b.size);
            row += (int64_t)b.n;
            b.n = 0;
        }
        parquet_close(p);
    }
    free(b.doc);
    free(b.data);
    close(fd);
    return 0;
}
