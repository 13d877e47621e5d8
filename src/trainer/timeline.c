/*
 * timeline - what each thread of the CPU device does in each operation
 */
#include "config.h"
#include "trainer/timeline.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/save.h"
#include "common/output/emit.h"

struct timeline_thread {
    clockid_t clock;
    int sched, stat; /* files of the thread in /proc, or -1 */
    struct timeline_use before;
};

static int open_file(long id, const char *name)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/task/%ld/%s", id, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

struct timeline *timeline_new(const struct dev *dev)
{
    struct timeline *t = xcalloc(1, sizeof *t);

    t->threads = dev->threads;
    t->thread = xcalloc((size_t)t->threads, sizeof *t->thread);
    /* The team of the operations: the library keeps its threads. */
#pragma omp parallel for num_threads(t->threads) schedule(static, 1)
    for (int i = 0; i < t->threads; i++) {
        const long id = syscall(SYS_gettid);

        pthread_getcpuclockid(pthread_self(), &t->thread[i].clock);
        t->thread[i].sched = open_file(id, "schedstat");
        t->thread[i].stat = open_file(id, "stat");
    }
    return t;
}

/* The text of an open file in /proc; "" if there is none. */
static const char *read_again(int fd, char *room, size_t size)
{
    const ssize_t n = fd < 0 ? 0 : pread(fd, room, size - 1, 0);

    room[n > 0 ? n : 0] = '\0';
    return room;
}

/* proc(5): the second number of schedstat, and the tenth field of stat, which
 * is the eighth behind the name in parentheses. */
static struct timeline_use read_use(const struct timeline_thread *t)
{
    struct timeline_use use = { 0 };
    struct timespec ran = { 0 };
    char room[1024];
    long long queued = 0, faults = 0;
    const char *s;

    clock_gettime(t->clock, &ran);
    sscanf(read_again(t->sched, room, sizeof room), "%*d %lld", &queued);
    s = strrchr(read_again(t->stat, room, sizeof room), ')');
    if (s)
        sscanf(s, ") %*c %*d %*d %*d %*d %*d %*u %lld", &faults);
    use.ran = (double)ran.tv_sec + 1e-9 * (double)ran.tv_nsec;
    use.queued = 1e-9 * (double)queued;
    use.faults = faults;
    return use;
}

void timeline_start(struct timeline *t)
{
    if (t->n == t->room) {
        t->room = t->room ? 2 * t->room : 1024;
        t->slice = xrealloc(t->slice, t->room, sizeof *t->slice);
    }
    for (int i = 0; i < t->threads; i++)
        t->thread[i].before = read_use(&t->thread[i]);
    t->slice[t->n] = (struct timeline_slice){ .start = clock_mono() };
}

void timeline_stop(struct timeline *t, const char *name)
{
    struct timeline_slice *s = &t->slice[t->n++];

    s->end = clock_mono();
    s->name = name;
    s->use = xcalloc((size_t)t->threads, sizeof *s->use);
    for (int i = 0; i < t->threads; i++) {
        const struct timeline_use now = read_use(&t->thread[i]);
        const struct timeline_use *was = &t->thread[i].before;
        const double whole = s->end - s->start;

        /* the kernel counts a time in the queue when it ends, all at once */
        s->use[i].ran = fmin(now.ran - was->ran, whole);
        s->use[i].queued =
            fmin(now.queued - was->queued, whole - s->use[i].ran);
        s->use[i].faults = now.faults - was->faults;
    }
}

/* ---- the file ----------------------------------------------------------- */

static void begin_event(struct emit *o, const char *name, const char *phase)
{
    emit_object(o, NULL);
    emit_text(o, "name", name);
    emit_text(o, "ph", phase);
    emit_int(o, "pid", 1);
}

/* The name of the process or of a thread. */
static void write_name(struct emit *o, const char *what, int thread,
                       const char *name)
{
    begin_event(o, what, "M");
    emit_int(o, "tid", thread);
    emit_object(o, "args");
    emit_text(o, "name", name);
    emit_object_end(o);
    emit_object_end(o);
}

/* Times are in microseconds, to the nanosecond. */
static void emit_time(struct emit *o, const char *key, double seconds)
{
    emit_real(o, key, round(1e9 * seconds) / 1e3);
}

static void write_slice(struct emit *o, const char *name, int thread,
                        double start, double seconds,
                        const struct timeline_use *use)
{
    begin_event(o, name, "X");
    emit_int(o, "tid", thread);
    emit_time(o, "ts", start);
    emit_time(o, "dur", seconds);
    if (use) {
        emit_object(o, "args");
        emit_time(o, "ran_us", use->ran);
        emit_time(o, "queued_us", use->queued);
        emit_int(o, "page_faults", use->faults);
        emit_object_end(o);
    }
    emit_object_end(o);
}

/*
 * An operation as a slice of the time for which the thread ran, then one of the
 * time for which it had no core, and one of the rest, in which it waited.  When
 * a thread stopped for a while is not known.
 */
static void write_thread(struct emit *o, const struct timeline_slice *s,
                         int thread, double zero)
{
    const struct timeline_use *use = &s->use[thread];
    const double start = s->start - zero, end = s->end - zero;
    const double stop = start + use->ran;
    const double wait = fmin(stop + use->queued, end);

    write_slice(o, s->name, thread, start, use->ran, use);
    if (wait > stop)
        write_slice(o, "no core", thread, stop, wait - stop, NULL);
    if (end > wait)
        write_slice(o, "waiting", thread, wait, end - wait, NULL);
}

int timeline_write(const struct timeline *t, const char *path, struct err *e)
{
    const double zero = t->n > 0 ? t->slice[0].start : 0;
    struct save s = { 0 };
    struct buf b = BUF_INIT;
    struct emit o = { .b = &b, .no_indent = true };
    char name[32];

    if (save_open(&s, path, e) < 0)
        return -1;
    emit_object(&o, NULL);
    emit_text(&o, "displayTimeUnit", "ms");
    emit_array(&o, "traceEvents");
    o.lines = 2;
    write_name(&o, "process_name", 0, "gtrain bench");
    for (int i = 0; i < t->threads; i++) {
        snprintf(name, sizeof name, "thread %d", i);
        write_name(&o, "thread_name", i, name);
    }
    for (size_t k = 0; k < t->n; k++) {
        for (int i = 0; i < t->threads; i++)
            write_thread(&o, &t->slice[k], i, zero);
        fwrite(b.s, 1, b.len, s.fp);
        buf_trim(&b, 0);
    }
    emit_array_end(&o);
    emit_object_end(&o);
    emit_newline(&o);
    fwrite(b.s, 1, b.len, s.fp);
    buf_clear(&b);
    return save_commit(&s, e);
}

void timeline_free(struct timeline *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->threads; i++) {
        if (t->thread[i].sched >= 0)
            close(t->thread[i].sched);
        if (t->thread[i].stat >= 0)
            close(t->thread[i].stat);
    }
    for (size_t i = 0; i < t->n; i++)
        free(t->slice[i].use);
    free(t->thread);
    free(t->slice);
    free(t);
}
