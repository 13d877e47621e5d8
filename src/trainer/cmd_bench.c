/*
 * gtrain bench - measure the time of a training step
 */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/rng.h"
#include "common/save.h"
#include "common/output/emit.h"
#include "common/output/table.h"
#include "kernels/dev.h"
#include "trainer/device/hardware.h"
#include "trainer/engine/engine.h"
#include "trainer/model/graph.h"
#include "trainer/model/graph_calls.h"
#include "trainer/plan/plan_step.h"
#include "trainer/settings/settings.h"

static const char *config;
static struct opt_list sets;
static int steps = 10, warm = 2;
static bool profile;
static const char *timeline_file;
static struct table_style style;

static const struct opt bench_opts[] = {
    SETTINGS_OPTS(config, sets),
    { 'n', "steps", "n", OPT_INT, &steps, "measure N steps (default: 10)",
      .range = OPT_FROM(1) },
    { 0, "warm-up", "n", OPT_INT, &warm,
      "run N steps before the measured ones (default: 2)",
      .range = OPT_FROM(0) },
    { 0, "profile", NULL, OPT_FLAG, &profile,
      "measure each operation separately" },
    { 0, "timeline", "file", OPT_STRING, &timeline_file,
      "measure what each CPU thread does, and write it to FILE" },
    TABLE_OPTS(style),
    { 0 }
};

/* Set random tokens as inputs; the time does not depend on them. */
static void set_tokens(struct engine *eng, int64_t step)
{
    const uint32_t vocab = (uint32_t)eng->set->model.vocab;

    for (uint64_t i = 0; i < (uint64_t)(eng->gpt.B * eng->gpt.T); i++) {
        eng->batch.x[i] = (int32_t)(rng_word(1, (uint64_t)step, i) % vocab);
        eng->batch.y[i] = (int32_t)(rng_word(2, (uint64_t)step, i) % vocab);
    }
    gpt_set_inputs(&eng->gpt, eng->batch.x, eng->batch.y);
}

/* ---- whole steps ------------------------------------------------------ */

static int run_step(struct engine *eng, int64_t step, struct err *e)
{
    struct graph *g = &eng->gpt.graph;

    g->head_scale = 1.0f / (float)eng->set->is.tokens_per_step;
    for (int64_t i = 0; i < eng->set->is.accumulate; i++) {
        set_tokens(eng, step * eng->set->is.accumulate + i);
        g->first_micro = i == 0;
        graph_run_train(g, NULL, NULL);
    }
    optim_measure(&eng->optim);
    if (dev_sync(&eng->dev, e) < 0)
        return -1;
    optim_step(&eng->optim, 1e-5, 1);
    return dev_sync(&eng->dev, e);
}

static int time_steps(struct engine *eng, struct table *t, struct err *e)
{
    AUTO_FREE double *ms = xcalloc((size_t)steps, sizeof *ms);
    const double tokens = (double)eng->set->is.tokens_per_step;
    const double flops = gpt_flops_per_token(&eng->gpt) * tokens;
    const double peak = measure_large_product(&eng->dev, eng->gpt.graph.type);
    struct rusage usage;

    for (int i = -warm; i < steps; i++) {
        const double before = clock_mono();

        if (run_step(eng, i + warm, e) < 0)
            return -1;
        if (i >= 0)
            ms[i] = 1e3 * (clock_mono() - before);
    }
    num_sort(ms, (size_t)steps);
    getrusage(RUSAGE_SELF, &usage);
    table_columns(t, "parameters", "ms/step", "least ms", "tokens/s", "GFLOP/s",
                  "MFU", "peak memory", NULL);
    table_int(t, eng->set->is.parameters);
    table_real(t, ms[steps / 2]);
    table_real(t, ms[0]);
    table_real(t, 1e3 * tokens / ms[steps / 2]);
    table_real(t, flops / ms[steps / 2] / 1e6);
    table_real(t, peak > 0 ? 1e3 * flops / ms[steps / 2] / peak : 0);
    table_bytes(t, eng->dev.memory.total ? (int64_t)eng->dev.memory.reserved
                                         : (int64_t)usage.ru_maxrss * 1024);
    return 0;
}

/* ---- what each thread does --------------------------------------------- */

/*
 * The operating system counts, for each thread, the time for which it ran, the
 * time for which it was ready but had no core, and its page faults.  They are
 * read before and after an operation, so the kernels need no code for this.
 * During the rest of an operation a thread waited for the others, or had
 * nothing to do.  A thread spins for up to a tenth of a millisecond before it
 * sleeps, which counts as running.
 */
struct timeline_use {
    double ran, queued; /* seconds */
    int64_t faults;
};

struct timeline_slice {
    const char *name;
    double start, end;        /* seconds since the first slice began */
    struct timeline_use *use; /* of each thread */
};

struct timeline_thread {
    clockid_t clock;
    int sched, stat; /* files of the thread in /proc, or -1 */
    struct timeline_use before;
};

struct timeline {
    int threads;
    struct timeline_thread *thread;
    struct timeline_slice *slice;
    size_t n, room;
};

static int open_file(long id, const char *name)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/task/%ld/%s", id, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void timeline_init(struct timeline *t, const struct dev *dev)
{
    *t = (struct timeline){ .threads = dev->threads };
    t->thread = xcalloc((size_t)t->threads, sizeof *t->thread);
    /* The team of the operations: the library keeps its threads. */
#pragma omp parallel for num_threads(t->threads) schedule(static, 1)
    for (int i = 0; i < t->threads; i++) {
        const long id = syscall(SYS_gettid);

        pthread_getcpuclockid(pthread_self(), &t->thread[i].clock);
        t->thread[i].sched = open_file(id, "schedstat");
        t->thread[i].stat = open_file(id, "stat");
    }
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

static void timeline_start(struct timeline *t)
{
    GROW(t->slice, t->n, t->room);
    for (int i = 0; i < t->threads; i++)
        t->thread[i].before = read_use(&t->thread[i]);
    t->slice[t->n] = (struct timeline_slice){ .start = clock_mono() };
}

static void timeline_stop(struct timeline *t, const char *name)
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

/* ---- the file of --timeline --------------------------------------------- */

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

/*
 * Write the slices in the Trace Event Format of Chrome, which about:tracing and
 * Perfetto show: https://chromium.googlesource.com/catapult, tracing/README.md.
 */
static int timeline_write(const struct timeline *t, const char *path,
                          struct err *e)
{
    const double zero = t->n > 0 ? t->slice[0].start : 0;
    struct save s = { 0 };
    AUTO(buf_clear) struct buf b = BUF_INIT;
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
    return save_commit(&s, e);
}

static void timeline_clear(struct timeline *t)
{
    for (int i = 0; i < t->threads; i++) {
        if (t->thread[i].sched >= 0)
            close(t->thread[i].sched);
        if (t->thread[i].stat >= 0)
            close(t->thread[i].stat);
    }
    for (size_t i = 0; i < t->n; i++)
        free(t->slice[i].use);
    FREE(t->thread, t->slice);
}

/* ---- each operation --------------------------------------------------- */

/* The measurements of the operations. */
struct profile {
    struct plan_works all;
    struct timeline *timeline; /* or NULL */
    double before;
};

static void start_op(struct profile *p)
{
    if (p->timeline)
        timeline_start(p->timeline);
    p->before = clock_mono();
}

static int stop_op(struct profile *p, struct dev *dev, const char *name,
                   double flops, double bytes, struct err *e)
{
    struct plan_work *to;

    if (dev_sync(dev, e) < 0)
        return -1;
    to = plan_works_find(&p->all, name);
    to->calls++;
    to->seconds += clock_mono() - p->before;
    to->flops += flops;
    to->bytes += bytes;
    if (p->timeline)
        timeline_stop(p->timeline, name);
    return 0;
}

static int profile_step(struct engine *eng, struct profile *p, struct err *e)
{
    struct graph *g = &eng->gpt.graph;
    const double weights = 4.0 * (double)g->count;

    set_tokens(eng, 0);
    g->first_micro = true;
    graph_run_begin(g);
    for (int c = 0; c < g->n_calls; c++) {
        start_op(p);
        graph_run_call(g, c);
        if (stop_op(p, &eng->dev, graph_call_name(g, c), graph_call_flops(g, c),
                    graph_call_bytes(g, c), e) < 0)
            return -1;
    }
    start_op(p);
    optim_measure(&eng->optim);
    if (stop_op(p, &eng->dev, "norm of gradient", 2.0 * (double)g->count,
                weights, e) < 0)
        return -1;
    start_op(p);
    optim_step(&eng->optim, 1e-5, 1);
    return stop_op(p, &eng->dev, "optimiser", 12.0 * (double)g->count,
                   7 * weights, e);
}

static int by_time(const void *a, const void *b)
{
    const struct plan_work *x = a, *y = b;

    return x->seconds < y->seconds ? 1 : -1;
}

/* Measure the steps; the times of the warm-up are only in the timeline. */
static int profile_steps(struct engine *eng, struct profile *p, struct err *e)
{
    for (int i = 0; i < warm + steps; i++) {
        if (i == warm)
            p->all.n = 0;
        if (profile_step(eng, p, e) < 0)
            return -1;
    }
    SORT(p->all.work, (size_t)p->all.n, by_time);
    return 0;
}

/* What all threads did in an operation of this name, from slice `first` on;
 * returns the time that they had for it. */
static double sum_use(const struct timeline *tl, size_t first, const char *name,
                      struct timeline_use *sum)
{
    double whole = 0;

    *sum = (struct timeline_use){ 0 };
    for (size_t k = first; k < tl->n; k++) {
        const struct timeline_slice *s = &tl->slice[k];

        if (strcmp(s->name, name) != 0)
            continue;
        for (int i = 0; i < tl->threads; i++) {
            whole += s->end - s->start;
            sum->ran += s->use[i].ran;
            sum->queued += s->use[i].queued;
            sum->faults += s->use[i].faults;
        }
    }
    return whole;
}

/* The rates of an operation, and the least time that it needs. */
static void add_rates(struct table *t, const struct plan_work *op, double peak,
                      double copy)
{
    table_real(t, op->flops / steps / 1e9);
    table_real(t, op->flops / op->seconds / 1e9);
    table_real(t, op->bytes / steps / 1e9);
    table_real(t, op->bytes / op->seconds / 1e9);
    table_real_or_none(t, peak > 0 && copy > 0
                              ? 1e3 / steps *
                                    fmax(op->flops / peak, op->bytes / copy)
                              : (double)NAN);
}

/* What the threads did in it. */
static void add_use(struct table *t, const struct timeline *tl,
                    const char *name)
{
    const size_t first = tl->n / (size_t)(warm + steps) * (size_t)warm;
    struct timeline_use use;
    const double whole = sum_use(tl, first, name, &use);

    table_printf(t, "%.1f%%", 100 * use.ran / whole);
    table_printf(t, "%.1f%%", 100 * use.queued / whole);
    table_printf(t, "%.1f%%",
                 100 * fmax(0, 1 - (use.ran + use.queued) / whole));
    table_int(t, use.faults / steps);
}

static void add_operations(struct table *t, const struct profile *p,
                           struct dev *dev, enum dtype type)
{
    const double peak = p->timeline ? 0 : measure_large_product(dev, type);
    const double copy = p->timeline ? 0 : measure_copy(dev);
    double sum = 0;

    table_columns(t, "operation", "calls", "ms/step", "share", NULL);
    if (p->timeline)
        table_columns(t, "running", "no core", "waiting", "page faults", NULL);
    else
        table_columns(t, "GFLOP", "GFLOP/s", "GB", "GB/s", "floor ms", NULL);
    for (int i = 0; i < p->all.n; i++)
        sum += p->all.work[i].seconds;
    for (int i = 0; i < p->all.n; i++) {
        const struct plan_work *op = &p->all.work[i];

        table_text(t, op->name);
        table_int(t, op->calls / steps);
        table_real(t, 1e3 * op->seconds / steps);
        table_printf(t, "%.1f%%", 100 * op->seconds / sum);
        if (p->timeline)
            add_use(t, p->timeline, op->name);
        else
            add_rates(t, op, peak, copy);
    }
}

static int time_operations(struct engine *eng, struct table *t, struct err *e)
{
    AUTO(timeline_clear) struct timeline timeline = { 0 };
    struct profile p = { .timeline = timeline_file ? &timeline : NULL };
    int ret;

    if (p.timeline && eng->dev.type != &cpu_dev)
        return err_usage(e, "--timeline is for the CPU; for a GPU, use Nsight "
                            "Systems, or --profile");
    if (p.timeline)
        timeline_init(&timeline, &eng->dev);
    ret = profile_steps(eng, &p, e);
    if (ret == 0)
        add_operations(t, &p, &eng->dev, eng->gpt.graph.type);
    if (ret == 0 && p.timeline)
        ret = timeline_write(&timeline, timeline_file, e);
    free(p.all.work);
    return ret;
}

static int bench_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrain.bench/1");
    AUTO(settings_clear) struct settings s = { 0 };
    AUTO(engine_close) struct engine eng = { 0 };
    int ret;

    if (argc > 1)
        return err_usage(e, "unexpected argument '%s'", argv[1]);
    if (profile && timeline_file)
        return err_usage(e, "--profile and --timeline exclude each other");
    ret = settings_load(&s, argc > 0 ? argv[0] : config, sets.item, sets.n, e);
    if (ret == 0 && s.model.vocab)
        s.data.tokenizer = ""; /* not needed */
    if (ret == 0)
        ret = engine_open(&eng, &s, ENGINE_BENCH, e);
    if (ret == 0)
        ret = (timeline_file || profile ? time_operations : time_steps)(&eng,
                                                                        &t, e);
    ret = table_finish(&t, ret, &style, e);
    free(sets.item);
    return ret;
}

const struct cmd cmd_bench = {
    .name = "bench",
    .args = "[FILE]",
    .help = "measure the time of a training step",
    .opts = bench_opts,
    .run = bench_main,
};
