#include "config.h"
#include "data/corpus/source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/sig.h"
#include "data/corpus/source/download.h"

enum { LOOK_EVERY = 200 }; /* ms, for a signal while nothing comes */

struct source {
    struct source_input feed;
    const struct inflater *type; /* NULL: not compressed */
    void *inflater;
};

/* The first bytes of compressed files; only the bits in the mask are compared.
 * The last row is a frame of Zstandard that readers skip. */
static const struct magic {
    unsigned char bytes[4], mask[4];
    const struct inflater *type;
} magics[] = {
    { { 0x1f, 0x8b }, { 0xff, 0xff }, &gzip_inflater },
    { { 0x28, 0xb5, 0x2f, 0xfd }, { 0xff, 0xff, 0xff, 0xff }, &zstd_inflater },
    { { 0x50, 0x2a, 0x4d, 0x18 }, { 0xf0, 0xff, 0xff, 0xff }, &zstd_inflater },
};

static bool begins_with(const unsigned char *first, const struct magic *m)
{
    for (size_t i = 0; i < sizeof m->bytes; i++)
        if ((first[i] & m->mask[i]) != m->bytes[i])
            return false;
    return true;
}

/* Wait for input, or for the descriptor that tells us to give up. */
static int wait_for(const struct source_input *f, struct err *e)
{
    struct pollfd p[2] = { { f->fd, POLLIN, 0 }, { f->wake, POLLIN, 0 } };
    int got;

    do
        got = poll(p, 2, LOOK_EVERY);
    while ((got == 0 || (got < 0 && errno == EINTR)) && !sig_caught());
    if (got < 0 && !sig_caught())
        return err_sys(e, "cannot wait for input");
    if (sig_caught() || p[1].revents)
        return err_set(e, ERR_INTERRUPTED, "interrupted");
    return 0;
}

static ssize_t read_some(const struct source_input *f, void *buf, size_t n,
                         struct err *e)
{
    ssize_t got;

    if (f->wake >= 0 && wait_for(f, e) < 0)
        return -1;
    do {
        got = read(f->fd, buf, n);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_sys(e, "cannot read");
    if (got == 0 && n > 0 && f->url && source_url_end(f->url, e) < 0)
        return -1;
    return got;
}

ssize_t source_fill(struct source_input *f, struct err *e)
{
    ssize_t got;

    if (f->left)
        return (ssize_t)f->left;
    got = read_some(f, f->buf, SOURCE_BUFFER, e);
    if (got > 0) {
        f->at = f->buf;
        f->left = (size_t)got;
        f->taken += got;
    }
    return got;
}

int source_next_member(struct source_input *f)
{
    if (f->at[0] == 0x1f && (f->left < 2 || f->at[1] == 0x8b))
        return 1;
    for (; f->left; f->at++, f->left--)
        if (*f->at)
            return -1;
    return 0;
}

/* Recognise the format by the first bytes, which stay in the buffer. */
static int detect(struct source *s, struct err *e)
{
    struct source_input *f = &s->feed;

    f->at = f->buf;
    while (f->left < sizeof magics[0].bytes) {
        const ssize_t got =
            read_some(f, f->buf + f->left, SOURCE_BUFFER - f->left, e);

        if (got < 0)
            return -1;
        if (got == 0)
            break;
        f->left += (size_t)got;
        f->taken += got;
    }
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        if (f->left >= sizeof magics[i].bytes && begins_with(f->at, &magics[i]))
            s->type = magics[i].type;
    if (s->type)
        s->inflater = s->type->open(e);
    return s->type && !s->inflater ? -1 : 0;
}

int source_open(struct source **out, const char *path, int wake,
                const struct http_conf *http, struct err *e)
{
    struct source *s = xcalloc(1, sizeof *s);
    struct stat st;

    if (download_is_url(path)) {
        s->feed.fd = source_url_open(&s->feed.url, path, http, e);
        if (s->feed.fd < 0) {
            free(s);
            return -1;
        }
    } else if (strcmp(path, "-") == 0)
        s->feed.fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    else
        s->feed.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->feed.fd < 0) {
        err_open(e, "cannot open");
        free(s);
        return -1;
    }
    s->feed.buf = xmalloc(SOURCE_BUFFER);
    s->feed.wake =
        fstat(s->feed.fd, &st) == 0 && S_ISREG(st.st_mode) ? -1 : wake;
    if (path_check_hole(s->feed.fd, "the file", e) < 0 || detect(s, e) < 0) {
        source_close(s);
        return -1;
    }
    *out = s;
    return 0;
}

static ssize_t read_plain(struct source_input *f, char *buf, size_t n,
                          struct err *e)
{
    size_t done = f->left < n ? f->left : n;

    memcpy(buf, f->at, done);
    f->at += done;
    f->left -= done;
    while (done < n) {
        const ssize_t got = read_some(f, buf + done, n - done, e);

        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
        f->taken += got;
    }
    return (ssize_t)done;
}

ssize_t source_read(struct source *s, void *buf, size_t n, struct err *e)
{
    if (s->type)
        return s->type->read(s->inflater, &s->feed, buf, n, e);
    return read_plain(&s->feed, buf, n, e);
}

/* Seek in an uncompressed file, or ask its server for the rest; the bytes of
 * any other input must be read. */
int source_skip(struct source *s, int64_t n, struct err *e)
{
    struct source_input *f = &s->feed;

    if (!s->type && f->left < (uint64_t)n &&
        lseek(f->fd, n - (int64_t)f->left, SEEK_CUR) >= 0) {
        f->taken += n - (int64_t)f->left;
        f->left = 0;
        return 0;
    }
    if (!s->type && f->left < (uint64_t)n && f->url) {
        close(f->fd);
        f->fd = source_url_again(f->url, n, e);
        f->taken = n;
        f->left = 0;
        return f->fd < 0 ? -1 : 0;
    }
    while (n > 0) {
        char skipped[16384];
        const size_t want =
            n < (int64_t)sizeof skipped ? (size_t)n : sizeof skipped;
        const ssize_t got = source_read(s, skipped, want, e);

        if (got < 0)
            return -1;
        if (got == 0)
            return err_set(e, ERR_INPUT, "the file is shorter than before");
        n -= got;
    }
    return 0;
}

void source_close(struct source *s)
{
    if (!s)
        return;
    if (s->inflater)
        s->type->close(s->inflater);
    if (s->feed.fd >= 0)
        close(s->feed.fd);
    source_url_close(s->feed.url);
    free(s->feed.buf);
    free(s);
}

int64_t source_taken(const struct source *s)
{
    return s->feed.taken;
}

const char *source_coding(const struct source *s)
{
    return s->type ? s->type->name : "";
}
