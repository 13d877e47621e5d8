/*
 * corpus - the reading thread, the queue, and the documents of a block
 *
 * The thread fills blocks with whole lines, or with text up to a place where
 * it may be cut, and queues them; what is left over begins the next block.
 * corpus_next() takes one from the queue and finds the documents in it.
 */
#include "config.h"
#include "data/corpus.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/hash.h"
#include "common/log.h"
#include "common/mem.h"
#include "data/cut.h"
#include "data/files.h"
#include "data/jsonl.h"
#include "data/parquet.h"
#include "data/source.h"

enum {
    BLOCKS_MAX = 64,
    SHOWN = 10, /* bad lines that are reported */
    MAX_LINE = 64 << 20,
    KEEP = 4 << 20, /* a larger buffer is not kept */
};

struct corpus {
    struct corpus_conf conf;
    const char *field;
    size_t separator_len;
    struct files files;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    struct block *queue[BLOCKS_MAX]; /* a ring: n from first on */
    size_t first, n;
    struct block *idle[BLOCKS_MAX];
    size_t idle_n, made, limit; /* blocks: idle, in being, allowed */
    int wake;                   /* readable when we are to stop */
    bool stop, ended, failed;
    struct err why;
    struct corpus_stats stats;
    size_t nul_file; /* files below were warned about */

    /* of the thread alone */
    struct source *source;
    int64_t taken_before; /* of the files before this one */
    int64_t seq;
    char *rest; /* what the last block left over */
    size_t rest_n;
    struct place at; /* where the rest begins */
};

/* The name in messages. */
static const char *shown_name(const char *file)
{
    return strcmp(file, "-") == 0 ? "standard input" : file;
}

/* Damage */

static int fail(struct corpus *c, const struct err *e)
{
    pthread_mutex_lock(&c->lock);
    if (!c->failed)
        c->why = *e;
    c->failed = true;
    pthread_cond_broadcast(&c->filled);
    pthread_mutex_unlock(&c->lock);
    return -1;
}

/* A line that is no good: 0 to go on without it, or -1. */
static int bad_line(struct corpus *c, struct err *e)
{
    int64_t count;

    if (c->conf.bad == CORPUS_STOP)
        return -1;
    pthread_mutex_lock(&c->lock);
    count = ++c->stats.bad_lines;
    pthread_mutex_unlock(&c->lock);
    if (count <= SHOWN)
        log_warn("%s; skipped", e->text);
    if (count == SHOWN)
        log_warn("further bad lines are counted, not shown");
    return 0;
}

/* A file that cannot be read on: 0 to go on with the next one, or -1. */
static int bad_file(struct corpus *c, struct err *e)
{
    err_wrap(e, "%s:%lld", shown_name(c->files.name[c->at.file]),
             (long long)c->at.line);
    if (c->conf.bad != CORPUS_SKIP_FILES || e->kind != ERR_INPUT)
        return -1;
    pthread_mutex_lock(&c->lock);
    c->stats.bad_files++;
    pthread_mutex_unlock(&c->lock);
    log_warn("%s; the rest of this file is skipped", e->text);
    return 0;
}

/* Blocks */

static void block_free(struct block *b)
{
    if (b) {
        free(b->doc);
        free(b->data);
        free(b);
    }
}

/* An empty block, as soon as there is one; NULL when we are to stop. */
static struct block *take_idle(struct corpus *c)
{
    struct block *b = NULL;

    pthread_mutex_lock(&c->lock);
    while (!c->idle_n && c->made == c->limit && !c->stop)
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

static void queue(struct corpus *c, struct block *b)
{
    b->seq = c->seq++;
    b->file = c->files.name[b->at.file];
    pthread_mutex_lock(&c->lock);
    c->queue[(c->first + c->n++) % BLOCKS_MAX] = b;
    pthread_cond_signal(&c->filled);
    pthread_mutex_unlock(&c->lock);
}

void corpus_done(struct corpus *c, struct block *b)
{
    if (b->data_room > KEEP) {
        free(b->data);
        b->data = NULL;
    }
    b->n = 0;
    pthread_mutex_lock(&c->lock);
    c->idle[c->idle_n++] = b;
    pthread_cond_signal(&c->emptied);
    pthread_mutex_unlock(&c->lock);
}

/* Cutting */

/* How much of the block is whole; the rest goes to the next.  0: none of it. */
static size_t cut_lines(struct block *b)
{
    const char *last = memrchr(b->data, '\n', b->size);

    return last ? (size_t)(last - b->data) + 1 : 0;
}

static size_t cut_text(struct corpus *c, struct block *b, bool *inside)
{
    const size_t len = c->separator_len;
    const char *last = NULL;
    size_t at;

    if (len)
        last = cut_last(b->data, b->size, c->conf.separator, len);
    if (last && (size_t)(last - b->data) >= b->size / 2) {
        *inside = false;
        return (size_t)(last - b->data) + len;
    }
    *inside = true;
    if (b->size <= len)
        return 0;
    at = cut_before_blank(b->data, b->size - len, CORPUS_KEY);
    if (at || b->size < CORPUS_PART)
        return at;
    log_warn("%s:%lld: %d MiB without a blank; cut in the middle",
             shown_name(c->files.name[c->at.file]), (long long)c->at.line,
             CORPUS_PART >> 20);
    return cut_between_characters(b->data, b->size - len);
}

/* Double the room, up to a limit. */
static bool enlarge(struct block *b, size_t most)
{
    if (b->data_room >= most)
        return false;
    b->data_room = b->data_room * 2 < most ? b->data_room * 2 : most;
    b->data = xrealloc(b->data, b->data_room, 1);
    return true;
}

/* Pass what belongs to a line that is too long; the block is empty then. */
static int drop_line(struct corpus *c, struct block *b, struct err *e)
{
    err_set(e, ERR_INPUT, "%s:%lld: a line of more than %zu bytes",
            shown_name(c->files.name[c->at.file]), (long long)c->at.line,
            b->size);
    if (bad_line(c, e) < 0)
        return -1;
    for (;;) {
        const char *end = memchr(b->data, '\n', b->size);
        ssize_t got;

        if (end) {
            const size_t n = (size_t)(end - b->data) + 1;

            c->at.offset += (int64_t)n;
            c->at.line++;
            b->size -= n;
            memmove(b->data, b->data + n, b->size);
            return 0;
        }
        c->at.offset += (int64_t)b->size;
        got = source_read(c->source, b->data, CORPUS_BLOCK, e);
        if (got < 0)
            return bad_file(c, e);
        b->size = (size_t)got;
        if (got == 0)
            return 0;
    }
}

/* Keep what comes after the cut for the next block, and queue this one. */
static void finish_block(struct corpus *c, struct block *b, size_t cut,
                         bool inside)
{
    c->rest_n = b->size - cut;
    if (c->rest_n)
        memcpy(c->rest = xrealloc(c->rest, c->rest_n, 1), b->data + cut,
               c->rest_n);
    b->size = cut;
    b->at = c->at;
    c->at.offset += (int64_t)cut;
    c->at.line += cut_count_lines(b->data, cut);
    c->at.inside = inside;
    b->next = c->at;
    queue(c, b);
}

/* The last block of a file; what follows it is the next file. */
static void finish_file(struct corpus *c, struct block *b)
{
    b->at = c->at;
    c->at = (struct place){ c->at.file + 1, 0, 1, false };
    b->next = c->at;
    c->rest_n = 0;
    if (b->size || b->at.inside)
        queue(c, b);
    else
        corpus_done(c, b);
}

/* One block out of the open file: 1, 0 at its end, -1. */
static int fill_block(struct corpus *c, struct block *b, struct err *e)
{
    const size_t most = b->json ? c->conf.max_line : CORPUS_PART;
    bool inside = false;

    while (b->data_room < c->rest_n)
        enlarge(b, SIZE_MAX / 2);
    if (c->rest_n)
        memcpy(b->data, c->rest, c->rest_n);
    b->size = c->rest_n;
    for (;;) {
        size_t cut;
        const ssize_t got = source_read(c->source, b->data + b->size,
                                        b->data_room - b->size, e);

        if (got < 0) { /* its whole lines came before */
            if (bad_file(c, e) < 0)
                return -1;
            b->size = b->json ? cut_lines(b) : b->size;
            return 0;
        }
        if (got == 0)
            return 0;
        b->size += (size_t)got;
        if (b->size < b->data_room)
            continue;
        cut = b->json ? cut_lines(b) : cut_text(c, b, &inside);
        if (cut) {
            finish_block(c, b, cut, inside);
            return 1;
        }
        if (!enlarge(b, most) && drop_line(c, b, e) < 0)
            return -1;
    }
}

static int feed_stream(struct corpus *c, bool json, struct err *e)
{
    for (;;) {
        struct block *b = take_idle(c);
        int got;

        if (!b)
            return err_set(e, ERR_INTERRUPTED, "stopped");
        b->json = json;
        got = fill_block(c, b, e);
        if (got < 0) {
            corpus_done(c, b);
            return -1;
        }
        if (got == 0) {
            finish_file(c, b);
            return 0;
        }
    }
}

static int feed_parquet(struct corpus *c, struct err *e)
{
    const char *name = c->files.name[c->at.file];
    struct parquet *p;
    int got;

    if (parquet_open(&p, name, c->field, e) < 0)
        return -1;
    do {
        struct block *b = take_idle(c);

        if (!b) {
            got = err_set(e, ERR_INTERRUPTED, "stopped");
            break;
        }
        b->json = true;
        b->at = c->at;
        got = parquet_next(p, c->at.offset, b, e);
        if (got > 0) {
            c->at.offset += (int64_t)b->n;
            c->at.line += (int64_t)b->n;
            b->next = c->at;
            queue(c, b);
        } else {
            corpus_done(c, b);
        }
    } while (got > 0);
    parquet_close(p);
    if (got < 0 && e->kind != ERR_INTERRUPTED && bad_file(c, e) < 0)
        return -1;
    if (got < 0 && e->kind == ERR_INTERRUPTED)
        return -1;
    c->at = (struct place){ c->at.file + 1, 0, 1, false };
    return 0;
}

static int feed_file(struct corpus *c, struct err *e)
{
    const char *name = c->files.name[c->at.file];
    enum corpus_format f = c->conf.format;
    int ret;

    if (f == CORPUS_AUTO)
        f = files_format(name);
    pthread_mutex_lock(&c->lock);
    c->stats.files++;
    pthread_mutex_unlock(&c->lock);
    if (f == CORPUS_PARQUET)
        return feed_parquet(c, e);
    if (source_open(&c->source, name, c->wake, e) < 0)
        return err_wrap(e, "%s", shown_name(name));
    ret = c->at.offset ? source_skip(c->source, c->at.offset, e) : 0;
    if (ret < 0)
        err_wrap(e, "%s", shown_name(name));
    else
        ret = feed_stream(c, f == CORPUS_JSONL, e);
    pthread_mutex_lock(&c->lock);
    c->taken_before += source_taken(c->source);
    c->stats.taken = c->taken_before;
    source_close(c->source);
    c->source = NULL;
    pthread_mutex_unlock(&c->lock);
    return ret;
}

static void *feed(void *arg)
{
    struct corpus *c = arg;
    struct err e = ERR_INIT;

    while (c->at.file < c->files.n)
        if (feed_file(c, &e) < 0) {
            fail(c, &e);
            break;
        }
    pthread_mutex_lock(&c->lock);
    c->ended = true;
    pthread_cond_broadcast(&c->filled);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Documents */

static void add_doc(struct block *b, const char *text, size_t len, int64_t line,
                    bool begins, bool ends)
{
    GROW(b->doc, b->n, b->room);
    b->doc[b->n++] = (struct doc){ text, len, line, begins, ends };
}

/* Each line of the block is a document. */
static int find_lines(struct corpus *c, struct block *b, struct err *e)
{
    char *at = b->data, *end = b->data + b->size, *next;

    for (int64_t line = b->at.line; at < end; at = next, line++) {
        char *newline = memchr(at, '\n', (size_t)(end - at)), *text;
        struct err why;
        size_t len;
        int got;

        next = newline ? newline + 1 : end;
        got = jsonl_field(at, (size_t)((newline ? newline : end) - at),
                          c->field, &text, &len, &why);
        if (got > 0) {
            add_doc(b, text, len, line, true, true);
        } else if (got < 0) {
            err_wrap(&why, "%s:%lld", shown_name(b->file), (long long)line);
            if (bad_line(c, &why) < 0) {
                *e = why;
                return -1;
            }
        }
    }
    return 0;
}

static void warn_of_nul(struct corpus *c, const struct block *b)
{
    const char *nul = memchr(b->data, '\0', b->size);
    bool first;

    if (!nul)
        return;
    pthread_mutex_lock(&c->lock);
    first = c->nul_file <= b->at.file;
    c->nul_file = first ? b->at.file + 1 : c->nul_file;
    pthread_mutex_unlock(&c->lock);
    if (first)
        log_warn(
            "%s:%lld: a NUL byte, kept as it is; is this text?",
            shown_name(b->file),
            (long long)(b->at.line +
                        cut_count_lines(b->data, (size_t)(nul - b->data))));
}

/* The block is text: one part of a document, or several, by separators. */
static void find_texts(struct corpus *c, struct block *b)
{
    const char *at = b->data, *end = b->data + b->size;
    int64_t line = b->at.line;
    bool begins = !b->at.inside;

    while (c->separator_len) {
        const char *found =
            memmem(at, (size_t)(end - at), c->conf.separator, c->separator_len);

        if (!found)
            break;
        if (found > at || !begins)
            add_doc(b, at, (size_t)(found - at), line, begins, true);
        found += c->separator_len;
        line += cut_count_lines(at, (size_t)(found - at));
        at = found;
        begins = true;
    }
    if (at < end || !begins)
        add_doc(b, at, (size_t)(end - at), line, begins, !b->next.inside);
    warn_of_nul(c, b);
}

static int find_docs(struct corpus *c, struct block *b, struct err *e)
{
    int64_t text = 0, ends = 0;

    if (!b->json)
        find_texts(c, b);
    else if (!b->n && find_lines(c, b, e) < 0)
        return -1;
    for (size_t i = 0; i < b->n; i++) {
        text += (int64_t)b->doc[i].len;
        ends += b->doc[i].ends;
    }
    pthread_mutex_lock(&c->lock);
    c->stats.text += text;
    c->stats.documents += ends;
    pthread_mutex_unlock(&c->lock);
    return 0;
}

int corpus_next(struct corpus *c, struct block **out, struct err *e)
{
    struct block *b = NULL;
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
    }
    pthread_mutex_unlock(&c->lock);
    if (failed)
        return -1;
    if (!b)
        return 0;
    if (find_docs(c, b, e) < 0) {
        corpus_done(c, b);
        return fail(c, e);
    }
    *out = b;
    return 1;
}

void corpus_stats(struct corpus *c, struct corpus_stats *out)
{
    pthread_mutex_lock(&c->lock);
    *out = c->stats;
    pthread_mutex_unlock(&c->lock);
}

size_t corpus_files(const struct corpus *c)
{
    return c->files.n;
}

const char *corpus_file(const struct corpus *c, size_t i)
{
    return c->files.name[i];
}

uint64_t doc_key(const struct doc *d)
{
    return hash128(d->text, d->len < CORPUS_KEY ? d->len : CORPUS_KEY, 0).hi;
}

bool doc_in_share(const struct doc *d, double share)
{
    return (double)(doc_key(d) >> 11) * 0x1p-53 < share;
}

/* Opening and closing */

static size_t block_limit(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t want = 4 + 2 * (size_t)(cores > 0 ? cores : 1);

    return want < BLOCKS_MAX ? want : BLOCKS_MAX;
}

int corpus_open(struct corpus **out, const struct corpus_conf *conf,
                struct err *e)
{
    struct corpus *c = xcalloc(1, sizeof *c);
    int ret;

    c->conf = *conf;
    c->field = conf->field ? conf->field : "text";
    c->separator_len = conf->separator ? strlen(conf->separator) : 0;
    if (!c->conf.max_line)
        c->conf.max_line = MAX_LINE;
    c->limit = block_limit();
    c->at = conf->from ? *conf->from : (struct place){ 0, 0, 1, false };
    if (files_find(&c->files, conf->path, conf->n, e) < 0) {
        free(c);
        return -1;
    }
    c->stats.total = c->files.total;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->filled, NULL);
    pthread_cond_init(&c->emptied, NULL);
    c->wake = eventfd(0, EFD_CLOEXEC);
    ret = c->wake < 0 ? errno : pthread_create(&c->thread, NULL, feed, c);
    if (ret) {
        errno = ret;
        err_sys(e, "cannot start a reading thread");
        files_clear(&c->files);
        free(c);
        return -1;
    }
    *out = c;
    return 0;
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
    for (size_t i = 0; i < c->idle_n; i++)
        block_free(c->idle[i]);
    for (size_t i = 0; i < c->n; i++)
        block_free(c->queue[(c->first + i) % BLOCKS_MAX]);
    pthread_cond_destroy(&c->filled);
    pthread_cond_destroy(&c->emptied);
    pthread_mutex_destroy(&c->lock);
    close(c->wake);
    files_clear(&c->files);
    free(c->rest);
    free(c);
}
