/*
 * parquet - the text of a Parquet file, and its rows as JSON
 */
#include "config.h"
#include "data/corpus/corpus_parquet.h"

#include "common/log.h"
#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct corpus_block b = { .seq = 0 };
    struct err e = { 0 };
    struct corpus_parquet *p;
    char path[32];
    const int fd = fuzz_file(data, n, path);
    int64_t row = 0;

    log_setup("fuzz", LOG_ERROR);
    for (int lines = 0; lines < 2; lines++, row = 0) {
        if (corpus_parquet_open(&p, path, NULL, "text", lines, NULL, &e) < 0)
            continue;
        while (row < 1 << 16 && corpus_parquet_next(p, row, &b, &e) > 0) {
            for (size_t i = 0; i < b.n; i++) {
                const struct corpus_doc *d = &b.doc[i];

                FUZZ_CHECK(d->text >= b.data &&
                           d->text + d->len <= b.data + b.size);
                FUZZ_CHECK(!lines || (d->whole[0] == '{' &&
                                      d->whole[d->whole_len - 1] == '}'));
            }
            row += (int64_t)b.n;
            b.n = 0;
        }
        b.n = 0;
        corpus_parquet_close(p);
    }
    free(b.doc);
    free(b.data);
    free(b.lines);
    close(fd);
    return 0;
}
