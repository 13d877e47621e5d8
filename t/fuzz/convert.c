/*
 * convert - what describes a model of another program: llm.c's checkpoint, or
 * Hugging Face's config.json; the first byte says which
 *
 * with: src/trainer/convert/convert.c
 * with: src/trainer/convert/convert_hf.c
 * with: src/trainer/convert/convert_hf_config.c
 * with: src/trainer/convert/convert_llmc.c
 * with: src/trainer/model/tensors.c
 * with: src/trainer/settings/settings.c
 */
#include "config.h"
#include "trainer/convert/convert.h"

#include <sys/stat.h>

#include "t/fuzz/fuzz.h"

const char convert_own_model[] = ""; /* nothing is written */

/* A folder with config.json, in the folder that targets run in. */
static const char *write_config(const uint8_t *data, size_t n)
{
    static int fd = -1;

    if (fd < 0)
        mkdir("convert.in", 0777);
    fuzz_rewrite(&fd, "convert.in/config.json", data, n);
    return "convert.in";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct err e = { 0 };
    struct buf out = BUF_INIT;
    char path[32];
    int fd, ret;

    if (n == 0)
        return 0;
    if (data[0] == 'l') {
        fd = fuzz_file(data + 1, n - 1, path);
        ret = convert_settings_llmc(path, &out, &e);
        close(fd);
    } else {
        ret = convert_settings_hf(write_config(data + 1, n - 1), &out, &e);
    }
    FUZZ_CHECK(ret == 0 ? out.len > 0 : e.kind != ERR_NONE && e.text[0]);
    buf_clear(&out);
    return 0;
}
