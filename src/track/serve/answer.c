#include "config.h"
#include "track/serve/answer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

#include "common/path.h"

static int status_of(enum err_kind kind)
{
    switch (kind) {
    case ERR_USAGE:
        return 400;
    case ERR_MISSING:
        return 404;
    default:
        return 500;
    }
}

void answer_error(struct answer *a, const struct err *e)
{
    const int status = a->status ? a->status : status_of(e->kind);

    answer_clear(a);
    a->status = status;
    a->out.b = &a->body;
    emit_object(&a->out, NULL);
    emit_text(&a->out, "error", e->text);
    emit_object_end(&a->out);
}

void answer_clear(struct answer *a)
{
    buf_clear(&a->body);
    free(a->file);
    if (a->fd >= 0)
        close(a->fd);
    *a = ANSWER_INIT;
}

bool answer_gzip_is_wanted(const char *accepted)
{
    const char *at = accepted ? strstr(accepted, "gzip") : NULL;

    if (!at || (at > accepted && !strchr(" ,\t", at[-1])))
        return false;
    at += strlen("gzip");
    at += strspn(at, " \t;q=");
    /* "gzip;q=0" refuses it */
    return *at == ',' || *at == '\0' || strspn(at, "0.") < strcspn(at, ", \t");
}

bool answer_gzip(struct buf *b)
{
    enum { LEAST = 1400, LEVEL = 3, GZIP = 15 + 16, MEMORY = 8 };
    struct buf out = BUF_INIT;
    z_stream z = { 0 };
    bool good;

    if (b->len < LEAST || b->len > UINT32_MAX ||
        deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP, MEMORY, Z_DEFAULT_STRATEGY) !=
            Z_OK)
        return false;
    z.next_in = (unsigned char *)b->s;
    z.avail_in = (unsigned)b->len;
    z.avail_out = (unsigned)b->len;
    buf_room(&out, b->len);
    z.next_out = (unsigned char *)out.s;
    good = deflate(&z, Z_FINISH) == Z_STREAM_END;
    out.len = z.total_out;
    deflateEnd(&z);
    if (good) {
        const struct buf whole = *b;

        *b = out;
        out = whole;
    }
    buf_clear(&out);
    return good;
}

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
