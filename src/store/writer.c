#include "config.h"
#include "store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/num.h"
#include "common/path.h"
#include "common/utf8.h"
#include "store/attempt.h"
#include "store/metric.h"
#include "store/names.h"
#include "store/store.h"

/*
 * Points travel in blocks: the caller fills the last one of a list, the thread
 * takes the list and gives the blocks back.  A block with room is nearly
 * always at hand, so handing over is a copy and no more.
 */
enum { BLOCK = 2048, SPARE = 64, WAKE = 32 };

struct item {
    uint32_t key;
    struct point point;
};

struct block {
    struct block *next;
    int n;
    struct item item[BLOCK];
};

enum { REWIND = UINT32_MAX }; /* instead of a key: what came after is void */

enum kind { PARAM, TAG };

struct text { /* a parameter or a tag */
    enum kind kind;
    char *key, *value;
};

struct texts {
    struct text *item;
    size_t n, room;
};

/* What the thread holds of one metric. */
struct series_file {
    char *path;
    struct point *point; /* not written yet */
    size_t n, room, done;
    bool made; /* its folder is there */
};

struct writer {
    pthread_t thread;
    char *run, *name;
    struct writer_conf conf;
    int64_t fixed_ms; /* what the clock says in tests, or -1 */

    pthread_mutex_t lock; /* over all from here ... */
    pthread_cond_t wake, idle;
    struct block *first, *last, *spare;
    int n_blocks, n_spare;
    struct texts texts;
    uint64_t asked, answered; /* flushes */
    bool stop;
    int64_t dropped; /* points there was no memory for */
    struct slot {
        uint64_t hash;
        char *key;
        uint32_t id;
    } * slot; /* keys by hash, open addressing */
    size_t n_slots, n_keys;
    char **key;      /* by id */
    size_t key_room; /* ... to here */

    struct names names[3];    /* of params, tags, metrics */
    struct series_file *file; /* by key's id */
    size_t n_files;
    struct texts waiting;
    bool troubled; /* something could not be written */
    bool warned;
    struct err trouble;
};

static const char *const folders[] = { "params", "tags", "metrics" };
enum { METRICS = 2 };

/* -- the caller's side ------------------------------------------------- */

static uint64_t hash_of(const char *s)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

static void rehash(struct writer *w)
{
    const size_t n = w->n_slots ? w->n_slots * 2 : 256;
    struct slot *slot = xcalloc(n, sizeof *slot);

    for (size_t i = 0; i < w->n_slots; i++) {
        size_t at = w->slot[i].hash % n;

        if (!w->slot[i].key)
            continue;
        while (slot[at].key)
            at = (at + 1) % n;
        slot[at] = w->slot[i];
    }
    free(w->slot);
    w->slot = slot;
    w->n_slots = n;
}

static uint32_t id_of(struct writer *w, const char *key)
{
    const uint64_t hash = hash_of(key);
    size_t at;

    if (w->n_keys * 2 >= w->n_slots)
        rehash(w);
    at = hash & (w->n_slots - 1);
    while (w->slot[at].key) {
        if (w->slot[at].hash == hash && strcmp(w->slot[at].key, key) == 0)
            return w->slot[at].id;
        at = (at + 1) & (w->n_slots - 1);
    }
    GROW(w->key, w->n_keys, w->key_room);
    w->key[w->n_keys] = xstrdup(key);
    w->slot[at] = (struct slot){ hash, w->key[w->n_keys], (uint32_t)w->n_keys };
    return (uint32_t)w->n_keys++;
}

/* Room for one more item, or NULL when there is no memory. */
static struct item *put(struct writer *w)
{
    if (!w->last || w->last->n == BLOCK) {
        struct block *b = w->spare;

        if (b) {
            w->spare = b->next;
            w->n_spare--;
        } else {
            b = malloc(sizeof *b);
            if (!b)
                return NULL;
        }
        b->next = NULL;
        b->n = 0;
        if (w->last)
            w->last->next = b;
        else
            w->first = b;
        w->last = b;
        if (++w->n_blocks == WAKE)
            pthread_cond_signal(&w->wake);
    }
    return &w->last->item[w->last->n++];
}

static int64_t now(const struct writer *w)
{
    struct timespec t;

    if (w->fixed_ms >= 0)
        return w->fixed_ms;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void writer_points(struct writer *w, int64_t step, const struct run_point *p,
                   int n)
{
    const int64_t ms = now(w);

    pthread_mutex_lock(&w->lock);
    for (int i = 0; i < n; i++) {
        const uint32_t key = id_of(w, p[i].key);
        struct item *item = put(w);

        if (item)
            *item = (struct item){ key, { ms, step, p[i].value } };
        else
            w->dropped++;
    }
    pthread_mutex_unlock(&w->lock);
}

void writer_rewind(struct writer *w, int64_t step)
{
    const int64_t ms = now(w);
    struct item *item;

    pthread_mutex_lock(&w->lock);
    item = put(w);
    if (item)
        *item = (struct item){ REWIND, { ms, step, 0 } };
    pthread_mutex_unlock(&w->lock);
}

static void add_text(struct writer *w, enum kind kind, const char *key,
                     const char *value)
{
    pthread_mutex_lock(&w->lock);
    GROW(w->texts.item, w->texts.n, w->texts.room);
    w->texts.item[w->texts.n++] =
        (struct text){ kind, xstrdup(key), xstrdup(value) };
    pthread_mutex_unlock(&w->lock);
}

void writer_param(struct writer *w, const char *key, const char *value)
{
    add_text(w, PARAM, key, value);
}

void writer_tag(struct writer *w, const char *key, const char *value)
{
    add_text(w, TAG, key, value);
}

/* -- the thread's side ------------------------------------------------- */

static void trouble(struct writer *w, const struct err *e)
{
    w->troubled = true;
    w->trouble = *e;
    if (!w->warned)
        log_warn("%s: %s; what is logged is kept in memory and written when "
                 "it can be",
                 w->name, e->text);
    w->warned = true;
}

/* The folder of a file that goes into a run may have to be made, also anew
 * when someone took the whole run away. */
static int make_parent(const char *path, struct err *e)
{
    char *folder = path_parent(path);
    const int ret = path_make(folder, e);

    free(folder);
    return ret;
}

static void note_name(struct writer *w, int which, const char *key,
                      const char *file);

/* Which file a key has; a key that is not its own file is noted in a tag. */
static size_t file_of(struct writer *w, int which, const char *key)
{
    struct names *names = &w->names[which];
    int fresh;
    const size_t i = names_find(names, key, &fresh);

    if (fresh && strcmp(names->item[i].file, key) != 0)
        note_name(w, which, key, names->item[i].file);
    return i;
}

/* The value as it is written: UTF-8, not longer than MLflow takes. */
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

/* A parameter keeps the value it got first, as in MLflow. */
static bool is_written(const char *path, const char *value, bool *same)
{
    struct buf b = BUF_INIT;
    struct err e = ERR_INIT;
    const bool there = buf_read_file(&b, path, 1 << 20, &e) == 0;

    *same = there && strcmp(b.s, value) == 0;
    buf_clear(&b);
    return there;
}

static int write_text(struct writer *w, const struct text *t, struct err *e)
{
    static const size_t most[] = { [PARAM] = 6000, [TAG] = 8000 };
    static const char *const word[] = { [PARAM] = "parameter", [TAG] = "tag" };
    const size_t i = file_of(w, (int)t->kind, t->key);
    const char *file = w->names[t->kind].item[i].file;
    char *path = path_join(w->names[t->kind].folder, file);
    char *temp = path_join(w->run, STORE_OWN "/value.tmp");
    bool cut, same = false;
    char *value = clean_value(t->value, most[t->kind], &cut);
    int ret = 0;

    if (t->kind == PARAM && is_written(path, value, &same)) {
        if (!same)
            log_warn("%s: parameter %s keeps its first value: %.100s is not "
                     "recorded",
                     w->name, t->key, t->value);
    } else {
        if (make_parent(path, e) < 0 || make_parent(temp, e) < 0 ||
            store_write(path, temp, value, strlen(value), false, e) < 0)
            ret = -1;
        else if (cut)
            log_warn("%s: %s %s is cut to %zu characters", w->name,
                     word[t->kind], t->key, most[t->kind]);
    }
    free(value);
    free(temp);
    free(path);
    return ret;
}

static void note_name(struct writer *w, int which, const char *key,
                      const char *file)
{
    char *tag = xasprintf("gtrack.key.%s.%s", folders[which], file);
    struct text t = { TAG, tag, xstrdup(key) };

    if (strlen(tag) > 250)
        tag[250] = '\0';
    GROW(w->waiting.item, w->waiting.n, w->waiting.room);
    w->waiting.item[w->waiting.n++] = t;
}

static void write_texts(struct writer *w)
{
    size_t kept = 0;

    for (size_t i = 0; i < w->waiting.n; i++) {
        struct text t = w->waiting.item[i]; /* the array may move */
        struct err e = ERR_INIT;

        if (write_text(w, &t, &e) < 0) {
            trouble(w, &e);
            w->waiting.item[kept++] = t;
            continue;
        }
        free(t.key);
        free(t.value);
    }
    w->waiting.n = kept;
}

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
    if (!f->path) {
        char *text;
        size_t i;

        pthread_mutex_lock(&w->lock);
        text = w->key[key]; /* the string itself never moves */
        pthread_mutex_unlock(&w->lock);
        i = file_of(w, METRICS, text);
        f->path =
            path_join(w->names[METRICS].folder, w->names[METRICS].item[i].file);
    }
    return f;
}

static void write_series(struct writer *w, struct series_file *f)
{
    struct err e = ERR_INIT;
    size_t done;
    int ret = 0;

    if (f->n == f->done)
        return;
    if (!f->made || !path_exists(f->path))
        ret = make_parent(f->path, &e);
    f->made = ret == 0;
    if (ret == 0) {
        ret = metric_append(f->path, f->point + f->done, f->n - f->done, &done,
                            &e);
        f->done += done;
    }
    if (f->done == f->n)
        f->done = f->n = 0;
    if (ret < 0)
        trouble(w, &e);
}

static void write_all(struct writer *w)
{
    for (size_t i = 0; i < w->n_files; i++)
        write_series(w, &w->file[i]);
}

/* Keys that count something else than the training's steps go on. */
static bool has_own_steps(const char *file)
{
    return strncmp(file, "system/", 7) == 0;
}

/* Every metric's file below a folder, with its length. */
static void mark_files(struct rewind *r, size_t *room, struct arena *mem,
                       const char *folder, const char *prefix)
{
    struct path_list names;
    struct err e = ERR_INIT;

    if (path_list(&names, folder, &e) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *path = path_join(folder, names.name[i]);
        char *key = arena_printf(mem, "%s%s", prefix, names.name[i]);
        int64_t size;

        if (path_is_folder(path)) {
            mark_files(r, room, mem, path, arena_printf(mem, "%s/", key));
        } else if (!has_own_steps(key) && metric_repair(path, &size, &e) == 0) {
            GROW(r->mark, r->n, *room);
            r->mark[r->n++] = (struct rewind_mark){ size, key };
        }
        free(path);
    }
    path_list_clear(&names);
}

static int do_rewind(struct writer *w, const struct point *p, struct err *e)
{
    struct rewind r = { .step = p->step,
                        .ms = p->ms,
                        .attempt = w->conf.attempt };
    struct arena mem = ARENA_INIT;
    size_t room = 0;
    int ret;

    mark_files(&r, &room, &mem, w->names[METRICS].folder, "");
    ret = rewind_add(w->run, &r, e);
    free(r.mark);
    arena_clear(&mem);
    return ret;
}

/*
 * A rewind is of what was logged before it, so everything before has to be in
 * the files first.  While it is not, later points wait in the blocks.
 */
static bool rewind_now(struct writer *w, const struct point *p)
{
    struct err e = ERR_INIT;

    write_all(w);
    if (!w->troubled && do_rewind(w, p, &e) < 0)
        trouble(w, &e);
    return !w->troubled;
}

/* Hand the items out to their series; returns the blocks that must wait. */
static struct block *hand_out(struct writer *w, struct block *first)
{
    while (first) {
        struct block *next = first->next;

        for (int i = 0; i < first->n; i++) {
            const struct item *item = &first->item[i];
            struct series_file *f;

            if (item->key == REWIND) {
                if (rewind_now(w, &item->point))
                    continue;
                first->n -= i;
                memmove(first->item, item, (size_t)first->n * sizeof *item);
                return first;
            }
            f = series_of(w, item->key);
            GROW(f->point, f->n, f->room);
            f->point[f->n++] = item->point;
        }
        pthread_mutex_lock(&w->lock);
        if (w->n_spare < SPARE) {
            first->next = w->spare;
            w->spare = first;
            w->n_spare++;
            first = NULL;
        }
        pthread_mutex_unlock(&w->lock);
        free(first);
        first = next;
    }
    return NULL;
}

/* Take what the callers left. */
static struct block *take(struct writer *w)
{
    struct block *first = w->first;

    w->first = w->last = NULL;
    w->n_blocks = 0;
    for (size_t i = 0; i < w->texts.n; i++) {
        GROW(w->waiting.item, w->waiting.n, w->waiting.room);
        w->waiting.item[w->waiting.n++] = w->texts.item[i];
    }
    w->texts.n = 0;
    return first;
}

/* Put back at the front, in order, what a rewind holds up. */
static void give_back(struct writer *w, struct block *rest)
{
    struct block *last = rest;

    if (!rest)
        return;
    while (last->next)
        last = last->next;
    last->next = w->first;
    w->first = rest;
    if (!w->last)
        w->last = last;
}

static void flush(struct writer *w, struct block *blocks)
{
    struct block *rest;

    w->troubled = false;
    write_texts(w);
    rest = hand_out(w, blocks);
    write_all(w);
    write_texts(w); /* names of new keys */
    if (rest) {
        pthread_mutex_lock(&w->lock);
        give_back(w, rest);
        pthread_mutex_unlock(&w->lock);
    }
    if (!w->troubled && w->warned) {
        log_info("%s: written again, nothing was lost", w->name);
        w->warned = false;
    }
}

static struct timespec after(double secs)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)secs;
    t.tv_nsec += (long)((secs - (double)(time_t)secs) * 1e9);
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

static void *work(void *arg)
{
    struct writer *w = arg;
    double pause = w->conf.flush_secs;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        const struct timespec until = after(pause);
        struct block *blocks;
        uint64_t asked;
        bool stop;
        int timeout = 0;

        while (!timeout && w->asked == w->answered && !w->stop &&
               (w->troubled || w->n_blocks < WAKE))
            timeout = pthread_cond_timedwait(&w->wake, &w->lock, &until);
        stop = w->stop;
        asked = w->asked;
        blocks = take(w);
        pthread_mutex_unlock(&w->lock);
        flush(w, blocks);
        w->conf.beat(w->conf.arg);
        pause = !w->troubled ? w->conf.flush_secs : pause < 15 ? pause * 2 : 30;
        pthread_mutex_lock(&w->lock);
        w->answered = asked;
        pthread_cond_broadcast(&w->idle);
        if (stop)
            break;
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* What earlier attempts called keys that are no files of their own. */
static void recall_names(struct writer *w)
{
    for (int i = 0; i < 3; i++) {
        char *folder = xasprintf("%s/tags", w->run);
        char *prefix = xasprintf("gtrack.key.%s.", folders[i]);
        struct path_list tags;
        struct err e = ERR_INIT;

        names_init(&w->names[i], w->run, folders[i]);
        if (path_list(&tags, folder, &e) == 0) {
            for (size_t j = 0; j < tags.n; j++) {
                char *path = path_join(folder, tags.name[j]);
                const size_t n = strlen(prefix);
                struct buf b = BUF_INIT;

                if (strncmp(tags.name[j], prefix, n) == 0 &&
                    buf_read_file(&b, path, 65536, &e) == 0)
                    names_set(&w->names[i], b.s, tags.name[j] + n);
                buf_clear(&b);
                free(path);
            }
            path_list_clear(&tags);
        }
        free(prefix);
        free(folder);
    }
}

int writer_start(struct writer **out, const struct writer_conf *conf,
                 struct err *e)
{
    struct writer *w = xcalloc(1, sizeof *w);
    pthread_condattr_t attr;
    const char *fixed = getenv("GT_CLOCK_MS");
    sigset_t all, was;
    int ret;

    w->conf = *conf;
    w->run = xstrdup(conf->run);
    w->name = xstrdup(conf->name);
    if (!fixed || !num_int(fixed, &w->fixed_ms))
        w->fixed_ms = -1;
    recall_names(w);
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attr);
    pthread_cond_init(&w->idle, NULL);
    pthread_condattr_destroy(&attr);
    sigfillset(&all); /* signals are for the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &was);
    ret = pthread_create(&w->thread, NULL, work, w);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
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

    pthread_mutex_lock(&w->lock);
    mine = ++w->asked;
    pthread_cond_signal(&w->wake);
    while (w->answered < mine)
        pthread_cond_wait(&w->idle, &w->lock);
    if (w->troubled) {
        *e = w->trouble;
        ret = -1;
    }
    pthread_mutex_unlock(&w->lock);
    return ret;
}

/* Points that are not in their files. */
static int64_t count_left(const struct writer *w)
{
    int64_t left = w->dropped;

    for (size_t i = 0; i < w->n_files; i++)
        left += (int64_t)(w->file[i].n - w->file[i].done);
    for (const struct block *b = w->first; b; b = b->next)
        left += b->n;
    return left;
}

static void free_all(struct writer *w)
{
    for (int i = 0; i < 2; i++) {
        struct block *b = i ? w->spare : w->first;

        while (b) {
            struct block *next = b->next;

            free(b);
            b = next;
        }
    }
    for (int i = 0; i < 2; i++) {
        struct texts *t = i ? &w->waiting : &w->texts;

        for (size_t j = 0; j < t->n; j++) {
            free(t->item[j].key);
            free(t->item[j].value);
        }
        free(t->item);
    }
    for (size_t i = 0; i < w->n_files; i++) {
        free(w->file[i].path);
        free(w->file[i].point);
    }
    for (size_t i = 0; i < w->n_keys; i++)
        free(w->key[i]);
    for (int i = 0; i < 3; i++)
        names_clear(&w->names[i]);
    pthread_cond_destroy(&w->wake);
    pthread_cond_destroy(&w->idle);
    pthread_mutex_destroy(&w->lock);
    free(w->key);
    free(w->slot);
    free(w->file);
    free(w->name);
    free(w->run);
    free(w);
}

int writer_stop(struct writer *w, struct err *e)
{
    enum { TRIES = 5, PAUSE_US = 100000 };
    struct err why = ERR_INIT;
    int64_t left;
    size_t texts;
    int ret = 0;

    for (int i = 1; writer_flush(w, &why) < 0 && i < TRIES; i++)
        usleep(PAUSE_US);
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    left = count_left(w);
    texts = w->waiting.n;
    if (left || texts) {
        *e = why;
        ret = err_wrap(e, "%s: %lld points, %zu parameters and tags are lost",
                       w->name, (long long)left, texts);
    }
    free_all(w);
    return ret;
}
