#include "config.h"
#include "data/corpus/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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
#include "data/corpus/corpus_files.h"
#include "data/corpus/magic.h"
#include "data/corpus/source/source.h"

enum { TAG_MAX = 4096 };

/* The size of the part that is on disk, or 0; `tag` gets the tag of the version
 * that it belongs to. */
static int64_t part_size(const char *part, const char *tag_path,
                         struct buf *tag)
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
    struct save s = { 0 };

    if (!tag) {
        unlink(path);
        return 0;
    }
    if (save_open(&s, path, e) < 0)
        return -1;
    fputs(tag, s.fp);
    return save_commit(&s, e);
}

/* A sink that stores the tag of the version before the first bytes. */
struct tagged_sink {
    struct download_sink to;
    const char *tag_path;
    bool written;
    struct err e;
};

static bool write_tagged(void *arg, const void *data, size_t n)
{
    struct tagged_sink *t = arg;

    if (!t->written && write_tag(t->tag_path, t->to.reply->tag, &t->e) < 0)
        return false;
    t->written = true;
    return download_write(&t->to, data, n);
}

/* Download the part that is missing: 0, -1, or 1 if the file on the server has
 * changed and must be downloaded from its beginning. */
static int fetch_part(const struct download *d, const struct catalog_link *link,
                      const char *part, const char *tag_path, struct err *e)
{
    struct http_reply reply = HTTP_REPLY_INIT;
    struct tagged_sink t = { .to = { .from = d, .reply = &reply },
                             .tag_path = tag_path };
    struct http_call call = { .url = link->url,
                              .sink = write_tagged,
                              .arg = &t };
    struct buf tag = BUF_INIT;
    struct err why = { 0 };
    int ret;

    call.from = t.to.at = part_size(part, tag_path, &tag);
    call.tag = call.from ? tag.s : NULL;
    t.to.fd = open(
        part, O_WRONLY | O_CREAT | O_CLOEXEC | (call.from ? O_APPEND : O_TRUNC),
        0666);
    if (t.to.fd < 0) {
        buf_clear(&tag);
        return err_sys(e, "cannot write %s", part);
    }
    if (call.from)
        log_info("%s: resuming after %lld bytes", link->file,
                 (long long)call.from);
    ret = download_call(d, &call, &reply, &why);
    if (fsync(t.to.fd) < 0 && !t.to.sys)
        t.to.sys = errno;
    close(t.to.fd);
    if (t.to.sys) {
        errno = t.to.sys;
        ret = err_sys(e, "cannot write %s", part);
    } else if (t.e.kind != ERR_NONE) {
        *e = t.e;
        ret = -1;
    } else if (ret < 0 && reply.changed) {
        unlink(part);
        ret = 1;
    } else if (ret == 0 && reply.size >= 0 && t.to.at != reply.size) {
        ret = err_set(e, ERR_REMOTE, "%s: received %lld bytes instead of %lld",
                      link->url, (long long)t.to.at, (long long)reply.size);
    } else if (ret == 0 && (reply.status == 202 || reply.status == 204)) {
        ret = err_set(e, ERR_REMOTE,
                      "%s: the server has no file yet (status %ld)", link->url,
                      reply.status);
    } else if (ret < 0) {
        *e = why;
    }
    if (ret != 0 && t.to.at == 0)
        unlink(part);
    http_reply_clear(&reply);
    buf_clear(&tag);
    return ret;
}

/* A server may send the page of a login or of an error with a status of
 * success. */
static int check_kind(const char *name, const char *coding, const char *data,
                      size_t n, struct err *e)
{
    const bool known = corpus_files_format(name) != CORPUS_AUTO;
    const bool compressed = corpus_files_compressed(name);

    if ((known || compressed) && !*coding && magic_is_html(data, n))
        return err_set(e, ERR_INPUT, "the server sent an HTML page instead");
    if (compressed && !*coding)
        return err_set(e, ERR_INPUT, "the file is not compressed");
    return 0;
}

/* Check that a file is what its name says, and inflate it once if it is
 * compressed, to verify its checksums. */
static int check_content(const char *path, const char *name, struct err *e)
{
    struct source *s;
    char *buf = xmalloc(1 << 18);
    ssize_t got;

    if (source_open(&s, path, -1, NULL, e) < 0) {
        free(buf);
        return -1;
    }
    got = source_read(s, buf, 1 << 18, e);
    if (got >= 0 && check_kind(name, source_coding(s), buf, (size_t)got, e) < 0)
        got = -1;
    while (got > 0 && *source_coding(s))
        got = source_read(s, buf, 1 << 18, e);
    source_close(s);
    free(buf);
    return got < 0 ? -1 : 0;
}

static int check_sum(const struct catalog_link *link, const struct fetched *f,
                     const char *path, struct err *e)
{
    if (!link->sha256 || strcmp(link->sha256, f->sha256) == 0)
        return 0;
    return err_set(e, ERR_INPUT, "%s: the SHA-256 is %s instead of %s", path,
                   f->sha256, link->sha256);
}

static int finish_file(const struct catalog_link *link, const char *part,
                       const char *path, struct fetched *out, struct err *e)
{
    if (sha256_file(part, out->sha256, &out->size, e) < 0)
        return -1;
    if (check_sum(link, out, link->url, e) < 0 ||
        check_content(part, link->file, e) < 0) {
        unlink(part); /* there is no use in resuming */
        return e->kind == ERR_INPUT ? err_wrap(e, "%s is damaged", link->file)
                                    : -1;
    }
    if (rename(part, path) < 0)
        return err_sys(e, "cannot rename %s", part);
    return 0;
}

int fetch_file(const struct download *d, const struct catalog_link *link,
               const char *path, struct fetched *out, struct err *e)
{
    char *part, *tag;
    int ret;

    *out = (struct fetched){ .existed = path_exists(path) };
    if (out->existed) {
        if (sha256_file(path, out->sha256, &out->size, e) < 0)
            return -1;
        return check_sum(link, out, path, e);
    }
    part = xasprintf("%s.part", path);
    tag = xasprintf("%s.part.tag", path);
    ret = fetch_part(d, link, part, tag, e);
    if (ret > 0) {
        log_warn("%s: the file on the server has changed; starting again",
                 link->file);
        ret = fetch_part(d, link, part, tag, e);
        if (ret > 0)
            ret =
                err_set(e, ERR_REMOTE,
                        "%s: the file on the server keeps changing", link->url);
    }
    if (ret == 0)
        ret = finish_file(link, part, path, out, e);
    if (ret == 0 || !path_exists(part))
        unlink(tag);
    free(part);
    free(tag);
    return ret;
}
