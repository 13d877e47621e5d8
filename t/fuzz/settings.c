/*
 * settings - a file of settings, of gtrain or of a sweep
 *
 * with: src/trainer/settings/settings.c
 */
#include "config.h"
#include "trainer/settings/settings.h"

#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct err e = { 0 };
    struct settings s;
    struct buf text = BUF_INIT;
    char path[32];
    const int fd = fuzz_file(data, n, path);

    if (settings_load(&s, path, NULL, 0, &e) == 0) {
        conf_dump(&s.conf, &text);
        FUZZ_CHECK(text.len > 0);
    } else {
        FUZZ_CHECK(e.kind != ERR_NONE && e.text[0]);
    }
    settings_clear(&s);
    buf_clear(&text);
    close(fd);
    return 0;
}
