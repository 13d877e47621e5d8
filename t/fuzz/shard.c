/*
 * shard - files of tokens: llm.c's, NumPy's, raw
 */
#include "config.h"
#include "data/shards/shard.h"

#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct err e = { 0 };
    struct shard s;
    char path[32];
    const int fd = fuzz_file(data, n, path);

    for (int width = 0; width <= 4; width += 2) {
        int32_t *ids;
        uint32_t most;

        if (shard_open(&s, path, width, &e) < 0)
            continue;
        FUZZ_CHECK(s.n >= 0 && (uint64_t)s.n * (uint64_t)s.width <= n);
        ids = malloc((size_t)s.n * sizeof *ids + 1);
        FUZZ_CHECK(shard_copy(&s, 0, s.n, ids, &most, &e) == 0);
        free(ids);
        shard_close(&s);
    }
    close(fd);
    return 0;
}
