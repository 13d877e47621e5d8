/*
 * parquet - the text of a Parquet file, and its rows as JSON
 */
#include "config.h"
#include "data/corpus/parquet.h"

#include "common/log.h"
#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct corpus_block b = { .seq = 0 };
    struct err e = ERR_INIT;
    struct parquet_fields *fields = NULL;
    struct parquet *p;
    char path[32];
    const int fd = fuzz_file(data, n, path);
    int64_t row = 0;

    log_setup("fuzz", LOG_ERROR);
    if (parquet_open(&p, path, "text", &e) == 0) {
        if (parquet_fields_open(&fields, path, "text", &e) < 0)
            fields = NULL;
        while (row < 1 << 16 && parquet_next(p, row, &b, &e) > 0) {
            for (size_t i = 0; i < b.n; i++)
                FUZZ_CHECK(b.doc[i].text >= b.data &&
                           b.doc[i].text + b.doc[i].len <= b.data + b.size);
            if (fields && parquet_fields_add(fields, &b, &e) < 0)
                break;
            for (size_t i = 0; fields && i < b.n; i++)
                FUZZ_CHECK(b.doc[i].whole[0] == '{' &&
                           b.doc[i].whole[b.doc[i].whole_len - 1] == '}');
            row += (int64_t)b.n;
            b.n = 0;
        }
        parquet_fields_close(fields);
        parquet_close(p);
    }
    free(b.doc);
    free(b.data);
    free(b.lines);
    close(fd);
    return 0;
}
