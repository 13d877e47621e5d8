#include "config.h"
#include "store/format/metric.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"

enum { SEEK_ROOM = 4096, READ_ROOM = 256 * 1024 };

static bool take_int(const char **at, const char *end, int64_t *out)
{
    const char *s = *at, *digits;
    const bool negative = s < end && *s == '-';
    uint64_t n = 0;

    s += negative || (s < end && *s == '+');
    while (s < end && *s == '0' && s + 1 < end && s[1] >= '0' && s[1] <= '9')
        s++;
    for (digits = s; s < end && *s >= '0' && *s <= '9'; s++)
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
    char *buf;
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
            ret = err_set(e, ERR_INPUT, "%s: line %lld is too long", f->path,
                          (long long)scan.line + 1);
            break;
        }
    }
    out->torn = have > 0 && !scan.over;
    free(buf);
    close(fd);
    return ret;
}

/* -- summing up -------------------------------------------------------- */

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
        .last = none, .min = none, .max = none, .mean = none
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
}

void metric_summing_end(struct metric_summing *s)
{
    if (s->numbers)
        s->out->mean = s->total / (double)s->numbers;
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
