#include "config.h"
#include "data/corpus/fetch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"
#include "data/corpus/source.h"

enum { TAG_MAX = 4096 };

/* Where the bytes of a reply go. */
struct sink {
    const struct fetch *f;
    const struct http_reply *reply;
    FILE *fp;
    int fd; /* when there is no fp */
    int64_t at;
    bool failed, closed;
    int sys;
};

static bool take(void *arg, const void *data, size_t n)
{
    struct sink *s = arg;
    const char *at = data;
    const char *end = at + n;

    if (s->fp) {
        s->failed = fwrite(data, 1, n, s->fp) != n;
        s->sys = errno;
    }
    while (!s->fp && at < end && !s->failed) {
        const ssize_t put = write(s->fd, at, (size_t)(end - at));

        if (put > 0) {
            at += put;
        } else if (errno != EINTR) {
            s->closed = errno == EPIPE;
            s->failed = true;
            s->sys = errno;
        }
    }
    s->at += (int64_t)n;
    if (s->f->moved)
        s->f->moved(s->f->arg, s->at, s->reply->size);
    return !s->failed;
}

/* The token is for one place. */
static const char *token_for(const struct fetch *f, const char *url)
{
    char *host = http_host(url);
    const bool hub = host && strcmp(host, "huggingface.co") == 0;

    free(host);
    return hub ? f->token : NULL;
}

int fetch_pipe(const struct fetch *f, const struct catalog_link *link, int fd,
               bool *closed, struct err *e)
{
    struct http_reply reply = HTTP_REPLY_INIT;
    struct sink sink = { .f = f, .reply = &reply, .fd = fd };
    const struct http_call call = {
        .url = link->url,
        .bearer = token_for(f, link->url),
        .sink = take,
        .arg = &sink,
    };
    int ret = http_do(f->http, &call, &reply, e);

    http_reply_clear(&reply);
    *closed = sink.closed;
    if (ret == 0 && sink.failed && !sink.closed) {
        errno = sink.sys;
        ret = err_sys(e, "cannot pass on %s", link->url);
    }
    return ret;
}

/* The part that is there, and the tag of its version ("" for none). */
static int64_t old_part(const char *part, const char *tag_path, struct buf *tag)
{
    struct err e;
    struct stat st;

    if (stat(part, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return 0;
    if (buf_read_file(tag, tag_path, TAG_MAX, &e) < 0 || !tag->len)
        return 0;
    return st.st_size;
}

static int write_tag(const char *path, const char *tag, struct err *e)
{
    struct save s = SAVE_INIT;

    if (!tag) {
        unlink(path);
        return 0;
    }
    if (save_open(&s, path, e) < 0)
        return -1;
    fputs(tag, s.fp);
    return save_commit(&s, e);
}

/* The first reply tells the version: write it down before what follows. */
struct tagged {
    struct sink sink; /* first, as take() gets this */
    const char *tag_path;
    bool written;
    struct err e;
};

static bool take_tagged(void *arg, const void *data, size_t n)
{
    struct tagged *t = arg;

    if (!t->written && write_tag(t->tag_path, t->sink.reply->tag, &t->e) < 0)
        return false;
    t->written = true;
    return take(&t->sink, data, n);
}

/* One file into its part: 0, -1, or 1 if it changed and must begin anew. */
static int fetch_part(const struct fetch *f, const struct catalog_link *link,
                      const char *part, const char *tag_path, struct err *e)
{
    struct http_reply reply = HTTP_REPLY_INIT;
    struct tagged t = { .sink = { .f = f, .reply = &reply },
                        .tag_path = tag_path,
                        .e = ERR_INIT };
    struct http_call call = { .url = link->url,
                              .sink = take_tagged,
                              .arg = &t };
    struct buf tag = BUF_INIT;
    struct err why = ERR_INIT;
    int64_t size;
    int ret;

    call.bearer = token_for(f, link->url);
    call.from = t.sink.at = old_part(part, tag_path, &tag);
    call.tag = call.from ? tag.s : NULL;
    t.sink.fp = fopen(part, call.from ? "abe" : "wbe");
    if (!t.sink.fp) {
        buf_clear(&tag);
        return err_sys(e, "cannot write %s", part);
    }
    if (call.from)
        log_info("%s: going on after %lld bytes", link->file,
                 (long long)call.from);
    ret = http_do(f->http, &call, &reply, &why);
    if (fflush(t.sink.fp) != 0 || fsync(fileno(t.sink.fp)) < 0) {
        t.sink.failed = true;
        t.sink.sys = errno;
    }
    fclose(t.sink.fp);
    size = reply.size;
    if (t.sink.failed) {
        errno = t.sink.sys;
        ret = err_sys(e, "cannot write %s", part);
    } else if (t.e.kind != ERR_NONE) {
        *e = t.e;
        ret = -1;
    } else if (ret < 0 && reply.changed) {
        unlink(part);
        ret = 1;
    } else if (ret == 0 && size >= 0 && t.sink.at != size) {
        ret = err_set(e, ERR_REMOTE, "%s: %lld bytes came, %lld were promised",
                      link->url, (long long)t.sink.at, (long long)size);
    } else if (ret == 0 && (reply.status == 202 || reply.status == 204)) {
        ret = err_set(e, ERR_REMOTE, "%s: the server answers %ld: no file yet",
                      link->url, reply.status);
    } else if (ret < 0) {
        *e = why;
    }
    if (ret != 0 && t.sink.at == 0)
        unlink(part);
    http_reply_clear(&reply);
    buf_clear(&tag);
    return ret;
}

/* Its SHA-256 and size; gzip's own sums are compared on the way. */
static int look_at(const char *path, struct fetched *out, struct err *e)
{
    FILE *fp = fopen(path, "rbe");
    struct sha256 h;
    char *buf = xmalloc(1 << 18);
    size_t got;
    int ret = 0;

    sha256_init(&h);
    if (!fp)
        ret = err_sys(e, "cannot read %s", path);
    while (fp && (got = fread(buf, 1, 1 << 18, fp)) > 0) {
        sha256_add(&h, buf, got);
        out->size += (int64_t)got;
    }
    if (fp && ferror(fp))
        ret = err_sys(e, "cannot read %s", path);
    if (fp)
        fclose(fp);
    sha256_text(&h, out->sha256);
    free(buf);
    return ret;
}

/* Anything compressed is inflated once; its check sums are at its end. */
static int inflates(const char *path, struct err *e)
{
    struct source *s;
    char *buf = xmalloc(1 << 18);
    ssize_t got;

    if (source_open(&s, path, -1, e) < 0) {
        free(buf);
        return -1;
    }
    do {
        got = source_read(s, buf, 1 << 18, e);
    } while (got > 0 && *source_coding(s));
    source_close(s);
    free(buf);
    return got < 0 ? -1 : 0;
}

static int check_sum(const struct catalog_link *link, const struct fetched *f,
                     const char *path, struct err *e)
{
    if (!link->sha256 || strcmp(link->sha256, f->sha256) == 0)
        return 0;
    return err_set(e, ERR_INPUT,
                   "%s: its SHA-256 is %.16s..., not %.16s... as it should be",
                   path, f->sha256, link->sha256);
}

static int finish(const struct catalog_link *link, const char *part,
                  const char *path, struct fetched *out, struct err *e)
{
    if (look_at(part, out, e) < 0)
        return -1;
    if (check_sum(link, out, link->url, e) < 0 || inflates(part, e) < 0) {
        unlink(part); /* fetching the rest would not mend it */
        return e->kind == ERR_INPUT ? err_wrap(e, "%s was damaged", link->file)
                                    : -1;
    }
    if (rename(part, path) < 0)
        return err_sys(e, "cannot rename %s", part);
    return 0;
}

int fetch_file(const struct fetch *f, const struct catalog_link *link,
               const char *path, struct fetched *out, struct err *e)
{
    char *part, *tag;
    int ret;

    *out = (struct fetched){ .was_there = path_exists(path) };
    if (out->was_there) {
        if (look_at(path, out, e) < 0)
            return -1;
        return check_sum(link, out, path, e);
    }
    part = xasprintf("%s.part", path);
    tag = xasprintf("%s.part.tag", path);
    ret = fetch_part(f, link, part, tag, e);
    if (ret > 0) {
        log_warn("%s: another version since; beginning anew", link->file);
        ret = fetch_part(f, link, part, tag, e);
        if (ret > 0)
            ret = err_set(e, ERR_REMOTE, "%s: changes all the time", link->url);
    }
    if (ret == 0)
        ret = finish(link, part, path, out, e);
    if (ret == 0 || !path_exists(part))
        unlink(tag);
    free(part);
    free(tag);
    return ret;
}
