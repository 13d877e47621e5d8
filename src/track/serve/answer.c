#include "config.h"
#include "track/serve/answer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

#include "common/clock.h"
#include "common/hash.h"
#include "common/mem.h"
#include "common/output/emit.h"
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
    AUTO(buf_clear) struct buf out = BUF_INIT;
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

/* ---- answers that are kept ----------------------------------------------- */

bool cache_get(const struct cache *c, const char *url, int64_t version,
               double seconds, struct buf *out)
{
    for (size_t i = 0; i < CACHE_ANSWERS; i++) {
        const struct cached *x = &c->item[i];

        if (x->url && x->version == version && strcmp(x->url, url) == 0 &&
            clock_mono() - x->at <= seconds) {
            buf_add(out, x->body.s, x->body.len);
            return true;
        }
    }
    return false;
}

uint64_t cache_mark(const struct buf *body)
{
    return hash128(body->s, body->len, 0).hi | 1;
}

const struct buf *cache_find(const struct cache *c, const char *url,
                             const char *mark)
{
    const uint64_t wanted = strtoull(mark, NULL, 16);

    for (size_t i = 0; i < CACHE_ANSWERS; i++)
        if (c->item[i].url && strcmp(c->item[i].url, url) == 0 &&
            cache_mark(&c->item[i].body) == wanted)
            return &c->item[i].body;
    return NULL;
}

static void drop(struct cache *c, size_t i)
{
    struct cached *x = &c->item[i];

    if (!x->url)
        return;
    c->bytes -= x->body.len;
    free(x->url);
    buf_clear(&x->body);
    *x = (struct cached){ 0 };
}

void cache_put(struct cache *c, const char *url, int64_t version,
               const struct buf *body)
{
    struct cached *x;

    if (body->len > CACHE_BYTES / 4)
        return;
    drop(c, c->next);
    for (size_t i = 0; i < CACHE_ANSWERS && c->bytes + body->len > CACHE_BYTES;
         i++)
        drop(c, (c->next + i) % CACHE_ANSWERS);
    x = &c->item[c->next];
    *x = (struct cached){ xstrdup(url), version, clock_mono(), BUF_INIT };
    buf_add(&x->body, body->s, body->len);
    c->bytes += body->len;
    c->next = (c->next + 1) % CACHE_ANSWERS;
}

void cache_clear(struct cache *c)
{
    for (size_t i = 0; i < CACHE_ANSWERS; i++)
        drop(c, i);
}

struct piece {
    const char *s;
    size_t len;
};

static struct piece *cut(const struct buf *b, size_t *n)
{
    struct piece *piece = NULL;
    size_t room = 0;

    *n = 0;
    for (size_t at = 0; at < b->len; at += piece[(*n)++].len) {
        GROW(piece, *n, room);
        piece[*n].s = b->s + at;
        piece[*n].len = 1 + strcspn(b->s + at + 1, "{[");
    }
    return piece;
}

static bool is_equal(const struct piece *a, const struct piece *b)
{
    return a->len == b->len && memcmp(a->s, b->s, a->len) == 0;
}

/* Where in a table a piece is, or where it belongs: 1 + its index, or 0. */
static size_t *place_of(size_t *table, size_t mask, const struct piece *old,
                        const struct piece *p)
{
    size_t i = hash128(p->s, p->len, 0).lo & mask;

    while (table[i] && !is_equal(&old[table[i] - 1], p))
        i = (i + 1) & mask;
    return &table[i];
}

/* Write pieces of the old text or, if they are none, new text. */
static void write_part(struct emit *o, size_t from, size_t n, const char *text,
                       const char *end)
{
    if (n) {
        emit_array(o, NULL);
        emit_int(o, NULL, (int64_t)from);
        emit_int(o, NULL, (int64_t)n);
        emit_array_end(o);
    } else if (text < end) {
        emit_printf(o, NULL, "%.*s", (int)(end - text), text);
    }
}

void cache_delta(struct buf *answer, const struct buf *old)
{
    size_t n_old, n_now, mask = 1, from = 0, n = 0, next = 0;
    struct piece *a = cut(old, &n_old), *b = cut(answer, &n_now);
    const char *text = answer->s; /* what was not written yet */
    struct buf out = BUF_INIT;
    struct emit o = { .b = &out };
    size_t *table;

    while (mask < 2 * n_old)
        mask = 2 * mask + 1;
    table = xcalloc(mask + 1, sizeof *table);
    for (size_t i = 0; i < n_old; i++)
        *place_of(table, mask, a, &a[i]) = i + 1;
    emit_object(&o, NULL);
    emit_array(&o, "delta");
    for (size_t i = 0; i < n_now; i++) {
        const size_t at = next < n_old && is_equal(&a[next], &b[i])
                              ? next + 1
                              : *place_of(table, mask, a, &b[i]);

        if (n ? at != from + n + 1 : at > 0) {
            write_part(&o, from, n, text, b[i].s);
            text = b[i].s;
            from = at - 1;
            n = 0;
        }
        n += at > 0;
        next = at ? at : next + 1;
    }
    write_part(&o, from, n, text, answer->s + answer->len);
    emit_array_end(&o);
    emit_object_end(&o);
    buf_clear(answer);
    *answer = out;
    FREE(table, a, b);
}
