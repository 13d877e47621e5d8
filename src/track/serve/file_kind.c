#include "config.h"
#include "track/serve/file_kind.h"

#include <string.h>
#include <strings.h>

#include "common/path.h"

#define PLAIN "text/plain; charset=utf-8"

/* clang-format off */
static const struct {
    const char *ending[19]; /* ended by NULL */
    struct file_kind kind;
} kinds[] = {
    { { "txt", "log", "md", "ini", "toml", "yaml", "yml", "sh", "py", "c", "h",
        "diff", "patch", "html", "js", "xml", "tsv", "jsonl" },
                        { "text",  PLAIN,           false } },
    { { "json" },       { "json",  PLAIN,           false } },
    { { "csv" },        { "csv",   PLAIN,           false } },
    { { "png" },        { "image", "image/png",     false } },
    { { "jpg", "jpeg" },{ "image", "image/jpeg",    false } },
    { { "gif" },        { "image", "image/gif",     false } },
    { { "webp" },       { "image", "image/webp",    false } },
    { { "svg" },        { "image", "image/svg+xml", true  } },
    { { "wav" },        { "audio", "audio/wav",     false } },
    { { "mp3" },        { "audio", "audio/mpeg",    false } },
    { { "ogg" },        { "audio", "audio/ogg",     false } },
    { { "flac" },       { "audio", "audio/flac",    false } },
    { { "mp4" },        { "video", "video/mp4",     false } },
    { { "webm" },       { "video", "video/webm",    false } },
};
/* clang-format on */

static const struct file_kind other = { "binary", "application/octet-stream",
                                        false };

const struct file_kind *file_kind_of(const char *path)
{
    const char *dot = strrchr(path_name(path), '.');

    for (size_t i = 0; dot && i < sizeof kinds / sizeof kinds[0]; i++)
        for (const char *const *end = kinds[i].ending; *end; end++)
            if (strcasecmp(dot + 1, *end) == 0)
                return &kinds[i].kind;
    return &other;
}
