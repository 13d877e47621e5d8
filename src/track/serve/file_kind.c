#include "config.h"
#include "track/serve/file_kind.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "common/path.h"

#define PLAIN "text/plain; charset=utf-8"

/* clang-format off */
static const struct {
    const char *ending;
    struct file_kind kind;
} kinds[] = {
    { "txt",   { "text",  PLAIN,           false } },
    { "log",   { "text",  PLAIN,           false } },
    { "md",    { "text",  PLAIN,           false } },
    { "ini",   { "text",  PLAIN,           false } },
    { "toml",  { "text",  PLAIN,           false } },
    { "yaml",  { "text",  PLAIN,           false } },
    { "yml",   { "text",  PLAIN,           false } },
    { "sh",    { "text",  PLAIN,           false } },
    { "py",    { "text",  PLAIN,           false } },
    { "c",     { "text",  PLAIN,           false } },
    { "h",     { "text",  PLAIN,           false } },
    { "diff",  { "text",  PLAIN,           false } },
    { "patch", { "text",  PLAIN,           false } },
    { "html",  { "text",  PLAIN,           false } },
    { "js",    { "text",  PLAIN,           false } },
    { "xml",   { "text",  PLAIN,           false } },
    { "tsv",   { "text",  PLAIN,           false } },
    { "jsonl", { "text",  PLAIN,           false } },
    { "json",  { "json",  PLAIN,           false } },
    { "csv",   { "csv",   PLAIN,           false } },
    { "png",   { "image", "image/png",     false } },
    { "jpg",   { "image", "image/jpeg",    false } },
    { "jpeg",  { "image", "image/jpeg",    false } },
    { "gif",   { "image", "image/gif",     false } },
    { "webp",  { "image", "image/webp",    false } },
    { "svg",   { "image", "image/svg+xml", true  } },
    { "wav",   { "audio", "audio/wav",     false } },
    { "mp3",   { "audio", "audio/mpeg",    false } },
    { "ogg",   { "audio", "audio/ogg",     false } },
    { "flac",  { "audio", "audio/flac",    false } },
    { "mp4",   { "video", "video/mp4",     false } },
    { "webm",  { "video", "video/webm",    false } },
};
/* clang-format on */

static const struct file_kind other = { "binary", "application/octet-stream",
                                        false };

const struct file_kind *file_kind_of(const char *path)
{
    const char *dot = strrchr(path_name(path), '.');

    for (size_t i = 0; dot && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcasecmp(dot + 1, kinds[i].ending) == 0)
            return &kinds[i].kind;
    return &other;
}
