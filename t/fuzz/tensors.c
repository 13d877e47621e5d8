/*
 * tensors - a safetensors file, every number of which is read
 *
 * with: src/trainer/model/tensors.c
 */
#include "config.h"
#include "trainer/model/tensors.h"

#include "common/mem.h"
#include "t/fuzz/fuzz.h"

static void read_all(const struct tensors *t)
{
    for (int i = 0; i < tensors_count(t); i++) {
        const struct tensors_array *const a = tensors_at(t, i);
        const int64_t n = tensors_array_count(a);
        struct err e = { 0 };
        float *x;

        FUZZ_CHECK(tensors_find(t, a->name) && n >= 0);
        if (n > 1 << 16)
            continue;
        x = xcalloc((size_t)n, sizeof *x);
        if (tensors_array_floats(a, x, &e) == 0)
            tensors_all_finite(x, n);
        else
            FUZZ_CHECK(e.kind != ERR_NONE && e.text[0]);
        free(x);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct err e = { 0 };
    struct tensors *t;
    char path[32];
    const int fd = fuzz_file(data, n, path);

    if (tensors_open(&t, path, &e) == 0) {
        read_all(t);
        tensors_close(t);
    } else {
        FUZZ_CHECK(e.kind != ERR_NONE && e.text[0]);
    }
    close(fd);
    return 0;
}
