#include "config.h"
#include "store/format/metric_append.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/num.h"
#include "store/format/store.h"

enum { PAGE = 4096, LINE_ROOM = 128 };

static size_t put_int(char *out, int64_t n)
{
    char digits[24];
    uint64_t u = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    size_t len = sizeof digits;

    do
        digits[--len] = (char)('0' + u % 10);
    while (u /= 10);
    if (n < 0)
        digits[--len] = '-';
    memcpy(out, digits + len, sizeof digits - len);
    return sizeof digits - len;
}

static size_t put_line(char out[LINE_ROOM], const struct metric_point *p)
{
    size_t n = put_int(out, p->ms);

    out[n++] = ' ';
    n += (size_t)num_shortest(out + n, p->value);
    out[n++] = ' ';
    n += put_int(out + n, p->step);
    out[n++] = '\n';
    return n;
}

/*
 * Fill a page up from `used` with whole lines; returns how many points went
 * in.  The last one is widened to end with the page when not even the shortest
 * line would fit behind it.
 */
static size_t fill(char *page, size_t *used, const struct metric_point *p,
                   size_t n)
{
    enum { WIDEST = 80 }; /* 20 + 1 + 24 + 1 + 20 + 1, and some */
    size_t i = 0;

    while (i < n && *used < PAGE) {
        char line[LINE_ROOM];
        size_t len = put_line(line, &p[i]);
        const size_t left = PAGE - *used;
        const size_t pad = left >= len && left - len < WIDEST ? left - len : 0;

        if (len > left)
            break;
        if (pad && line[0] == '-') {
            page[(*used)++] = '-';
            memmove(line, line + 1, --len);
        }
        memset(page + *used, '0', pad);
        memcpy(page + *used + pad, line, len);
        *used += pad + len;
        i++;
    }
    return i;
}

/* How long the file is up to its last newline. */
static int whole_lines(int fd, int64_t size, int64_t *whole)
{
    char tail[PAGE];

    for (*whole = 0; size > 0;) {
        const size_t n = size < PAGE ? (size_t)size : PAGE;
        const ssize_t got = pread(fd, tail, n, size - (int64_t)n);
        const char *newline;

        if (got < (ssize_t)n)
            return -1;
        newline = memrchr(tail, '\n', n);
        if (newline) {
            *whole = size - (int64_t)n + (newline - tail) + 1;
            return 0;
        }
        size -= (int64_t)n;
    }
    return 0;
}

/* Cut the file to whole lines and say how long it is. */
static int trim(int fd, const char *path, int64_t *size, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(e, "cannot read %s", path);
    if (whole_lines(fd, st.st_size, size) < 0)
        return err_sys(e, "cannot read %s", path);
    if (*size < st.st_size && ftruncate(fd, *size) < 0)
        return err_sys(e, "cannot repair %s", path);
    return 0;
}

/* How many lines the first n bytes hold whole. */
static size_t count_lines(const char *s, size_t n)
{
    size_t lines = 0;

    for (size_t i = 0; i < n; i++)
        lines += s[i] == '\n';
    return lines;
}

bool metric_make_distinct(struct metric_point *p,
                          const struct metric_point *last)
{
    enum { MOST_MS = 1000 };

    /* as bytes: NaN is equal to itself */
    if (p->ms > last->ms || p->step != last->step ||
        memcmp(&p->value, &last->value, sizeof p->value) != 0)
        return true;
    if (last->ms - p->ms >= MOST_MS)
        return false;
    p->ms = last->ms + 1;
    return true;
}

/* Create the file with the first page of points, unless it exists. */
static int create_file(const char *path, const char *temp,
                       const struct metric_point *p, size_t n, size_t *done,
                       struct err *e)
{
    char page[PAGE + LINE_ROOM];
    size_t used = 0;
    const size_t lines = fill(page, &used, p, n);
    bool exists;

    if (store_write(path, temp, page, used, false, &exists, e) < 0)
        return -1;
    *done = exists ? 0 : lines;
    return 0;
}

/* *fd is -1 where there is no file.  One that an older version created and did
 * not write counts as none. */
static int open_file(const char *path, int *fd, int64_t *size, struct err *e)
{
    int ret;

    *fd = open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0)
        return errno == ENOENT ? 0 : err_sys(e, "cannot open %s", path);
    ret = trim(*fd, path, size, e);
    if (ret == 0 && *size == 0 && unlink(path) < 0)
        ret = err_sys(e, "cannot remove %s", path);
    if (ret < 0 || *size == 0) {
        close(*fd);
        *fd = -1;
    }
    return ret;
}

int metric_repair(const char *path, int64_t *size, struct err *e)
{
    int fd, ret;

    *size = 0;
    ret = open_file(path, &fd, size, e);
    if (fd >= 0)
        close(fd);
    return ret;
}

int metric_append(const char *path, const char *temp,
                  const struct metric_point *p, size_t n, size_t *done,
                  struct err *e)
{
    int64_t size = 0;
    int fd, ret = 0;

    *done = 0;
    if (open_file(path, &fd, &size, e) < 0)
        return -1;
    if (fd < 0) {
        if (create_file(path, temp, p, n, done, e) < 0)
            return -1;
        if (*done == n)
            return 0;
        if (open_file(path, &fd, &size, e) < 0)
            return -1;
        if (fd < 0)
            return err_set(e, ERR_SYSTEM, "%s was removed during writing",
                           path);
    }
    while (ret == 0 && *done < n) {
        char page[PAGE + LINE_ROOM];
        size_t used = (size_t)(size % PAGE);
        const size_t from = used;
        const size_t lines = fill(page, &used, p + *done, n - *done);
        ssize_t put;

        if (lines == 0) /* a foreign line ended too near the end */
            used = from + put_line(page + from, &p[*done]);
        put = write(fd, page + from, used - from);
        if (put < 0 && errno == EINTR)
            continue;
        if (put == (ssize_t)(used - from)) {
            *done += lines ? lines : 1;
            size += put;
            continue;
        }
        errno = put < 0 ? errno : ENOSPC;
        ret = err_sys(e, "cannot write %s", path);
        if (put > 0) {
            *done += count_lines(page + from, (size_t)put);
            trim(fd, path, &size, ERR_IGNORED);
        }
    }
    if (close(fd) < 0 && ret == 0)
        ret = err_sys(e, "cannot write %s", path);
    return ret;
}
