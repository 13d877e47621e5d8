/*
 * import - files of other trackers; the first byte says whose it is
 *
 * with: src/track/runs/file_tree.c
 * with: src/track/import
 */
#include "config.h"
#include "track/import/import.h"

#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static import_fn *const readers[256] = {
        ['c'] = import_csv,         ['j'] = import_jsonl,
        ['l'] = import_llmc,        ['n'] = import_nanogpt,
        ['t'] = import_tensorboard, ['w'] = import_wandb,
    };
    struct err e = { 0 };
    struct import import = { 0 };
    char path[32];
    int fd;

    if (n == 0 || !readers[data[0]])
        return 0;
    fd = fuzz_file(data + 1, n - 1, path);
    import.path = path;
    if (readers[data[0]](&import, &e) == 0)
        FUZZ_CHECK(import.runs > 0 && e.kind == ERR_NONE);
    else
        FUZZ_CHECK(e.kind == ERR_INPUT && e.text[0]);
    close(fd);
    return 0;
}
