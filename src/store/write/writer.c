#include "config.h"
#include "store/write/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/machine/limits.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/utf8.h"
#include "store/format/key.h"
#include "store/format/metric.h"
#include "store/format/store.h"

enum { KEPT_ROOM = 1 << 16 };

static const int64_t memory_most = (int64_t)2 << 30;

/* The points of one metric that wait to be written. */
struct series_file {
    char *path;
    struct metric_point *point;
    size_t n, room, done; /* done: those before are in the file */
    struct metric_point last;
};

struct writer {
    struct point_queue *queue; /* its lock is also over the next four */
    pthread_cond_t idle;
    uint64_t asked, answered; /* flushes */
    bool stop;
    bool troubled; /* the last flush could not write all */
    bool lost;     /* it may not write any more, as trouble says */

    pthread_t thread; /* the rest is the thread's own */
    struct writer_conf conf;
    struct key_files files;
    struct series_file *file;        /* by the key's number */
    size_t n_files, held, held_most; /* points of all of them */
    time_t looked;                   /* when it last knew that it may write */
    int64_t noted;                   /* of the dropped ones, in a tag */
    struct queued_texts waiting;
    bool has_points; /* of this attempt */
    struct err trouble;
    bool warned;
};

/* -- parameters and tags ----------------------------------------------- */

static void trouble(struct writer *w, const struct err *e)
{
    w->troubled = true;
    w->trouble = *e;
    if (!w->warned)
        log_warn("%s: %s; points are kept in memory and written when "
                 "that is possible again",
                 w->conf.name, e->text);
    w->warned = true;
}

/* A process that is stopped for a second or more looks again, before the next
 * file, whether it may write: it may have slept for an hour. */
static bool may_write(struct writer *w)
{
    struct timespec now;
    struct err e = { 0 };

    clock_gettime(CLOCK_BOOTTIME, &now);
    if (!w->lost && now.tv_sec == w->looked)
        return true;
    w->looked = now.tv_sec;
    if (!w->lost && w->conf.may_write(w->conf.arg, &e) < 0) {
        log_warn("%s", e.text);
        w->trouble = e;
        w->lost = true;
    }
    if (w->lost)
        w->troubled = true;
    return !w->lost;
}

/* Let a tag be written, which takes over both texts. */
static void add_tag(struct writer *w, char *key, char *value)
{
    queued_texts_add(&w->waiting, (struct queued_text){ TAG, key, value });
}

/* The file of a key, inside its folder. */
static const char *find_file(struct writer *w, enum key_kind kind,
                             const char *key)
{
    char *tag;
    const char *file = key_file(&w->files, kind, key, &tag);

    if (tag)
        add_tag(w, tag, xstrdup(key));
    return file;
}

/* The value to be written: UTF-8, not longer than MLflow accepts. */
static char *clean_value(const char *value, size_t most, bool *cut)
{
    struct buf b = BUF_INIT;
    const char *end = value;

    for (size_t i = 0; i < most && *end; i++)
        utf8_next(&end);
    *cut = *end;
    utf8_clean(&b, value, (size_t)(end - value));
    return buf_detach(&b);
}

/* A parameter keeps its first value, as in MLflow. */
static bool is_written(const struct writer *w, const char *file,
                       const char *value, bool *same)
{
    AUTO_FREE char *path = path_join(w->files.table[PARAM].folder, file);
    AUTO(buf_clear) struct buf b = BUF_INIT;
    const bool there = buf_read_unlinked(&b, path, 1 << 20, ERR_IGNORED) == 0;

    *same = there && strcmp(b.s, value) == 0;
    return there;
}

/* Another value of a parameter: of a later attempt, it is a tag. */
static void note_change(struct writer *w, const struct queued_text *t,
                        const char *value)
{
    if (w->conf.attempt > 1)
        add_tag(w, changed_tag(w->conf.attempt, t->key), xstrdup(value));
    else
        log_warn("%s: parameter %s keeps its first value: %.100s is not "
                 "recorded",
                 w->conf.name, t->key, t->value);
}

static int write_text(struct writer *w, const struct queued_text *t,
                      struct err *e)
{
    static const size_t most[] = { [PARAM] = 6000, [TAG] = 8000 };
    static const char *const word[] = { [PARAM] = "parameter", [TAG] = "tag" };
    const char *file = find_file(w, t->kind, t->key);
    bool cut = false, same = false;
    AUTO_FREE char *value =
        t->value ? clean_value(t->value, most[t->kind], &cut) : NULL;
    int ret = 0;

    if (t->kind != PARAM || !is_written(w, file, value, &same)) {
        ret = store_value(w->conf.run, key_folders[t->kind], file, value, false,
                          e);
        if (ret == 0 && value && cut)
            log_warn("%s: %s %s is truncated to %zu characters", w->conf.name,
                     word[t->kind], t->key, most[t->kind]);
    } else if (!same) {
        note_change(w, t, value);
    }
    return ret;
}

/* Does a later text replace this tag? */
static bool is_superseded(const struct writer *w, size_t i)
{
    const struct queued_text *t = &w->waiting.item[i];

    for (size_t j = i + 1; t->kind == TAG && j < w->waiting.n; j++)
        if (w->waiting.item[j].kind == TAG &&
            strcmp(w->waiting.item[j].key, t->key) == 0)
            return true;
    return false;
}

static void write_texts(struct writer *w)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->waiting.n; i++) {
        struct queued_text t = w->waiting.item[i]; /* the array may move */
        struct err e = { 0 };

        if (!is_superseded(w, i) &&
            (!may_write(w) || write_text(w, &t, &e) < 0)) {
            if (!w->lost)
                trouble(w, &e);
            w->waiting.item[kept++] = t;
            continue;
        }
        FREE(t.key, t.value);
    }
    w->waiting.n = kept;
}

/* -- metrics ----------------------------------------------------------- */

static struct series_file *series_of(struct writer *w, uint32_t key)
{
    struct series_file *f;

    if (key >= w->n_files) {
        w->file = xrealloc(w->file, (size_t)key + 1, sizeof *w->file);
        memset(w->file + w->n_files, 0,
               (key + 1 - w->n_files) * sizeof *w->file);
        w->n_files = (size_t)key + 1;
    }
    f = &w->file[key];
    if (!f->path)
        f->path =
            path_join(w->files.table[METRIC].folder,
                      find_file(w, METRIC, point_queue_key(w->queue, key)));
    return f;
}

static void write_series(struct writer *w, struct series_file *f)
{
    struct err e = { 0 };
    struct path_pin pin;
    size_t done;
    int ret;

    if (f->n == f->done || !may_write(w))
        return;
    ret = path_pin(&pin, f->path, w->conf.run, &e);
    if (ret == 0) {
        AUTO_FREE char *temp = path_join(w->conf.run, STORE_OWN "/metric");

        ret = metric_append(pin.name, temp, f->point + f->done, f->n - f->done,
                            &done, &e);
        f->done += done;
        w->held -= done;
    }
    path_unpin(&pin, &e);
    if (f->done == f->n)
        f->done = f->n = 0;
    if (f->n == 0 && f->room > KEPT_ROOM) {
        free(f->point);
        f->point = NULL;
        f->room = 0;
    }
    if (ret < 0)
        trouble(w, &e);
}

static void write_all(struct writer *w)
{
    for (size_t i = 0; i < w->n_files; i++)
        write_series(w, &w->file[i]);
}

/* The first rewind of an attempt that resumes a run tells where it begins. */
static void note_beginning(struct writer *w, int64_t step)
{
    const int attempt = w->conf.attempt;

    if (attempt > 1 && !w->has_points)
        add_tag(w, changed_tag(attempt, CHANGED_FIRST_STEP),
                xasprintf("%lld", (long long)step + 1));
    w->has_points = true;
}

/*
 * A rewind retracts what was logged before it, so all of that has to be in the
 * files first.  Until then, later points wait in the blocks.
 */
static bool rewind_now(struct writer *w, const struct metric_point *p)
{
    struct err e = { 0 };

    write_all(w);
    if (!w->troubled && may_write(w) &&
        rewind_add(w->conf.run, w->conf.attempt, p->step, p->ms, &e) < 0)
        trouble(w, &e);
    if (!w->troubled)
        note_beginning(w, p->step);
    return !w->troubled;
}

/* Running out of memory must not end the training: the point and those after it
 * stay in their block. */
static bool keep_point(struct writer *w, const struct queued_point *item)
{
    struct series_file *f = series_of(w, item->key);

    if (w->held == w->held_most)
        return false;
    if (f->n == f->room) {
        const size_t room = f->room ? f->room * 2 : 64;
        struct metric_point *more = reallocarray(f->point, room, sizeof *more);
        struct err e = { 0 };

        if (!more) {
            err_sys(&e, "cannot keep more points of %s", f->path);
            trouble(w, &e);
            return false;
        }
        f->point = more;
        f->room = room;
    }
    f->point[f->n] = item->point;
    if (!metric_make_distinct(&f->point[f->n], &f->last))
        return true;
    f->last = f->point[f->n++];
    w->held++;
    w->has_points = true;
    return true;
}

static void write_event(struct writer *w, const struct queued_point *item)
{
    struct tfevents *t = w->conf.events;
    const struct metric_point *p = &item->point;

    if (t && item->key == POINT_QUEUE_REWIND)
        tfevents_rewind(t, p->step, p->ms);
    else if (t)
        tfevents_scalar(t, point_queue_key(w->queue, item->key), p->step, p->ms,
                        p->value);
}

static void flush_events(struct writer *w)
{
    struct err e = { 0 };

    if (!w->conf.events || tfevents_flush(w->conf.events, &e) == 0)
        return;
    log_warn("%s: %s; no more events are written for TensorBoard", w->conf.name,
             e.text);
    tfevents_close(w->conf.events, &e);
    w->conf.events = NULL;
}

/* Hand the items out to their series; returns the blocks that must wait. */
static struct point_block *hand_out(struct writer *w, struct point_block *first)
{
    while (first) {
        struct point_block *next = first->next;

        for (int i = 0; i < first->n; i++) {
            const struct queued_point *item = &first->item[i];

            if (item->key == POINT_QUEUE_REWIND ? rewind_now(w, &item->point)
                                                : keep_point(w, item)) {
                write_event(w, item);
                continue;
            }
            first->n -= i;
            memmove(first->item, item, (size_t)first->n * sizeof *item);
            return first;
        }
        point_queue_recycle(w->queue, first);
        first = next;
    }
    return NULL;
}

/* The number of points that found no room is recorded in a tag. */
static void note_dropped(struct writer *w, int64_t dropped)
{
    if (dropped == w->noted)
        return;
    w->noted = dropped;
    add_tag(w, xstrdup("gtrack.points_dropped"),
            xasprintf("%lld", (long long)dropped));
}

static void write_new(struct writer *w)
{
    struct point_block *rest;
    int64_t dropped;

    pthread_mutex_lock(&w->queue->lock);
    rest = point_queue_take(w->queue, &w->waiting);
    dropped = w->queue->dropped;
    pthread_mutex_unlock(&w->queue->lock);
    note_dropped(w, dropped);
    write_texts(w);
    do {
        rest = hand_out(w, rest);
        write_all(w);
    } while (rest && !w->troubled);
    write_texts(w); /* names of new keys */
    flush_events(w);
    pthread_mutex_lock(&w->queue->lock);
    point_queue_put_back(w->queue, rest);
    pthread_mutex_unlock(&w->queue->lock);
}

/* What was logged belongs to nobody any more. */
static void drop_all(struct writer *w)
{
    struct point_block *b;

    pthread_mutex_lock(&w->queue->lock);
    b = point_queue_take(w->queue, &w->waiting);
    pthread_mutex_unlock(&w->queue->lock);
    queued_texts_clear(&w->waiting);
    while (b) {
        struct point_block *next = b->next;

        point_queue_recycle(w->queue, b);
        b = next;
    }
    w->troubled = true;
}

/* Take nothing more while what was taken before cannot be written. */
static void flush(struct writer *w)
{
    w->troubled = false;
    write_texts(w);
    write_all(w);
    if (!w->troubled)
        write_new(w);
    if (!w->troubled && w->warned) {
        if (w->noted)
            log_warn("%s: writing again; %lld points were lost", w->conf.name,
                     (long long)w->noted);
        else
            log_info("%s: writing again; no point was lost", w->conf.name);
        w->warned = false;
    }
}

static void *write_on(void *arg)
{
    struct writer *w = arg;
    const double usual = w->conf.flush_secs * 0.9; /* writing takes time */
    double pause = usual;

    pthread_mutex_lock(&w->queue->lock);
    for (;;) {
        const struct timespec until = clock_after(CLOCK_MONOTONIC, pause);
        uint64_t asked;
        bool stop;
        int timeout = 0;

        while (!timeout && w->asked == w->answered && !w->stop &&
               (w->troubled || w->queue->n_blocks < w->queue->wake_at))
            timeout = pthread_cond_timedwait(&w->queue->wake, &w->queue->lock,
                                             &until);
        stop = w->stop;
        asked = w->asked;
        /* after a pause, the next point is written at once */
        w->queue->wake_at = w->queue->n_blocks ? POINT_QUEUE_WAKE : 1;
        pthread_mutex_unlock(&w->queue->lock);
        w->looked = 0;
        if (may_write(w))
            flush(w);
        if (w->lost)
            drop_all(w);
        pause = !w->troubled ? usual : pause < 15 ? pause * 2 : 30;
        pthread_mutex_lock(&w->queue->lock);
        w->answered = asked;
        pthread_cond_broadcast(&w->idle);
        if (stop)
            break;
    }
    pthread_mutex_unlock(&w->queue->lock);
    return NULL;
}

/* Give a third of the memory each to blocks that wait, to blocks that were
 * taken, and to the series that get their points, whose arrays double as they
 * grow. */
static void set_bounds(struct writer *w)
{
    const double share = limits_memory("", NULL, 0) / 16;
    int64_t most = w->conf.memory;
    int64_t blocks;

    if (most <= 0)
        most = share < (double)memory_most ? (int64_t)share : memory_most;
    blocks = most / 3 / (int64_t)sizeof(struct point_block);
    point_queue_init(w->queue, w->conf.name, blocks < 4 ? 4 : (int)blocks);
    w->held_most = (size_t)most / 3 / (2 * sizeof(struct metric_point));
}

int writer_start(struct writer **out, const struct writer_conf *conf,
                 struct err *e)
{
    struct writer *w = xcalloc(1, sizeof *w);
    int ret;

    w->conf = *conf;
    w->queue = conf->queue;
    key_files_load(&w->files, w->conf.run);
    set_bounds(w);
    pthread_cond_init(&w->idle, NULL);
    ret = threads_start(&w->thread, write_on, w);
    *out = w;
    if (ret != 0) {
        errno = ret;
        return err_sys(e, "cannot start the thread that writes the run");
    }
    return 0;
}

int writer_flush(struct writer *w, struct err *e)
{
    uint64_t mine;
    int ret = 0;

    pthread_mutex_lock(&w->queue->lock);
    mine = ++w->asked;
    pthread_cond_signal(&w->queue->wake);
    while (w->answered < mine)
        pthread_cond_wait(&w->idle, &w->queue->lock);
    if (w->troubled) {
        *e = w->trouble;
        ret = -1;
    }
    pthread_mutex_unlock(&w->queue->lock);
    return ret;
}

/* Points that are not in their files. */
static int64_t count_left(const struct writer *w)
{
    int64_t left = w->queue->dropped + (int64_t)w->held;

    for (const struct point_block *b = w->queue->first; b; b = b->next)
        left += b->n;
    return left;
}

static void free_all(struct writer *w)
{
    tfevents_close(w->conf.events, ERR_IGNORED);
    point_queue_clear(w->queue);
    queued_texts_clear(&w->waiting);
    for (size_t i = 0; i < w->n_files; i++)
        FREE(w->file[i].path, w->file[i].point);
    key_files_clear(&w->files);
    pthread_cond_destroy(&w->idle);
    FREE(w->file, w);
}

int writer_stop(struct writer *w, struct err *e)
{
    enum { TRIES = 5, PAUSE_US = 100000 };
    struct err why = { 0 };
    int64_t left;
    size_t texts;
    int ret = 0;

    for (int i = 1; writer_flush(w, &why) < 0 && !w->lost && i < TRIES; i++)
        usleep(PAUSE_US);
    pthread_mutex_lock(&w->queue->lock);
    w->stop = true;
    pthread_cond_signal(&w->queue->wake);
    pthread_mutex_unlock(&w->queue->lock);
    pthread_join(w->thread, NULL);
    left = w->lost ? 0 : count_left(w);
    texts = w->waiting.n;
    if (w->lost) {
        *e = w->trouble;
        ret = -1;
    } else if (left || texts) {
        *e = why;
        ret =
            err_wrap(e, "%s: %lld points and %zu parameters and tags were lost",
                     w->conf.name, (long long)left, texts);
    }
    free_all(w);
    return ret;
}
