#include "config.h"
#include "store/format/metric.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/num.h"
#include "store/format/key.h"
#include "store/format/store.h"

enum { SEEK_ROOM = 4096, READ_ROOM = 256 * 1024 };

static bool take_int(const char **at, const char *end, int64_t *out)
{
    const char *s = *at, *digits;
    const bool negative = s < end && *s == '-';
    uint64_t n = 0;
    int eight = 8;

    s += negative || (s < end && *s == '+');
    while (s < end && *s == '0' && s + 1 < end && s[1] >= '0' && s[1] <= '9')
        s++;
    for (digits = s; eight == 8 && end - s >= 8; s += eight)
        eight = num_eight(s, &n);
    for (; s < end && *s >= '0' && *s <= '9'; s++)
        n = n * 10 + (uint64_t)(*s - '0');
    if (s == digits || s - digits > 19 || n > (uint64_t)INT64_MAX + negative)
        return false; /* 19 digits fit into 64 bits unsigned */
    *out = (int64_t)(negative ? -n : n);
    *at = s;
    return true;
}

bool metric_line(const char *s, const char *end, struct metric_point *p)
{
    int fields = 3;

    p->step = 0;
    if (!take_int(&s, end, &p->ms) || s == end || *s++ != ' ' ||
        !(s = num_parse(s, end, &p->value)))
        return false;
    if (s == end)
        return true;
    if (*s++ != ' ' || !take_int(&s, end, &p->step))
        return false;
    if (s == end)
        return true;
    for (; s < end; s++) /* a dataset's name and digest */
        fields += *s == ' ' && s + 1 < end && s[1] != ' ';
    return fields == 5;
}

struct scan {
    const struct rewind_cut *cut; /* of the key, n_cuts of them */
    size_t n_cuts;
    metric_fn *fn;
    void *arg;
    struct metric_scan *out;
    int64_t line;
    int64_t to; /* no line that begins here or later is wanted */
    bool over;  /* one was found */
};

/* The whole lines of s; returns how many bytes they are. */
static size_t scan_lines(struct scan *scan, const char *s, size_t n)
{
    const char *const start = s, *const end = s + n;

    while (s < end) {
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        struct metric_point p;

        scan->out->at = scan->out->size + (s - start);
        scan->over = scan->out->at >= scan->to;
        if (!newline || scan->over)
            break;
        scan->line++;
        while (scan->n_cuts && scan->out->at >= scan->cut->offset) {
            scan->cut++;
            scan->n_cuts--;
        }
        if (!metric_line(s, newline, &p)) {
            if (scan->out->bad++ == 0)
                scan->out->bad_line = scan->line;
        } else if (scan->n_cuts && p.step > scan->cut->step) {
            scan->out->dropped++;
        } else {
            scan->fn(scan->arg, &p);
        }
        s = newline + 1;
    }
    return (size_t)(s - start);
}

/* Go to the first line that begins at `from` or later: after the end of the
 * one that begins before it. */
static int seek_line(int fd, int64_t from, int64_t *at)
{
    char part[SEEK_ROOM];
    const char *newline = NULL;

    *at = from > 0 ? from - 1 : 0;
    while (from > 0 && !newline) {
        const ssize_t got = pread(fd, part, sizeof part, *at);

        if (got < 0)
            return -1;
        newline = memchr(part, '\n', (size_t)got);
        *at += newline ? newline - part + 1 : got;
        if (got == 0)
            break;
    }
    return lseek(fd, *at, SEEK_SET) < 0 ? -1 : 0;
}

int metric_read(const struct metric_file *f, metric_fn *fn, void *arg,
                struct metric_scan *out, struct err *e)
{
    const int fd = f->run ? path_open_below(f->run, f->path, f->links, e)
                          : path_open(f->path, f->links, e);
    struct scan scan = { .fn = fn,
                         .arg = arg,
                         .out = out,
                         .to = f->part ? f->part->to : INT64_MAX };
    size_t room = READ_ROOM, have = 0;
    AUTO_FREE char *buf = NULL;
    int ret = 0;

    *out = (struct metric_scan){ 0 };
    if (fd < 0)
        return -1;
    if (f->rewinds)
        scan.cut = rewind_cuts(f->rewinds, f->key, &scan.n_cuts);
    buf = xmalloc(room);
    if (f->part && seek_line(fd, f->part->from, &out->size) < 0)
        ret = err_sys(e, "cannot read %s", f->path);
    while (ret == 0 && !scan.over) {
        const ssize_t got = read(fd, buf + have, room - have);
        size_t used;

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            ret = err_sys(e, "cannot read %s", f->path);
        if (got <= 0)
            break;
        have += (size_t)got;
        used = scan_lines(&scan, buf, have);
        out->size += (int64_t)used;
        have -= used;
        memmove(buf, buf + used, have);
        if (have == room) { /* no line is as long as this */
            ret = err_input(e, "%s: line %lld is too long", f->path,
                            (long long)scan.line + 1);
            break;
        }
    }
    out->torn = have > 0 && !scan.over;
    close(fd);
    return ret;
}

/* ---- summing up ---------------------------------------------------------- */

/* MLflow's last value is the greatest (step, time, value). */
static bool is_later(const struct metric_sum *s, const struct metric_point *p)
{
    if (p->step != s->last_step)
        return p->step > s->last_step;
    if (p->ms != s->last_ms)
        return p->ms > s->last_ms;
    return p->value > s->last;
}

void metric_summing_begin(struct metric_summing *s, struct metric_sum *out)
{
    const double none = (double)NAN;

    *s = (struct metric_summing){ .out = out };
    *out = (struct metric_sum){
        .last = none, .min = none, .max = none, .mean = none, .harmonic = none
    };
}

void metric_summing_add(void *summing, const struct metric_point *p)
{
    struct metric_summing *s = summing;
    struct metric_sum *m = s->out;

    if (m->count == 0 || p->step < m->first_step)
        m->first_step = p->step;
    if (m->count++ == 0 || is_later(m, p)) {
        m->last_step = p->step;
        m->last_ms = p->ms;
        m->last = p->value;
    }
    m->nonfinite += !isfinite(p->value);
    if (isnan(p->value))
        return;
    if (s->numbers++ == 0 || p->value < m->min) {
        m->min = p->value;
        m->min_step = p->step;
    }
    if (s->numbers == 1 || p->value > m->max) {
        m->max = p->value;
        m->max_step = p->step;
    }
    s->total += p->value;
    if (p->value > 0) {
        s->above_zero++;
        s->inverse += 1 / p->value;
    }
}

void metric_summing_end(struct metric_summing *s)
{
    if (s->numbers)
        s->out->mean = s->total / (double)s->numbers;
    if (s->above_zero)
        s->out->harmonic = (double)s->above_zero / s->inverse;
}

int metric_sum_up(struct metric_sum *out, const struct metric_file *f,
                  struct metric_scan *scan, struct err *e)
{
    struct metric_summing s;

    metric_summing_begin(&s, out);
    if (metric_read(f, metric_summing_add, &s, scan, e) < 0)
        return -1;
    metric_summing_end(&s);
    out->retracted = scan->dropped;
    return 0;
}

/* ---- appending ----------------------------------------------------------- */

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

/* ---- what a rewind retracted -------------------------------------------- */

enum { REWINDS_MAX = 64 << 20 };

static char *rewinds_path(const char *run)
{
    return path_join(run, STORE_OWN "/rewinds");
}

/* A decimal number and the one character after it. */
static bool take_number(char **at, char after, int64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoll(*at, &end, 10);
    if (end == *at || *end != after || errno)
        return false;
    *at = end + 1;
    return true;
}

static void add_cut(struct rewind_list *list, struct arena *mem,
                    const char *key, int64_t offset, int64_t step)
{
    list->cut = arena_grow(mem, list->cut, list->n, sizeof *list->cut);
    list->cut[list->n] =
        (struct rewind_cut){ arena_strdup(mem, key), list->n, offset, step };
    list->n++;
}

/* One block; false at the end, or where it is not whole.  The marks of this key
 * are added to the list, or all of them if it is NULL. */
static bool take_block(struct rewind_list *list, struct arena *mem, char **at,
                       const char *end, const char *key)
{
    int64_t step, ms, attempt, count, offset;
    const size_t before = list->n;
    char *s = *at;

    if (strncmp(s, "rewind ", 7) != 0)
        return false;
    s += 7;
    if (!take_number(&s, ' ', &step) || !take_number(&s, ' ', &ms) ||
        !take_number(&s, ' ', &attempt) || !take_number(&s, '\n', &count) ||
        count < 0 || count > (end - s) / 4)
        return false;
    for (int64_t i = 0; i < count; i++) {
        char *newline;

        if (!take_number(&s, ' ', &offset) || !(newline = strchr(s, '\n'))) {
            list->n = before;
            return false;
        }
        *newline = '\0';
        if (!key || strcmp(s, key) == 0)
            add_cut(list, mem, s, offset, step);
        *newline = '\n';
        s = newline + 1;
    }
    *at = s;
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct rewind_cut *x = a, *y = b;
    const int order = strcmp(x->key, y->key);

    return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* By key; a later cut cuts earlier points, too. */
static void sort(struct rewind_list *list)
{
    struct rewind_cut *cut = list->cut;

    SORT(cut, list->n, by_key);
    for (size_t i = list->n; i-- > 1;)
        if (cut[i].step < cut[i - 1].step &&
            strcmp(cut[i].key, cut[i - 1].key) == 0)
            cut[i - 1].step = cut[i].step;
}

const struct rewind_cut *rewind_cuts(const struct rewind_list *list,
                                     const char *key, size_t *n)
{
    size_t from = 0, to = list->n;

    while (from < to) {
        const size_t mid = from + (to - from) / 2;

        if (strcmp(list->cut[mid].key, key) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    while (to < list->n && strcmp(list->cut[to].key, key) == 0)
        to++;
    *n = to - from;
    return list->n ? list->cut + from : NULL;
}

int rewinds_load(struct rewind_list *list, struct arena *mem, const char *run,
                 const char *key, enum path_links links, struct err *e)
{
    AUTO_FREE char *path = rewinds_path(run);
    AUTO(buf_clear) struct buf b = BUF_INIT;
    const int ret =
        buf_read_open(&b, path_open(path, links, e), path, REWINDS_MAX, e);

    *list = (struct rewind_list){ 0 };
    if (ret == 0) {
        char *at = b.s;

        while (take_block(list, mem, &at, b.s + b.len, key))
            ;
        sort(list);
    }
    return err_allow(ret, ERR_MISSING, e);
}

/* One line for each metric that has become longer since the last cut: how long
 * its file is. */
static int mark_files(struct buf *marks, size_t *n,
                      const struct rewind_list *before, const char *run,
                      struct err *e)
{
    AUTO_FREE char *folder = path_join(run, "metrics");
    AUTO(path_list_clear) struct path_list keys = { 0 };
    int ret = key_list(&keys, NULL, folder, PATH_NO_LINKS, e);

    *n = 0;
    for (size_t i = 0; ret == 0 && i < keys.n; i++) {
        const char *path = path_listed(&keys, i);
        size_t cuts;
        const struct rewind_cut *cut = rewind_cuts(before, keys.name[i], &cuts);
        AUTO(path_close) int fd = -1;
        int64_t size = 0;

        /* metrics of the machine have steps of their own, and stay */
        if (strncmp(keys.name[i], "system/", 7) != 0) {
            ret = open_file(path, &fd, &size, e);
            if (cuts == 0 || cut[cuts - 1].offset < size) {
                buf_printf(marks, "%lld %s\n", (long long)size, keys.name[i]);
                ++*n;
            }
        }
    }
    return ret;
}

/* The blocks that cut back to before this step.  A cut back to it cuts all that
 * the others did. */
static void keep_blocks(struct buf *kept, struct rewind_list *list,
                        struct arena *mem, const struct buf *text, int64_t step)
{
    char *at = text->s, *from = at;
    size_t before = 0;

    while (take_block(list, mem, &at, text->s + text->len, NULL)) {
        if (list->n > before && list->cut[before].step < step)
            buf_add(kept, from, (size_t)(at - from));
        else
            list->n = before;
        before = list->n;
        from = at;
    }
    sort(list);
}

int rewind_add(const char *run, int attempt, int64_t step, int64_t ms,
               struct err *e)
{
    AUTO_FREE char *path = rewinds_path(run);
    struct rewind_list list = { 0 };
    AUTO(arena_clear) struct arena mem = { 0 };
    AUTO(buf_clear) struct buf was = BUF_INIT, marks = BUF_INIT, b = BUF_INIT;
    size_t n;
    int ret = err_allow(buf_read_unlinked(&was, path, REWINDS_MAX, e),
                        ERR_MISSING, e);

    keep_blocks(&b, &list, &mem, &was, step);
    if (ret == 0)
        ret = mark_files(&marks, &n, &list, run, e);
    if (ret == 0) {
        buf_printf(&b, "rewind %lld %lld %d %zu\n", (long long)step,
                   (long long)ms, attempt, n);
        buf_add(&b, marks.s, marks.len);
        if (b.len > REWINDS_MAX)
            ret = err_input(e,
                            "%s would be larger than %d bytes: the run was "
                            "resumed too often",
                            path, REWINDS_MAX);
    }
    if (ret == 0)
        ret = store_write_below(run, path, NULL, b.s, b.len, true, e);
    return ret;
}
