/*
 * corpus_feed - the thread that reads ahead and fills blocks
 *
 * A block ends at a boundary: the end of a line of JSON, or a position where
 * plain text may be divided.  The rest begins the next block.
 */
#include "config.h"
#include "data/corpus/corpus_impl.h"

#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "data/corpus/corpus_files.h"
#include "data/corpus/corpus_parquet.h"
#include "data/token/pretokenize.h"

/* The length of the complete lines of a block. */
static size_t last_line_end(struct corpus_block *b)
{
    const char *last = memrchr(b->data, '\n', b->size);

    return last ? (size_t)(last - b->data) + 1 : 0;
}

/* The last boundary that `before` finds outside special tokens, or 0. */
static size_t last_boundary(const struct corpus *c,
                            const struct corpus_block *b, boundary_fn *before)
{
    const struct corpus_conf *f = &c->conf;
    size_t at = b->size - c->separator_len;

    do
        at = before(b->data, at, CORPUS_KEY);
    while (at && boundary_inside_words(f->special, f->n_special, b->data,
                                       b->size, at));
    return at;
}

/* The last boundary that the tokenizer allows, or 0. */
static size_t plain_boundary(const struct corpus *c,
                             const struct corpus_block *b)
{
    const enum boundary_kind kind = c->conf.boundary;
    size_t at = 0;

    if (kind == BOUNDARY_ANY)
        at = last_boundary(c, b, boundary_before_blank);
    if (kind == BOUNDARY_SPACE)
        at = last_boundary(c, b, boundary_before_space);
    if (kind == BOUNDARY_ANY && !at)
        at = last_boundary(c, b, boundary_after_letter);
    return at;
}

/* The last boundary in plain text, or 0 if more text must be read first. */
static size_t find_boundary(struct corpus *c, struct corpus_block *b,
                            bool *inside)
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
    at = plain_boundary(c, b);
    if (at || b->size < CORPUS_PART)
        return at;
    if (c->long_file <= c->at.file)
        log_warn("%s:%lld: %d MiB without a blank%s; divided in the middle",
                 corpus_shown_name(c->files.list.name[c->at.file]),
                 (long long)c->at.line, CORPUS_PART >> 20,
                 c->conf.boundary == BOUNDARY_NONE
                     ? " at which the tokenizer allows a division"
                     : "");
    c->long_file = c->at.file + 1;
    return boundary_between_characters(b->data, b->size - len);
}

/* Double the buffer, up to a limit. */
static bool grow_block(struct corpus_block *b, size_t most)
{
    if (b->data_room >= most)
        return false;
    b->data_room = b->data_room * 2 < most ? b->data_room * 2 : most;
    b->data = xrealloc(b->data, b->data_room, 1);
    return true;
}

/* Skip a line that is too long.  The block keeps what was read after it. */
static int skip_line(struct corpus *c, struct corpus_block *b, struct err *e)
{
    err_input(e, "%s:%lld: the line has more than %zu bytes",
              corpus_shown_name(c->files.list.name[c->at.file]),
              (long long)c->at.line, b->size);
    if (corpus_bad_line(c, e) < 0) {
        b->size = 0;
        return -1;
    }
    b->bad++;
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

/* Queue this block up to `end`, and keep the rest for the next. */
static void finish_block(struct corpus *c, struct corpus_block *b, size_t end,
                         bool inside)
{
    c->rest_n = b->size - end;
    if (c->rest_n)
        memcpy(c->rest = xrealloc(c->rest, c->rest_n, 1), b->data + end,
               c->rest_n);
    b->size = end;
    b->at = c->at;
    c->at.offset += (int64_t)end;
    c->at.line += boundary_count_lines(b->data, end);
    c->at.inside = inside;
    b->next = c->at;
    corpus_queue_block(c, b);
}

/* Queue the last block of a file. */
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
 * End a file that cannot be read further: 0 to skip the rest, or -1.  The block
 * keeps its complete lines; after -1 its plain text is dropped, since it would
 * be divided at another position when the file is complete.
 */
static int end_damaged(struct corpus *c, struct corpus_block *b, struct err *e)
{
    const size_t whole = b->json ? last_line_end(b) : b->size;
    const int64_t line = c->at.line + boundary_count_lines(b->data, whole);
    const int ret = corpus_bad_file(c, line, e);

    b->size = ret == 0 || b->json ? whole : 0;
    return ret;
}

/* Reject a file that is not text, leave out a byte order mark, and warn of JSON
 * that would be read as plain text. */
static int check_start(struct corpus *c, struct corpus_block *b, struct err *e)
{
    const char *file = corpus_shown_name(c->files.list.name[c->at.file]);
    const char *help, *what = magic_name(b->data, b->size, &help);
    size_t i = 1;

    if (!what && !b->json && c->conf.format != CORPUS_TEXT &&
        magic_is_html(b->data, b->size)) {
        what = "an HTML page";
        help = "; 'html2text' converts it, and --input text reads its source";
    }
    if (what) {
        b->size = 0;
        err_input(e, "this is %s, which cannot be read as %s%s", what,
                  b->json ? "JSON Lines" : "text", help);
        return corpus_bad_file(c, c->at.line, e);
    }
    if (!b->json && b->size >= 3 && memcmp(b->data, "\xEF\xBB\xBF", 3) == 0) {
        b->size -= 3; /* a byte order mark */
        c->at.offset += 3;
        memmove(b->data, b->data + 3, b->size);
    }
    if (b->json || c->conf.format == CORPUS_TEXT || b->size == 0 ||
        b->data[0] != '{')
        return 1;
    while (i < b->size && strchr(" \t\r\n", b->data[i]) && b->data[i])
        i++;
    if (i < b->size && b->data[i] == '"')
        log_warn("%s is read as plain text, but looks like JSON; --input jsonl "
                 "reads JSON Lines",
                 file);
    return 1;
}

/* Fill a block from the open file: 1, 0 at the end of the file, or -1.  What a
 * long line made larger is filled only if another line needs that. */
static int fill_block(struct corpus *c, struct corpus_block *b, struct err *e)
{
    const size_t most = b->json ? c->conf.max_line : CORPUS_PART;
    bool inside = false, start = c->at.offset == 0;
    size_t room = CORPUS_BLOCK;

    while (b->data_room <= c->rest_n)
        grow_block(b, SIZE_MAX / 2);
    if (c->rest_n >= room)
        room = b->data_room;
    if (c->rest_n)
        memcpy(b->data, c->rest, c->rest_n);
    b->size = c->rest_n;
    for (;;) {
        size_t end;
        ssize_t got =
            source_read(c->source, b->data + b->size, room - b->size, e);

        if (got < 0)
            return end_damaged(c, b, e);
        if (got == 0)
            return 0;
        b->size += (size_t)got;
        if (start && (got = check_start(c, b, e)) <= 0)
            return (int)got;
        start = false;
        if (b->size < room)
            continue;
        end = b->json ? last_line_end(b) : find_boundary(c, b, &inside);
        if (end) {
            finish_block(c, b, end, inside);
            return 1;
        }
        if (room == b->data_room && !grow_block(b, most) &&
            skip_line(c, b, e) < 0)
            return -1;
        room = b->data_room;
    }
}

static int feed_stream(struct corpus *c, bool json, struct err *e)
{
    for (;;) {
        struct corpus_block *b = corpus_take_block(c);
        int got;

        if (!b)
            return err_set(e, ERR_INTERRUPTED, "interrupted");
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
    const char *name = c->files.list.name[c->at.file];
    struct http_conf http =
        c->conf.http ? *c->conf.http : (struct http_conf){ 0 };
    struct corpus_parquet *p;
    int got;

    http.cancel = &c->stop;
    if (corpus_parquet_open(&p, name, &http, c->field, c->conf.keep_lines,
                            c->where, e) < 0)
        return -1;
    do {
        struct corpus_block *b = corpus_take_block(c);

        if (!b) {
            got = err_set(e, ERR_INTERRUPTED, "interrupted");
            break;
        }
        b->json = true;
        b->at = c->at;
        got = corpus_parquet_next(p, c->at.offset, b, e);
        if (got > 0) {
            c->at.offset += (int64_t)b->n + b->left_out;
            c->at.line += (int64_t)b->n + b->left_out;
            b->next = c->at;
            corpus_queue_block(c, b);
        } else {
            corpus_done(c, b);
        }
    } while (got > 0);
    corpus_parquet_close(p);
    if (got < 0 &&
        (e->kind == ERR_INTERRUPTED || corpus_bad_file(c, c->at.line, e) < 0))
        return -1;
    c->at = (struct corpus_place){ c->at.file + 1, 0, 1, false };
    return 0;
}

/* Errors of a server have the URL already. */
static int name_file(const char *name, struct err *e)
{
    return e->kind == ERR_REMOTE ? -1
                                 : err_wrap(e, "%s", corpus_shown_name(name));
}

static int feed_file(struct corpus *c, struct err *e)
{
    const char *name = c->files.list.name[c->at.file];
    enum corpus_format f = c->conf.format;
    int ret;

    if (f == CORPUS_AUTO)
        f = corpus_files_format(name);
    pthread_mutex_lock(&c->lock);
    c->stats.files++;
    pthread_mutex_unlock(&c->lock);
    if (f == CORPUS_PARQUET)
        return feed_parquet(c, e);
    if (source_open(&c->source, name, c->wake, c->conf.http, e) < 0)
        return name_file(name, e);
    ret = c->at.offset ? source_skip(c->source, c->at.offset, e) : 0;
    if (ret < 0)
        name_file(name, e);
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
    struct err e = { 0 };

    while (c->at.file < c->files.list.n)
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
