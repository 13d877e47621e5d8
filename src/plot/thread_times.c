#include "config.h"
#include "plot/thread_times.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/format/json_scan.h"

enum { FILE_MAX = 1 << 30 };

static const double LATEST = 1e15; /* microseconds: 30 years */

struct reader {
    struct json_scan s;
    struct thread_times *t;
    double tid[THREAD_TIMES_THREADS];
};

/* The members of an event that matter, NaN or NULL if it has none of them. */
struct event {
    const char *name, *phase, *thread; /* thread is args.name */
    double tid, start, length, faults;
};

/* The index of a thread, which is added if it is new; -1 if there are too many.
 */
static int find_thread(struct reader *r, double tid)
{
    struct thread_times *const t = r->t;

    for (int i = 0; i < t->n_threads; i++)
        if (r->tid[i] == tid)
            return i;
    if (t->n_threads == THREAD_TIMES_THREADS)
        return json_scan_fail(&r->s, "more than 1024 threads");
    r->tid[t->n_threads] = tid;
    t->thread[t->n_threads] = arena_printf(&t->mem, "thread %.17g", tid);
    return t->n_threads++;
}

static int find_name(struct reader *r, const char *name)
{
    struct thread_times *const t = r->t;

    for (int i = 0; i < t->n_names; i++)
        if (strcmp(name, t->name[i]) == 0)
            return i;
    if (t->n_names == THREAD_TIMES_NAMES)
        return json_scan_fail(&r->s, "more than 1024 names of operations");
    t->name[t->n_names] = arena_strdup(&t->mem, name);
    return t->n_names++;
}

static int add_slice(struct reader *r, const struct event *v)
{
    struct thread_times *const t = r->t;
    const int thread = find_thread(r, v->tid);
    const int name = thread < 0 ? -1 : find_name(r, v->name);

    if (name < 0)
        return -1;
    APPEND(t->slice, t->n, t->room) = (struct thread_times_slice){
        .thread = thread,
        .name = name,
        .start = v->start,
        .end = v->start + v->length,
        .faults = v->faults,
    };
    return 0;
}

/* A phase M says something about a thread, and X is a slice. */
static int use_event(struct reader *r, const struct event *v)
{
    if (strcmp(v->phase, "M") == 0 && v->thread && v->name && !isnan(v->tid) &&
        strcmp(v->name, "thread_name") == 0) {
        const int i = find_thread(r, v->tid);

        if (i < 0)
            return -1;
        r->t->thread[i] = arena_strdup(&r->t->mem, v->thread);
    }
    if (strcmp(v->phase, "X") != 0)
        return 0;
    if (!v->name || isnan(v->tid) || !(v->start >= 0 && v->start <= LATEST) ||
        !(v->length >= 0 && v->length <= LATEST) ||
        !(v->faults >= 0 && v->faults <= 1e15))
        return json_scan_fail(&r->s, "a slice needs a name, a thread, a time "
                                     "and a duration before this");
    return add_slice(r, v);
}

/* jansson reads one event at a time, because a tree of all of them would be
 * large. */
static int read_event(struct reader *r)
{
    struct event v = { NULL, "", NULL, NAN, NAN, NAN, 0 };
    const char *from = r->s.at;
    json_auto_t *all = NULL;
    int ret;

    if (json_scan_skip(&r->s) < 0)
        return -1;
    all = json_loadb(from, (size_t)(r->s.at - from), 0, NULL);
    if (!all || json_unpack(all, "{s?s, s?s, s?F, s?F, s?F, s?{s?s, s?F}}",
                            "name", &v.name, "ph", &v.phase, "tid", &v.tid,
                            "ts", &v.start, "dur", &v.length, "args", "name",
                            &v.thread, "page_faults", &v.faults) < 0)
        ret = json_scan_fail(&r->s, "an event is not as the Trace Event Format "
                                    "has it before this");
    else
        ret = use_event(r, &v);
    return ret;
}

static int read_events(struct reader *r)
{
    int more;

    for (more = json_scan_enter(&r->s, '['); more > 0;
         more = json_scan_next(&r->s, '[')) {
        json_scan_blanks(&r->s);
        if (read_event(r) < 0)
            return -1;
    }
    return more;
}

static int read_trace(struct reader *r)
{
    struct json_scan *const s = &r->s;
    char *name;
    size_t n;
    int more;

    json_scan_blanks(s);
    for (more = json_scan_enter(s, '{'); more > 0;
         more = json_scan_next(s, '{')) {
        if (json_scan_name(s, &name, &n) < 0 ||
            (n == 11 && memcmp(name, "traceEvents", n) == 0
                 ? read_events(r)
                 : json_scan_skip(s)) < 0)
            return -1;
    }
    json_scan_blanks(s);
    return more == 0 && s->at < s->end
               ? json_scan_fail(s, "expected the end of the file")
               : more;
}

static int by_thread(const void *a, const void *b)
{
    const struct thread_times_slice *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread - y->thread;
    return (x->start > y->start) - (x->start < y->start);
}

/* Sort the slices, which have microseconds until now, begin at zero, and leave
 * out what overlaps. */
static void order_slices(struct thread_times *t)
{
    double zero = INFINITY, until = 0;
    size_t n = 0;

    SORT(t->slice, t->n, by_thread);
    for (size_t i = 0; i < t->n; i++)
        zero = fmin(zero, t->slice[i].start);
    for (size_t i = 0; i < t->n; i++) {
        struct thread_times_slice s = t->slice[i];

        if (i == 0 || s.thread != t->slice[i - 1].thread)
            until = 0;
        s.start = fmax((s.start - zero) / 1e6, until);
        s.end = (s.end - zero) / 1e6;
        if (s.end <= s.start)
            continue;
        until = s.end;
        t->slice[n++] = s;
    }
    t->n = n;
}

int thread_times_parse(struct thread_times *t, char *text, size_t n,
                       const char *path, struct err *e)
{
    struct reader r = { .s = { .at = text, .end = text + n }, .t = t };

    t->thread = arena_alloc(&t->mem, THREAD_TIMES_THREADS * sizeof *t->thread);
    t->name = arena_alloc(&t->mem, THREAD_TIMES_NAMES * sizeof *t->name);
    if (read_trace(&r) < 0)
        return err_input(e, "%s: byte %zu: %s", path, (size_t)(r.s.at - text),
                         r.s.why);
    order_slices(t);
    return t->n > 0 ? 0
                    : err_input(e,
                                "%s has no slices of time, which gtrain bench "
                                "--timeline writes",
                                path);
}

int thread_times_load(struct thread_times *t, const char *path, struct err *e)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;

    return buf_read_file(&text, path, FILE_MAX, e) < 0
               ? -1
               : thread_times_parse(t, text.s, text.len, path, e);
}

void thread_times_free(struct thread_times *t)
{
    free(t->slice);
    arena_clear(&t->mem);
    *t = (struct thread_times){ 0 };
}
