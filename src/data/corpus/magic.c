#include "config.h"
#include "data/corpus/magic.h"

#include <string.h>
#include <strings.h>

/* clang-format off */
static const struct magic {
    const char *name, *help;
    size_t at, len;
    const char *bytes;
} magics[] = {
#define USE(command) "; '" command "' converts it"
    { "UTF-32 text", USE("iconv -f utf-32 -t utf-8"), 0, 4, "\xff\xfe\0\0" },
    { "UTF-16 text", USE("iconv -f utf-16 -t utf-8"), 0, 2, "\xff\xfe" },
    { "UTF-16 text", USE("iconv -f utf-16 -t utf-8"), 0, 2, "\xfe\xff" },
    { "a bzip2 file", USE("bzcat"), 4, 6, "\x31\x41\x59\x26\x53\x59" },
    { "an xz file", USE("xzcat"), 0, 6, "\xfd" "7zXZ\0" },
    { "an lzma file", USE("xzcat"), 0, 3, "\x5d\0\0" },
    { "a compress file", USE("zcat"), 0, 2, "\x1f\x9d" },
    { "an lz4 file", USE("lz4 -dc"), 0, 4, "\x04\x22\x4d\x18" },
    { "a zip archive", USE("unzip -p"), 0, 4, "PK\x03\x04" },
    { "a 7z archive", USE("7z x -so"), 0, 6, "7z\xbc\xaf\x27\x1c" },
    { "a tar archive", "; unpack it", 257, 5, "ustar" },
    { "a PDF document", USE("pdftotext"), 0, 5, "%PDF-" },
    { "a program", "", 0, 4, "\x7f" "ELF" },
    { "a PNG image", "", 0, 8, "\x89PNG\r\n\x1a\n" },
    { "a JPEG image", "", 0, 3, "\xff\xd8\xff" },
    { "a GIF image", "", 0, 5, "GIF87" },
    { "a GIF image", "", 0, 5, "GIF89" },
    { "an SQLite database", USE("sqlite3 -json"), 0, 16, "SQLite format 3\0" },
    { "a pickle file", "", 0, 2, "\x80\x02" },
    { "a pickle file", "", 0, 2, "\x80\x03" },
    { "a pickle file", "", 0, 2, "\x80\x04" },
    { "a pickle file", "", 0, 2, "\x80\x05" },
    { "a NumPy file", USE("gdata decode"), 0, 6, "\x93NUMPY" },
    { "a shard", USE("gdata decode"), 0, 4, "\x88\xd8\x34\x01" },
    { "a shard", USE("gdata decode"), 0, 4, "\xa1\xd9\x34\x01" },
    { "a Parquet file", "; --input parquet reads it", 0, 5, "PAR1\x15" },
    { "an Arrow file", "", 0, 8, "ARROW1\0\0" },
#undef USE
};
/* clang-format on */

const char *magic_name(const char *data, size_t n, const char **help)
{
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        const struct magic *m = &magics[i];

        if (n < m->at + m->len || memcmp(data + m->at, m->bytes, m->len) != 0)
            continue;
        *help = m->help;
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
