/*
 * fasttext - a model of fastText, and a text to which it gives a label
 */
#include "config.h"
#include "data/corpus/fasttext.h"

#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct err e = { 0 };
    char path[32];
    const int fd = fuzz_file(data, n, path);
    struct fasttext *f = fasttext_load(path, &e);
    const char *text = (const char *)data;
    float probability;

    n = n < 4096 ? n : 4096;
    if (f) {
        const char *label = fasttext_predict(f, text, n, &probability);

        FUZZ_CHECK(label || probability == 0);
        fasttext_free(f);
    }
    close(fd);
    return 0;
}
