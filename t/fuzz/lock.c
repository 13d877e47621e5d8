/*
 * lock - fuzz the reader of data.lock
 */
#include "config.h"
#include "data/shards/lock.h"

#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct err e = { 0 };
    struct lock l;
    char path[32];
    const int fd = fuzz_file(data, n, path);

    if (lock_load(&l, path, &e) == 0) {
        for (size_t i = 0; i < l.n; i++) {
            char *file = lock_path(&l, &l.entry[i]);

            FUZZ_CHECK(*file);
            free(file);
        }
        lock_clear(&l);
    }
    close(fd);
    return 0;
}
