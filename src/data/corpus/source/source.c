#include "config.h"
#include "data/corpus/source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/sig.h"
#include "data/corpus/source/download.h"

/*
 * A thread downloads a URL into a pipe, which a source reads, so a broken
 * connection is not seen there unless all tries fail.  url_end() is called at
 * the end of the pipe, and fails if the end came too early.
 */
struct source_url {
    struct http *http; /* with DOWNLOAD_NAME_TRIES */
    char *url;
    int fd;        /* where the thread writes */
    int64_t first; /* the first byte that it downloads */
    atomic_bool cancel;
    pthread_t thread;
    bool joined;
    struct err err; /* to be read after the thread is joined */
};

/* False when the reader has closed the pipe. */
static bool write_pipe(void *arg, const void *data, size_t n)
{
    const struct source_url *u = arg;
    const char *at = data, *const end = at + n;

    while (at < end) {
        const ssize_t put = write(u->fd, at, (size_t)(end - at));

        if (put < 0 && errno != EINTR)
            return false;
        at += put > 0 ? put : 0;
    }
    return true;
}

static void *download(void *arg)
{
    struct source_url *u = arg;
    AUTO(http_reply_clear) struct http_reply reply = HTTP_REPLY_INIT;
    struct http_call call = {
        .url = u->url, .from = u->first, .sink = write_pipe, .arg = u
    };

    download_call(u->http, &call, &reply, &u->err);
    close(u->fd);
    return NULL;
}

static int start(struct source_url *u, struct err *e)
{
    int fd[2], sys;

    if (pipe2(fd, O_CLOEXEC) < 0)
        return err_sys(e, "cannot create a pipe");
    fcntl(fd[1], F_SETPIPE_SZ, 1 << 20);
    u->fd = fd[1];
    sys = pthread_create(&u->thread, NULL, download, u);
    if (sys == 0)
        return fd[0];
    close(fd[0]);
    close(fd[1]);
    errno = sys;
    return err_sys(e, "cannot start a thread that downloads");
}

static void join(struct source_url *u)
{
    if (!u->joined)
        pthread_join(u->thread, NULL);
    u->joined = true;
}

static void url_close(struct source_url *u)
{
    if (!u)
        return;
    atomic_store(&u->cancel, true);
    join(u);
    http_close(u->http);
    FREE(u->url, u);
}

static int url_open(struct source_url **out, const char *url,
                    const struct http_conf *conf, struct err *e)
{
    struct source_url *u = xcalloc(1, sizeof *u);
    struct http_conf http = conf ? *conf : (struct http_conf){ 0 };
    int fd;

    http.cancel = &u->cancel;
    http.name_tries = DOWNLOAD_NAME_TRIES;
    u->url = xstrdup(url);
    u->http = http_open(&http, e);
    fd = u->http ? start(u, e) : -1;
    if (fd < 0) {
        u->joined = true;
        url_close(u);
        return -1;
    }
    *out = u;
    return fd;
}

/* The descriptor of a new pipe, from this byte on, after the old one was
 * closed. */
static int url_again(struct source_url *u, int64_t from, struct err *e)
{
    int fd;

    atomic_store(&u->cancel, true);
    join(u);
    atomic_store(&u->cancel, false);
    u->err = (struct err){ 0 };
    u->first = from;
    fd = start(u, e);
    u->joined = fd < 0;
    return fd;
}

static int url_end(struct source_url *u, struct err *e)
{
    join(u);
    if (u->err.kind == ERR_NONE)
        return 0;
    *e = u->err;
    return -1;
}

enum {
    BUFFER = 256 * 1024,
    LOOK_EVERY = 200 /* ms, for a signal while nothing comes */
};

struct source {
    int fd, wake;
    struct source_url *url; /* which fd reads, or NULL */
    uint8_t *buf;
    const uint8_t *at; /* of the input that is left in buf */
    size_t left;
    int64_t taken;
    const struct inflater *type; /* NULL: not compressed */
    void *inflater;
    bool between; /* two members or frames: only there may the file end */
    const char *damage;
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

static bool begins_with(const uint8_t *first, const struct magic *m)
{
    for (size_t i = 0; i < sizeof m->bytes; i++)
        if ((first[i] & m->mask[i]) != m->bytes[i])
            return false;
    return true;
}

/* Wait for input, or for the descriptor that tells us to give up. */
static int wait_for(const struct source *s, struct err *e)
{
    struct pollfd p[2] = { { s->fd, POLLIN, 0 }, { s->wake, POLLIN, 0 } };
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

static ssize_t read_some(const struct source *s, void *buf, size_t n,
                         struct err *e)
{
    ssize_t got;

    if (s->wake >= 0 && wait_for(s, e) < 0)
        return -1;
    do {
        got = read(s->fd, buf, n);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_sys(e, "cannot read");
    if (got == 0 && n > 0 && s->url && url_end(s->url, e) < 0)
        return -1;
    return got;
}

/* Recognise the format by the first bytes, which stay in the buffer. */
static int detect(struct source *s, struct err *e)
{
    s->at = s->buf;
    while (s->left < sizeof magics[0].bytes) {
        const ssize_t got = read_some(s, s->buf + s->left, BUFFER - s->left, e);

        if (got < 0)
            return -1;
        if (got == 0)
            break;
        s->left += (size_t)got;
        s->taken += got;
    }
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        if (s->left >= sizeof magics[i].bytes && begins_with(s->at, &magics[i]))
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

    if (download_is_url(path))
        s->fd = url_open(&s->url, path, http, e);
    else if (strcmp(path, "-") == 0)
        s->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    else
        s->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0) {
        if (!download_is_url(path))
            err_open(e, "cannot open");
        free(s);
        return -1;
    }
    s->buf = xmalloc(BUFFER);
    s->wake = fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode) ? -1 : wake;
    if (path_check_hole(s->fd, "the file", e) < 0 || detect(s, e) < 0) {
        source_close(s);
        return -1;
    }
    *out = s;
    return 0;
}

static ssize_t read_plain(struct source *s, char *buf, size_t n, struct err *e)
{
    size_t done = s->left < n ? s->left : n;

    memcpy(buf, s->at, done);
    s->at += done;
    s->left -= done;
    while (done < n) {
        const ssize_t got = read_some(s, buf + done, n - done, e);

        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
        s->taken += got;
    }
    return (ssize_t)done;
}

/* Make bytes available at s->at; returns 0 at the end. */
static ssize_t fill(struct source *s, struct err *e)
{
    ssize_t got;

    if (s->left)
        return (ssize_t)s->left;
    got = read_some(s, s->buf, BUFFER, e);
    if (got > 0) {
        s->at = s->buf;
        s->left = (size_t)got;
        s->taken += got;
    }
    return got;
}

/* After a gzip member: 1 if another member begins here; 0 if there were only
 * zeros, which are skipped; -1 if there is something else. */
static int next_member(struct source *s)
{
    if (s->at[0] == 0x1f && (s->left < 2 || s->at[1] == 0x8b))
        return 1;
    for (; s->left; s->at++, s->left--)
        if (*s->at)
            return -1;
    return 0;
}

static ssize_t read_inflated(struct source *s, uint8_t *buf, size_t n,
                             struct err *e)
{
    uint8_t *to = buf, *const end = to + (n < 1u << 30 ? n : 1u << 30);

    while (to < end && !s->damage) {
        const ssize_t got = fill(s, e);
        const uint8_t *const had = to;

        if (got < 0)
            return -1;
        if (got == 0 && s->between)
            break;
        if (s->between && s->type->is_padded) {
            const int more = next_member(s);

            if (more < 0)
                s->damage = "other data follows it";
            if (more <= 0)
                continue;
        }
        s->between = s->type->inflate(s->inflater, &s->at, &s->left, &to, end,
                                      &s->damage);
        if (got == 0 && to == had && !s->damage)
            s->damage = "it ends early; was the download interrupted?";
    }
    if (s->damage && to == buf)
        return err_input(e, "damaged %s data: %s", s->type->name, s->damage);
    return to - buf;
}

ssize_t source_read(struct source *s, void *buf, size_t n, struct err *e)
{
    return s->type ? read_inflated(s, buf, n, e) : read_plain(s, buf, n, e);
}

/* Seek in an uncompressed file, or ask its server for the rest; the bytes of
 * any other input must be read. */
int source_skip(struct source *s, int64_t n, struct err *e)
{
    if (!s->type && s->left < (uint64_t)n &&
        (s->url || lseek(s->fd, n - (int64_t)s->left, SEEK_CUR) >= 0)) {
        s->taken += n - (int64_t)s->left;
        s->left = 0;
        if (s->url) {
            close(s->fd);
            s->fd = url_again(s->url, n, e);
        }
        return s->fd < 0 ? -1 : 0;
    }
    while (n > 0) {
        char skipped[16384];
        const size_t want =
            n < (int64_t)sizeof skipped ? (size_t)n : sizeof skipped;
        const ssize_t got = source_read(s, skipped, want, e);

        if (got < 0)
            return -1;
        if (got == 0)
            return err_input(e, "the file is shorter than before");
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
    if (s->fd >= 0)
        close(s->fd);
    url_close(s->url);
    FREE(s->buf, s);
}

int64_t source_taken(const struct source *s)
{
    return s->taken;
}

const char *source_coding(const struct source *s)
{
    return s->type ? s->type->name : "";
}
