/*
 * near - an index of documents, for a text that it is of
 */
#include "config.h"
#include "data/corpus/near.h"

#include <string.h>

#include "common/hash.h"
#include "t/fuzz/fuzz.h"

enum { RECORD = 120, DOCS = 4 };

static const char text[] = "{\"text\":\"one two three four five six\"}\n"
                           "{\"text\":\"one two three four five six seven\"}\n"
                           "{\"text\":\"...\"}\n"
                           "{\"text\":\"...\"}\n";

static void find(char *file, const char *index)
{
    const struct corpus_conf conf = { .path = &file,
                                      .n = 1,
                                      .format = CORPUS_JSONL };
    const struct near_how how = {
        .similarity = 0.5,
        .memory = 16 << 20,
        .threads = 1,
        .index = { &index, 1, 1 },
    };
    struct err e = { 0 };
    struct near *n = near_find(&conf, &how, &e);

    FUZZ_CHECK(!n == (e.kind != ERR_NONE));
    FUZZ_CHECK(!n || (near_documents(n) == DOCS && !near_drops(n, 0)));
    near_free(n);
}

/* The bytes as they are, and with the hash that they should end with. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static char file[32];
    static int text_fd = -1;
    char path[32];
    int fd;
    uint64_t sum = 0;

    if (text_fd < 0)
        text_fd = fuzz_file((const uint8_t *)text, sizeof text - 1, file);
    fd = fuzz_file(data, n, path);
    find(file, path);
    n -= n % RECORD;
    for (size_t i = 0; i < n; i += RECORD)
        sum = hash128(data + i, RECORD, sum).hi;
    FUZZ_CHECK(pwrite(fd, &sum, sizeof sum, (off_t)n) == sizeof sum &&
               ftruncate(fd, (off_t)(n + sizeof sum)) == 0);
    find(file, path);
    close(fd);
    return 0;
}
