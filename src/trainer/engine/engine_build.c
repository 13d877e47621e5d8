/*
 * engine_build - the program and the libraries that compute
 */
#include "config.h"
#include "trainer/engine/engine.h"

#include <stdio.h>
#include <string.h>

#include "common/machine/usage.h"
#include "common/sha256.h"

char *engine_build(char *out, size_t room)
{
    char sum[SHA256_TEXT];
    int64_t size;

    if (sha256_file("/proc/self/exe", sum, &size, ERR_IGNORED) < 0)
        sum[0] = '\0';
    snprintf(out, room, "%s %.16s", PACKAGE_VERSION, sum);
    return out;
}

char *engine_libraries(char *out, size_t room)
{
    static const char *const begins[] = { "glibc-", "libm", "libgomp", "libcu",
                                          "libnccl" };
    struct buf all = BUF_INIT;
    char *rest, *word;
    size_t n = 0;

    *out = '\0';
    usage_libraries(&all);
    rest = all.s;
    while ((word = strsep(&rest, " ")))
        for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
            if (strncmp(word, begins[i], strlen(begins[i])) == 0 && n < room)
                n += (size_t)snprintf(out + n, room - n, "%s%s", n ? " " : "",
                                      word);
    buf_clear(&all);
    return out;
}
