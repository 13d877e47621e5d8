/*
 * corpus - open and close a corpus; the queue of its blocks; its options
 */
#include "config.h"
#include "data/corpus/corpus_impl.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/hash.h"
#include "common/log.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/num.h"

const char *corpus_shown_name(const char *file)
{
    return strcmp(file, "-") == 0 ? "standard input" : file;
}

void corpus_fail(struct corpus *c, const struct err *e)
{
    pthread_mutex_lock(&c->lock);
    if (!c->failed)
        c->why = *e;
    c->failed = true;
    pthread_cond_broadcast(&c->filled);
    pthread_mutex_unlock(&c->lock);
}

int corpus_bad_line(struct corpus *c, struct err *e)
{
    int64_t count;

    if (c->conf.bad == CORPUS_STOP)
        return -1;
    pthread_mutex_lock(&c->lock);
    count = ++c->stats.bad_lines;
    pthread_mutex_unlock(&c->lock);
    if (count <= SHOWN && !c->conf.quiet)
        log_warn("%s; skipped", e->text);
    if (count == SHOWN && !c->conf.quiet)
        log_warn("further bad lines are skipped without a message");
    return 0;
}

int corpus_bad_file(struct corpus *c, int64_t line, struct err *e)
{
    if (e->kind == ERR_REMOTE)
        return -1;
    err_wrap(e, "%s:%lld", corpus_shown_name(c->files.list.name[c->at.file]),
             (long long)line);
    if (c->conf.bad != CORPUS_SKIP_FILES || e->kind != ERR_INPUT)
        return -1;
    pthread_mutex_lock(&c->lock);
    c->stats.bad_files++;
    pthread_mutex_unlock(&c->lock);
    if (!c->conf.quiet)
        log_warn("%s; skipped the rest of this file", e->text);
    return 0;
}

static void block_free(struct corpus_block *b)
{
    if (b)
        FREE(b->doc, b->data, b->lines, b);
}

static bool is_full(const struct corpus *c)
{
    return (!c->idle_n && c->made == c->limit) || c->queued > QUEUED_MAX;
}

struct corpus_block *corpus_take_block(struct corpus *c)
{
    struct corpus_block *b = NULL;

    pthread_mutex_lock(&c->lock);
    while (is_full(c) && !c->stop)
        pthread_cond_wait(&c->emptied, &c->lock);
    if (c->stop) {
        pthread_mutex_unlock(&c->lock);
        return NULL;
    }
    if (c->idle_n)
        b = c->idle[--c->idle_n];
    else
        c->made++;
    c->stats.taken =
        c->taken_before + (c->source ? source_taken(c->source) : 0);
    pthread_mutex_unlock(&c->lock);
    if (!b)
        b = xcalloc(1, sizeof *b);
    if (!b->data) {
        b->data = xmalloc(CORPUS_BLOCK);
        b->data_room = CORPUS_BLOCK;
    }
    return b;
}

void corpus_queue_block(struct corpus *c, struct corpus_block *b)
{
    b->seq = c->seq++;
    b->file = c->files.list.name[b->at.file];
    pthread_mutex_lock(&c->lock);
    c->queue[(c->first + c->n++) % BLOCKS_MAX] = b;
    c->queued += b->size;
    pthread_cond_signal(&c->filled);
    pthread_mutex_unlock(&c->lock);
}

/* Wake the thread for several blocks at once, or when the queue is empty. */
static void wake_reader(struct corpus *c)
{
    if (!c->n || c->idle_n * 2 >= c->limit)
        pthread_cond_signal(&c->emptied);
}

void corpus_done(struct corpus *c, struct corpus_block *b)
{
    if (b->data_room > KEEP) {
        free(b->data);
        b->data = NULL;
    }
    if (b->lines_room > KEEP) {
        free(b->lines);
        b->lines = NULL;
        b->lines_room = 0;
    }
    b->n = 0;
    b->bad = 0;
    b->left_out = 0;
    pthread_mutex_lock(&c->lock);
    c->idle[c->idle_n++] = b;
    wake_reader(c);
    pthread_mutex_unlock(&c->lock);
}

/* Were too many lines bad?  Called at the end, with the lock held.  While other
 * threads are still counting, this is not known; the last of them asks again.
 */
static int check_bad(const struct corpus *c, struct err *e)
{
    const int64_t bad = c->conf.had_bad + c->stats.bad_lines;
    const int64_t all = c->conf.had + c->stats.documents + bad;
    char a[NUM_TEXT], b[NUM_TEXT];

    if (c->finding > 0 || (double)bad <= (1 - c->conf.good) * (double)all)
        return 0;
    return err_set(
        e, ERR_INPUT, "%s of %s lines are bad; --max-bad allows %g%%",
        num_comma(a, bad), num_comma(b, all), 100 * (1 - c->conf.good));
}

/* Wait for the next block, whose documents are not known yet: 1, 0 or -1. */
static int take_block(struct corpus *c, struct corpus_block **out,
                      struct err *e)
{
    struct corpus_block *b = NULL;
    bool failed;

    pthread_mutex_lock(&c->lock);
    while (!c->n && !c->ended && !c->failed)
        pthread_cond_wait(&c->filled, &c->lock);
    failed = !c->n && c->failed;
    if (failed) {
        *e = c->why;
    } else if (c->n) {
        b = c->queue[c->first];
        c->first = (c->first + 1) % BLOCKS_MAX;
        c->n--;
        c->queued -= b->size;
        c->finding++;
        wake_reader(c);
    } else {
        failed = check_bad(c, e) < 0;
    }
    pthread_mutex_unlock(&c->lock);
    *out = b;
    return failed ? -1 : b != NULL;
}

int corpus_next(struct corpus *c, struct corpus_block **out, struct err *e)
{
    const int got = take_block(c, out, e);

    if (got <= 0 || corpus_find_docs(c, *out, e) == 0)
        return got;
    corpus_done(c, *out);
    corpus_fail(c, e);
    return -1;
}

/* What the threads share that work on the blocks. */
struct working {
    struct corpus *corpus;
    const struct corpus_work *work;
    int64_t places;        /* few, so that they stay in the caches */
    atomic_size_t started; /* workers */
    pthread_mutex_t turn;  /* to take a block */

    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t space;
    bool ready[CORPUS_PLACES]; /* to be written */
    struct err why[CORPUS_PLACES];
    int64_t next; /* the block to be written next */
    bool writing, stop;
    struct err err;
};

static void *place_of(const struct working *s, int64_t seq)
{
    return (char *)s->work->place +
           (size_t)(seq % s->places) * s->work->place_size;
}

/* With the lock held: write the blocks whose turn it is, unless another thread
 * is writing. */
static void write_ready(struct working *s)
{
    const struct corpus_work *const w = s->work;
    int64_t i;

    if (s->writing)
        return;
    s->writing = true;
    while (!s->stop && s->ready[i = s->next % s->places]) {
        struct err e = s->why[i];
        int got = e.kind == ERR_NONE ? 0 : -1;

        pthread_mutex_unlock(&s->lock);
        if (got == 0 && w->write)
            got = w->write(w->arg, place_of(s, i), &e);
        pthread_mutex_lock(&s->lock);
        s->ready[i] = false;
        s->next++;
        s->stop = got != 0;
        s->err = e;
        pthread_cond_broadcast(&s->space);
    }
    s->writing = false;
    if (s->stop)
        corpus_fail(s->corpus, &s->err); /* no thread waits for more */
}

/* Work on a block when its place is free, unless all stops. */
static void work_block(struct working *s, void *worker, struct corpus_block *b,
                       struct err *e)
{
    const int64_t seq = b->seq;
    bool stop;

    pthread_mutex_lock(&s->lock);
    while (!s->stop && seq >= s->next + s->places)
        pthread_cond_wait(&s->space, &s->lock);
    stop = s->stop;
    pthread_mutex_unlock(&s->lock);
    if (!stop && e->kind == ERR_NONE)
        s->work->find(worker, place_of(s, seq), b, e);
    corpus_done(s->corpus, b);
    pthread_mutex_lock(&s->lock);
    s->ready[seq % s->places] = true;
    s->why[seq % s->places] = *e;
    write_ready(s);
    pthread_mutex_unlock(&s->lock);
}

/* A worker whose block ends inside a document may keep the turn. */
static void work_blocks(void *arg)
{
    struct working *s = arg;
    const struct corpus_work *const w = s->work;
    char *worker =
        (char *)w->worker + atomic_fetch_add(&s->started, 1) * w->worker_size;
    struct corpus_block *b;
    struct err e = { 0 };
    bool inside = false;
    int got;

    do {
        if (!inside)
            pthread_mutex_lock(&s->turn);
        got = take_block(s->corpus, &b, &e);
        inside = w->whole && got > 0 && b->next.inside;
        if (got > 0 && w->positions)
            corpus_find_docs(s->corpus, b, &e);
        if (!inside)
            pthread_mutex_unlock(&s->turn);
        if (got > 0 && !w->positions)
            corpus_find_docs(s->corpus, b, &e);
        if (got > 0)
            work_block(s, worker, b, &e);
    } while (got > 0 && e.kind == ERR_NONE);
    if (inside)
        pthread_mutex_unlock(&s->turn);
    if (got < 0)
        corpus_fail(s->corpus, &e);
}

int corpus_work(struct corpus *c, const struct corpus_work *w, struct err *e)
{
    struct working s = { .corpus = c,
                         .work = w,
                         .places = w->threads < CORPUS_PLACES / 4
                                       ? 4 * w->threads
                                       : CORPUS_PLACES,
                         .turn = PTHREAD_MUTEX_INITIALIZER,
                         .lock = PTHREAD_MUTEX_INITIALIZER,
                         .space = PTHREAD_COND_INITIALIZER };

    threads_run(work_blocks, &s, 0, w->threads);
    if (!c->failed || (s.stop && s.err.kind == ERR_NONE))
        return 0;
    *e = s.stop ? s.err : c->why;
    return -1;
}

void corpus_stats(struct corpus *c, struct corpus_stats *out)
{
    pthread_mutex_lock(&c->lock);
    *out = c->stats;
    pthread_mutex_unlock(&c->lock);
}

enum { DOCUMENT_MAX = 1 << 30 };

/* Add a part to the document, whose text is joined if it has several. */
static int add_part(struct corpus_join *j, const struct corpus_block *b,
                    const struct corpus_doc *part, struct err *e)
{
    if (part->begins) {
        buf_trim(&j->text, 0);
        j->doc = *part;
        j->doc.file = b->file;
    }
    if (part->begins && part->ends)
        return 0;
    if (j->text.len + part->len > DOCUMENT_MAX)
        return err_input(e,
                         "%s: a document has more than %d MiB; does the input "
                         "need a --separator?",
                         b->file, DOCUMENT_MAX >> 20);
    buf_add(&j->text, part->text, part->len);
    j->doc.text = j->text.s;
    j->doc.len = j->text.len;
    return 0;
}

int corpus_join(struct corpus_join *j, const struct corpus_block *b,
                corpus_doc_fn *fn, void *arg, struct err *e)
{
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < b->n; i++) {
        ret = add_part(j, b, &b->doc[i], e);
        if (ret == 0 && b->doc[i].ends)
            ret = fn(arg, &j->doc, e);
    }
    return ret;
}

int corpus_each(const struct corpus_conf *conf, corpus_doc_fn *fn, void *arg,
                struct err *e)
{
    struct corpus_join join = CORPUS_JOIN_INIT;
    struct corpus *corpus;
    struct corpus_block *b;
    int got = 0, ret = 0;

    if (corpus_open(&corpus, conf, e) < 0)
        return -1;
    while (ret == 0 && (got = corpus_next(corpus, &b, e)) > 0) {
        ret = corpus_join(&join, b, fn, arg, e);
        corpus_done(corpus, b);
    }
    corpus_close(corpus);
    buf_clear(&join.text);
    return ret < 0 || got < 0 ? -1 : 0;
}

bool corpus_doc_in_share(const struct corpus_doc *d, double share)
{
    const size_t n = d->len < CORPUS_KEY ? d->len : CORPUS_KEY;

    return (double)(hash128(d->text, n, 0).hi >> 11) * 0x1p-53 < share;
}

/* Few, so that a block is in a cache when it is worked on. */
static size_t block_limit(void)
{
    const size_t want = 8 + 2 * (size_t)cores_processors();

    return want < BLOCKS_MAX ? want : BLOCKS_MAX;
}

static void corpus_free(struct corpus *c)
{
    for (size_t i = 0; i < c->idle_n; i++)
        block_free(c->idle[i]);
    for (size_t i = 0; i < c->n; i++)
        block_free(c->queue[(c->first + i) % BLOCKS_MAX]);
    path_list_clear(&c->files.list);
    free(c->rest);
    where_free(c->where);
    free(c);
}

static int find_files(struct corpus_files *f, const struct corpus_conf *conf,
                      struct err *e)
{
    if (corpus_files_find(f, conf->path, conf->n, e) < 0 ||
        corpus_files_part(f, conf->part, e) < 0)
        return -1;
    return !conf->again || f->total >= 0
               ? 0
               : err_usage(e,
                           "%s reads its input several times, so it takes "
                           "files and folders, but no pipes, URLs or standard "
                           "input",
                           conf->again);
}

int corpus_open(struct corpus **out, const struct corpus_conf *conf,
                struct err *e)
{
    struct corpus *c = xcalloc(1, sizeof *c);
    int ret;

    c->conf = *conf;
    c->field = conf->field ? conf->field : conf->chat ? "messages" : "text";
    c->separator_len = conf->separator ? strlen(conf->separator) : 0;
    if (!c->conf.max_line)
        c->conf.max_line = MAX_LINE;
    c->limit = block_limit();
    c->at = conf->from ? *conf->from : (struct corpus_place){ 0, 0, 1, false };
    c->where = conf->where ? where_parse(conf->where, e) : NULL;
    if ((conf->where && !c->where) || find_files(&c->files, conf, e) < 0) {
        corpus_free(c);
        return -1;
    }
    c->stats.total = c->files.total;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->filled, NULL);
    pthread_cond_init(&c->emptied, NULL);
    c->wake = eventfd(0, EFD_CLOEXEC);
    ret =
        c->wake < 0 ? errno : pthread_create(&c->thread, NULL, corpus_feed, c);
    if (ret) {
        errno = ret;
        err_sys(e, "cannot start a thread that reads the input");
        corpus_free(c);
        return -1;
    }
    *out = c;
    return 0;
}

/* What no document has is probably a mistake in the name. */
static void report_left_out(const struct corpus *c)
{
    const char *missing = where_missing(c->where);
    char n[NUM_TEXT], all[NUM_TEXT];

    log_info(
        "--where leaves out %s of %s", num_comma(n, c->stats.left_out),
        num_count(all, c->stats.documents + c->stats.left_out, "document"));
    if (missing)
        log_warn("no document has the field \"%s\" of --where", missing);
}

static void report_skipped(const struct corpus *c)
{
    const struct corpus_stats *s = &c->stats;
    char n[NUM_TEXT];

    if (c->where)
        report_left_out(c);
    if (s->bad_lines > 0)
        log_warn("skipped %s", num_count(n, s->bad_lines, "bad line"));
    if (s->bad_files > 0)
        log_warn("skipped the rest of %s",
                 num_count(n, s->bad_files, "damaged file"));
    if (s->invalid > 0)
        log_warn("found %s of invalid UTF-8; if the text has another encoding, "
                 "convert it, as with 'iconv -f latin1 -t utf-8'",
                 num_count(n, s->invalid, "byte"));
}

void corpus_close(struct corpus *c)
{
    const uint64_t one = 1;

    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_broadcast(&c->emptied);
    pthread_mutex_unlock(&c->lock);
    while (write(c->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_join(c->thread, NULL);
    if (!c->conf.quiet)
        report_skipped(c);
    pthread_cond_destroy(&c->filled);
    pthread_cond_destroy(&c->emptied);
    pthread_mutex_destroy(&c->lock);
    close(c->wake);
    corpus_free(c);
}

/* ---- options ---------------------------------------------------------- */

const char *const corpus_formats[] = {
    [CORPUS_AUTO] = "auto",
    [CORPUS_TEXT] = "text",
    [CORPUS_JSONL] = "jsonl",
    [CORPUS_PARQUET] = "parquet",
    NULL,
};

const char *const corpus_bad_words[] = {
    [CORPUS_SKIP_LINES] = "lines",
    [CORPUS_SKIP_FILES] = "files",
    [CORPUS_STOP] = "stop",
    NULL,
};

int corpus_conf_set(struct corpus_conf *c, const struct corpus_opts *o,
                    char *const *path, int n, struct err *e)
{
    if (n == 0)
        return err_usage(e, "name the text to read");
    if (o->separator && !*o->separator)
        return err_usage(e, "--separator expects a text");
    *c = (struct corpus_conf){
        .path = path,
        .n = (size_t)n,
        .format = (enum corpus_format)o->format,
        .field = o->field,
        .separator = o->separator,
        .where = o->where,
        .part = o->part,
        .bad = (enum corpus_bad)o->bad,
        .good = 1 - o->max_bad,
        .quiet = getenv("GDATA_TEXT_IS_KNOWN") != NULL,
    };
    return 0;
}
