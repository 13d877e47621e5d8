#include "config.h"
#include "data/corpus/magic.h"

#include <string.h>
#include <strings.h>

/* clang-format off */
static const struct magic {
    const char *name;
    size_t at, len;
    const char *bytes;
} magics[] = {
    { "a bzip2 file", 4, 6, "\x31\x41\x59\x26\x53\x59" },
    { "an xz file", 0, 6, "\xfd" "7zXZ\0" },
    { "an lz4 file", 0, 4, "\x04\x22\x4d\x18" },
    { "a zip archive", 0, 4, "PK\x03\x04" },
    { "a 7z archive", 0, 6, "7z\xbc\xaf\x27\x1c" },
    { "a tar archive", 257, 5, "ustar" },
    { "a PDF document", 0, 5, "%PDF-" },
    { "a program", 0, 4, "\x7f" "ELF" },
    { "a Parquet file", 0, 5, "PAR1\x15" },
    { "an Arrow file", 0, 8, "ARROW1\0\0" },
};
/* clang-format on */

const char *magic_name(const char *data, size_t n)
{
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        const struct magic *m = &magics[i];

        if (n >= m->at + m->len && memcmp(data + m->at, m->bytes, m->len) == 0)
            return m->name;
    }
    return NULL;
}

bool magic_is_html(const char *data, size_t n)
{
    static const char *const starts[] = { "<!doctype html", "<html" };
    size_t blank = 0;

    while (blank < n && strchr(" \t\r\n", data[blank]) && data[blank])
        blank++;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        const size_t len = strlen(starts[i]);

        if (n - blank >= len && strncasecmp(data + blank, starts[i], len) == 0)
            return true;
    }
    return false;
}
