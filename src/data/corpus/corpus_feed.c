/*
 * corpus_feed - the thread that reads ahead
 *
 * What a cut leaves over begins the next block.
 */
#include "config.h"
#include "data/corpus/corpus_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "data/corpus/parquet.h"
#include "data/token/boundary.h"

/* Cutting */

/* How much of the block is whole; the rest goes to the next.  0: none of it. */
static size_t cut_lines(struct corpus_block *b)
{
    const char *last = memrchr(b->data, '\n', b->size);

    return last ? (size_t)(last - b->data) + 1 : 0;
}

typedef size_t cut_fn(const char *text, size_t n, size_t least);

/* The last such place that divides no special token. */
static size_t cut_by(const struct corpus *c, const struct corpus_block *b,
                     cut_fn *cut)
{
    const struct corpus_conf *f = &c->conf;
    size_t at = b->size - c->separator_len;

    do
        at = cut(b->data, at, CORPUS_KEY);
    while (at && f->divides &&
           f->divides(f->divides_arg, b->data, b->size, at));
    return at;
}

static size_t cut_text(struct corpus *c, struct corpus_block *b, bool *inside)
{
    const size_t len = c->separator_len;
    const char *last = NULL;
    size_t at;

    if (len)
        last = boundary_last_word(b->data, b->size, c->conf.separator, len);
    if (last && (size_t)(last - b->data) >= b->size / 2) {
        *inside = false;
        return (size_t)(last - b->data) + len;
    }
    *inside = true;
    if (b->size <= len)
        return 0;
    at = cut_by(c, b, boundary_before_blank);
    if (!at)
        at = cut_by(c, b, boundary_after_letter);
    if (at || b->size < CORPUS_PART)
        return at;
    if (c->cut_file <= c->at.file)
        log_warn("%s:%lld: %d MiB without a blank; cut in the middle",
                 corpus_shown_name(c->files.name[c->at.file]),
                 (long long)c->at.line, CORPUS_PART >> 20);
    c->cut_file = c->at.file + 1;
    return boundary_between_characters(b->data, b->size - len);
}

/* Double the room, up to a limit. */
static bool enlarge(struct corpus_block *b, size_t most)
{
    if (b->data_room >= most)
        return false;
    b->data_room = b->data_room * 2 < most ? b->data_room * 2 : most;
    b->data = xrealloc(b->data, b->data_room, 1);
    return true;
}

/* Pass what belongs to a line that is too long; the block is empty then. */
static int drop_line(struct corpus *c, struct corpus_block *b, struct err *e)
{
    err_set(e, ERR_INPUT, "%s:%lld: a line of more than %zu bytes",
            corpus_shown_name(c->files.name[c->at.file]), (long long)c->at.line,
            b->size);
    if (corpus_bad_line(c, e) < 0) {
        b->size = 0;
        return -1;
    }
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
        b->size = got < 0 ? 0 : (size_t)got;
        if (got < 0)
            return corpus_bad_file(c, c->at.line, e);
        if (got == 0)
            return 0;
    }
}

/* Keep what comes after the cut for the next block, and queue this one. */
static void finish_block(struct corpus *c, struct corpus_block *b, size_t cut,
                         bool inside)
{
    c->rest_n = b->size - cut;
    if (c->rest_n)
        memcpy(c->rest = xrealloc(c->rest, c->rest_n, 1), b->data + cut,
               c->rest_n);
    b->size = cut;
    b->at = c->at;
    c->at.offset += (int64_t)cut;
    c->at.line += boundary_count_lines(b->data, cut);
    c->at.inside = inside;
    b->next = c->at;
    corpus_queue_block(c, b);
}

/* The last block of a file; what follows it is the next file. */
static void finish_file(struct corpus *c, struct corpus_block *b)
{
    b->at = c->at;
    c->at = (struct corpus_place){ c->at.file + 1, 0, 1, false };
    b->next = c->at;
    c->rest_n = 0;
    if (b->size || b->at.inside)
        corpus_queue_block(c, b);
    else
        corpus_done(c, b);
}

/*
 * The file cannot be read on: 0 to do without the rest, or -1; the block keeps
 * its whole lines.  Of plain text that is nothing in case of -1: it could not
 * be cut where it is cut when the file is mended.
 */
static int end_in_damage(struct corpus *c, struct corpus_block *b,
                         struct err *e)
{
    const size_t whole = b->json ? cut_lines(b) : b->size;
    const int64_t line = c->at.line + boundary_count_lines(b->data, whole);
    const int ret = corpus_bad_file(c, line, e);

    b->size = ret == 0 || b->json ? whole : 0;
    return ret;
}

/* One block out of the open file: 1, 0 at its end, -1, with what is whole. */
static int fill_block(struct corpus *c, struct corpus_block *b, struct err *e)
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

        if (got < 0)
            return end_in_damage(c, b, e);
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
        struct corpus_block *b = corpus_take_block(c);
        int got;

        if (!b)
            return err_set(e, ERR_INTERRUPTED, "stopped");
        b->json = json;
        got = fill_block(c, b, e);
        if (got < 0) {
            if (b->size)
                finish_block(c, b, b->size, false);
            else
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
        struct corpus_block *b = corpus_take_block(c);

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
            corpus_queue_block(c, b);
        } else {
            corpus_done(c, b);
        }
    } while (got > 0);
    parquet_close(p);
    if (got < 0 && e->kind != ERR_INTERRUPTED &&
        corpus_bad_file(c, c->at.line, e) < 0)
        return -1;
    if (got < 0 && e->kind == ERR_INTERRUPTED)
        return -1;
    c->at = (struct corpus_place){ c->at.file + 1, 0, 1, false };
    return 0;
}

static int feed_file(struct corpus *c, struct err *e)
{
    const char *name = c->files.name[c->at.file];
    enum corpus_format f = c->conf.format;
    int ret;

    if (f == CORPUS_AUTO)
        f = corpus_files_format(name);
    pthread_mutex_lock(&c->lock);
    c->stats.files++;
    pthread_mutex_unlock(&c->lock);
    if (f == CORPUS_PARQUET)
        return feed_parquet(c, e);
    if (source_open(&c->source, name, c->wake, e) < 0)
        return err_wrap(e, "%s", corpus_shown_name(name));
    ret = c->at.offset ? source_skip(c->source, c->at.offset, e) : 0;
    if (ret < 0)
        err_wrap(e, "%s", corpus_shown_name(name));
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

void *corpus_feed(void *arg)
{
    struct corpus *c = arg;
    struct err e = ERR_INIT;

    while (c->at.file < c->files.n)
        if (feed_file(c, &e) < 0) {
            corpus_fail(c, &e);
            break;
        }
    pthread_mutex_lock(&c->lock);
    c->ended = true;
    pthread_cond_broadcast(&c->filled);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}
