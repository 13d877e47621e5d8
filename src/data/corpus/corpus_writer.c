#include "config.h"
#include "data/corpus/corpus_writer.h"

#include <string.h>

#include "common/output/pager.h"
#include "data/corpus/jsonl.h"

enum { KEEP = 1 << 20 }; /* larger buffers are freed */

int corpus_writer_open(struct corpus_writer *w, const char *output,
                       struct corpus_conf *conf, struct err *e)
{
    *w = (struct corpus_writer){ .fp = stdout, .line = BUF_INIT };
    w->field = conf->field ? conf->field : "text";
    conf->keep_lines = true;
    if (strcmp(output, "-") == 0)
        return 0;
    if (save_open(&w->save, output, e) < 0)
        return -1;
    w->fp = w->save.fp;
    return 0;
}

void corpus_writer_line(const struct corpus_writer *w, struct buf *line,
                        const struct corpus_doc *d, const char *text, size_t n)
{
    if (!d->whole) {
        jsonl_write(line, text ? text : d->text, text ? n : d->len);
    } else if (text) {
        jsonl_replace(line, d->whole, d->whole_len, w->field, text, n);
    } else {
        buf_add(line, d->whole, d->whole_len);
        buf_char(line, '\n');
    }
}

static int add_lines(struct corpus_writer *w, struct buf *lines)
{
    if (w->fp == stdout) /* which may be a terminal */
        pager_data(lines->s, lines->len, ERR_IGNORED);
    else
        fwrite(lines->s, 1, lines->len, w->fp);
    if (lines->room > KEEP)
        buf_clear(lines);
    buf_trim(lines, 0);
    return ferror(w->fp) != 0;
}

int corpus_write(struct corpus_writer *w, const struct corpus_doc *d,
                 const char *text, size_t n)
{
    corpus_writer_line(w, &w->line, d, text, n);
    return add_lines(w, &w->line);
}

int corpus_writer_close(struct corpus_writer *w, int ret, struct err *e)
{
    if (ret == 0 && w->fp != stdout)
        ret = save_commit(&w->save, e);
    save_abandon(&w->save);
    buf_clear(&w->line);
    return ret;
}

/* ---- in several threads -------------------------------------------------- */

static int rewrite_block(void *worker, void *place,
                         const struct corpus_block *b, struct err *e)
{
    struct corpus_rewriter *w = worker;

    w->lines = place;
    return corpus_join(&w->join, b, w->fn, w, e);
}

static int write_lines(void *arg, void *place, struct err *e UNUSED)
{
    struct corpus_writer **const out = arg;
    struct buf *const lines = place;

    return add_lines(out[0], &lines[0]) ||
           (out[1] && add_lines(out[1], &lines[1]));
}

int corpus_rewrite(const struct corpus_conf *conf, corpus_doc_fn *fn,
                   void *workers, size_t size, int n,
                   struct corpus_writer *out[2], struct err *e)
{
    struct buf place[CORPUS_PLACES][2];
    const struct corpus_work work = { .find = rewrite_block,
                                      .write = write_lines,
                                      .worker = workers,
                                      .arg = out,
                                      .place = place,
                                      .worker_size = size,
                                      .place_size = sizeof *place,
                                      .threads = n,
                                      .whole = true };
    char *const end = (char *)workers + size * (size_t)n;
    struct corpus *corpus = NULL;
    int ret = corpus_open(&corpus, conf, e);

    for (int i = 0; i < 2 * CORPUS_PLACES; i++)
        place[i / 2][i % 2] = BUF_INIT;
    for (char *w = workers; w < end; w += size)
        *(struct corpus_rewriter *)w =
            (struct corpus_rewriter){ fn, CORPUS_JOIN_INIT, NULL };
    if (ret == 0)
        ret = corpus_work(corpus, &work, e);
    corpus_close(corpus);
    for (char *w = workers; w < end; w += size)
        buf_clear(&((struct corpus_rewriter *)w)->join.text);
    for (int i = 0; i < 2 * CORPUS_PLACES; i++)
        buf_clear(&place[i / 2][i % 2]);
    return ret;
}
