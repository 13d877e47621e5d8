#include "config.h"
#include "data/shards/encode_corpus.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/progress.h"
#include "common/sig.h"

enum { RING = 64, SAME = -1, BAR_AFTER = 2 };

/* Consecutive ids of a block that belong to one subset. */
struct id_range {
    size_t n;
    int subset; /* or SAME, that of the range before */
};

/* The ids of a block. */
struct encoded_block {
    int64_t seq;
    struct corpus_place place; /* after it */
    struct ids ids;            /* packed to the width of the shards */
    struct id_range *range;
    size_t n_ranges, ranges_room;
    int64_t documents, bad, text;
    struct encoded_block *next_spare;
};

/* What the threads share. */
struct encode_job {
    struct corpus *corpus;
    struct sink *sink;
    const struct encode_corpus_conf *conf;
    int64_t train_to, test_from; /* positions, to hold out the tail */

    pthread_mutex_t take_lock; /* protects text_at and the order of blocks */
    int64_t text_at;

    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t space;
    struct encoded_block *ring[RING];
    struct encoded_block *spare;
    int64_t next; /* the block to be written next */
    bool writing, stop;
    struct err err;

    struct sink_state state; /* these belong to the thread that writes */
    struct encode_corpus_stats stats;
    struct progress bar;
    bool bar_open;
    int64_t bar_at;
    double begin;
};

struct encode_worker {
    struct encode_job *job;
    struct encoder *enc;
    pthread_t thread;
};

static int subset_at(const struct encode_job *job, int64_t at)
{
    if (at < job->train_to)
        return SUBSET_TRAIN;
    return at < job->test_from ? SUBSET_VAL : SUBSET_TEST;
}

static int subset_of_hash(const struct encode_job *job,
                          const struct corpus_doc *d)
{
    const double val = job->conf->val, test = job->conf->test;

    if (val > 0 && corpus_doc_in_share(d, val))
        return SUBSET_VAL;
    if (test > 0 && corpus_doc_in_share(d, val + test))
        return SUBSET_TEST;
    return SUBSET_TRAIN;
}

static void add_range(struct encoded_block *r, size_t n, int subset)
{
    struct id_range *last = r->n_ranges > 0 ? r->range + r->n_ranges - 1 : NULL;

    if (n == 0)
        return;
    if (last && (subset == SAME || last->subset == subset)) {
        last->n += n;
        return;
    }
    GROW(r->range, r->n_ranges, r->ranges_room);
    r->range[r->n_ranges++] = (struct id_range){ n, subset };
}

static void add_eot(struct encode_worker *w, struct encoded_block *r)
{
    ids_reserve(&r->ids, 1);
    r->ids.id[r->ids.n++] = tokenizer_eot(w->job->conf->tokenizer);
}

static int encode_text(struct encode_worker *w, struct encoded_block *r,
                       const struct corpus_block *b, const struct corpus_doc *d,
                       const char *text, size_t n, struct err *e)
{
    const size_t left_out = encoder_run(w->enc, text, n, &r->ids);

    if (left_out > 0)
        return err_set(e, ERR_INPUT,
                       "%s:%lld: the tokenizer has no id for %zu characters "
                       "of this document",
                       b->file, (long long)d->line, left_out);
    return 0;
}

/*
 * A document of plain text is divided, between two characters, where one subset
 * ends and the next begins.  Returns the length of the first part, or 0 if the
 * n bytes of text at position `at` belong to one subset.
 */
static size_t first_part(const struct encode_job *job,
                         const struct corpus_block *b, const char *text,
                         size_t n, int64_t at)
{
    const int64_t ends[] = { job->train_to, job->test_from };

    if (job->conf->text == 0 || b->json)
        return 0;
    for (size_t i = 0; i < 2; i++) {
        const int64_t left = ends[i] - at;

        if (left > 0 && left < (int64_t)n) {
            size_t k = (size_t)left;

            while (k > 0 && ((uint8_t)text[k] & 0xC0) == 0x80)
                k--;
            return k;
        }
    }
    return 0;
}

/* The subset of a document, or SAME if it continues that of the block before.
 */
static int subset_of(const struct encode_job *job, const struct corpus_block *b,
                     const struct corpus_doc *d, int64_t at)
{
    if (job->conf->text > 0 && (d->begins || !b->json))
        return subset_at(job, at);
    return d->begins ? subset_of_hash(job, d) : SAME;
}

static int encode_doc(struct encode_worker *w, struct encoded_block *r,
                      const struct corpus_block *b, const struct corpus_doc *d,
                      int64_t at, struct err *e)
{
    const struct encode_corpus_conf *c = w->job->conf;
    int subset = subset_of(w->job, b, d, at);
    const char *text = d->text;
    size_t n = d->len, begin = r->ids.n, k;

    if (d->begins && c->eot == ENCODE_EOT_FIRST)
        add_eot(w, r);
    while ((k = first_part(w->job, b, text, n, at)) > 0) {
        if (encode_text(w, r, b, d, text, k, e) < 0)
            return -1;
        add_range(r, r->ids.n - begin, subset);
        begin = r->ids.n;
        text += k;
        n -= k;
        at += (int64_t)k;
        subset = subset_at(w->job, at);
    }
    if (encode_text(w, r, b, d, text, n, e) < 0)
        return -1;
    if (d->ends && c->eot == ENCODE_EOT_LAST)
        add_eot(w, r);
    add_range(r, r->ids.n - begin, subset);
    r->documents += d->ends;
    return 0;
}

/* Convert ids to uint16 in place, eight at a time. */
static void pack_ids(struct ids *ids)
{
    typedef int32_t wide __attribute__((vector_size(32)));
    typedef uint16_t narrow __attribute__((vector_size(16)));
    const int32_t *from = ids->id;
    char *out = (char *)ids->id;
    size_t i = 0;

    for (; i + 8 <= ids->n; i += 8) {
        wide w;
        narrow n;

        memcpy(&w, from + i, sizeof w);
        n = __builtin_convertvector(w, narrow);
        memcpy(out + 2 * i, &n, sizeof n);
    }
    for (; i < ids->n; i++) {
        const uint16_t id = (uint16_t)from[i];

        memcpy(out + 2 * i, &id, sizeof id);
    }
}

static int encode_block(struct encode_worker *w, struct encoded_block *r,
                        const struct corpus_block *b, int64_t at, struct err *e)
{
    const struct encode_corpus_conf *c = w->job->conf;
    const bool replace = c->invalid == ENCODE_INVALID_REPLACE ||
                         (c->invalid == ENCODE_INVALID_AUTO && b->json);

    encoder_flags(w->enc, (replace ? ENCODER_REPLACE : 0) |
                              (c->special ? ENCODER_SPECIAL : 0));
    r->seq = b->seq;
    r->place = b->next;
    r->ids.n = 0;
    r->n_ranges = 0;
    r->documents = 0;
    r->bad = b->bad;
    r->text = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (encode_doc(w, r, b, &b->doc[i], at + r->text, e) < 0)
            return -1;
        r->text += (int64_t)b->doc[i].len;
    }
    if (c->width == 2)
        pack_ids(&r->ids);
    return 0;
}

/* Show a progress bar if the work takes more than a moment. */
static void show_progress(struct encode_job *job)
{
    struct corpus_stats s;
    char text[64], n[NUM_TEXT];

    if (!job->bar_open && clock_mono() - job->begin < BAR_AFTER)
        return;
    corpus_stats(job->corpus, &s);
    if (!job->bar_open)
        progress_open(&job->bar, (long)(s.taken >> 20),
                      s.total > 0 ? (long)(s.total >> 20) : 0, "MiB");
    else if (s.taken >> 20 == job->bar_at)
        return;
    job->bar_open = true;
    job->bar_at = s.taken >> 20;
    snprintf(text, sizeof text, "%s tokens",
             num_short(n, (double)job->state.tokens));
    progress_at(&job->bar, (long)(s.taken >> 20), text);
}

/* Returns 1 if there are enough tokens. */
static int write_block(struct encode_job *job, const struct encoded_block *r,
                       struct err *e)
{
    struct sink_state *const s = &job->state;
    const int64_t most = job->conf->tokens;
    const char *p = (const char *)r->ids.id;

    for (size_t i = 0; i < r->n_ranges; i++) {
        size_t n = r->range[i].n;

        if (r->range[i].subset != SAME)
            s->subset = r->range[i].subset;
        if (most > 0 && (int64_t)n > most - s->tokens)
            n = (size_t)(most - s->tokens);
        if (sink_add(job->sink, s->subset, p, n, e) < 0)
            return -1;
        p += n * (size_t)job->conf->width;
        s->tokens += (int64_t)n;
        job->stats.by_subset[s->subset] += (int64_t)n;
    }
    s->place = r->place;
    s->documents += r->documents;
    s->bad += r->bad;
    s->text += r->text;
    show_progress(job);
    if (most > 0 && s->tokens >= most)
        return 1;
    return sink_due(job->sink) ? sink_save_state(job->sink, s, e) : 0;
}

/* Keep a block for reuse; the lock is held. */
static void recycle_block(struct encode_job *job, struct encoded_block *r)
{
    r->next_spare = job->spare;
    job->spare = r;
}

/* With the lock held: write the blocks whose turn it is, unless another thread
 * is writing. */
static void write_ready(struct encode_job *job)
{
    struct encoded_block *r;

    if (job->writing)
        return;
    job->writing = true;
    while (!job->stop && (r = job->ring[job->next % RING])) {
        struct err e = ERR_INIT;
        int got;

        pthread_mutex_unlock(&job->lock);
        got = write_block(job, r, &e);
        pthread_mutex_lock(&job->lock);
        job->ring[job->next % RING] = NULL;
        recycle_block(job, r);
        job->next++;
        if (got != 0)
            job->stop = true;
        if (got < 0)
            job->err = e;
        pthread_cond_broadcast(&job->space);
    }
    job->writing = false;
}

static void queue_block(struct encode_job *job, struct encoded_block *r)
{
    pthread_mutex_lock(&job->lock);
    while (!job->stop && r->seq >= job->next + RING)
        pthread_cond_wait(&job->space, &job->lock);
    if (!job->stop) {
        job->ring[r->seq % RING] = r;
        write_ready(job);
    } else {
        recycle_block(job, r);
    }
    pthread_mutex_unlock(&job->lock);
}

static struct encoded_block *empty_block(struct encode_job *job)
{
    struct encoded_block *r;

    pthread_mutex_lock(&job->lock);
    r = job->spare;
    if (r)
        job->spare = r->next_spare;
    pthread_mutex_unlock(&job->lock);
    return r ? r : xcalloc(1, sizeof *r);
}

/* Stop all threads because this block could not be encoded. */
static void fail_block(struct encode_job *job, struct encoded_block *r,
                       const struct err *e)
{
    pthread_mutex_lock(&job->lock);
    if (!job->stop)
        job->err = *e;
    job->stop = true;
    if (r)
        recycle_block(job, r);
    pthread_cond_broadcast(&job->space);
    pthread_mutex_unlock(&job->lock);
}

static bool is_stopped(struct encode_job *job)
{
    bool stop;

    pthread_mutex_lock(&job->lock);
    stop = job->stop;
    pthread_mutex_unlock(&job->lock);
    return stop;
}

/* The next block, and the position of its text in the input. */
static int take_block(struct encode_job *job, struct corpus_block **b,
                      int64_t *at, struct err *e)
{
    int got;

    pthread_mutex_lock(&job->take_lock);
    got = corpus_next(job->corpus, b, e);
    *at = job->text_at;
    for (size_t i = 0; got > 0 && i < (*b)->n; i++)
        job->text_at += (int64_t)(*b)->doc[i].len;
    pthread_mutex_unlock(&job->take_lock);
    return got;
}

static void *encode_blocks(void *arg)
{
    struct encode_worker *w = arg;
    struct encode_job *job = w->job;
    struct err e = ERR_INIT;

    while (!is_stopped(job) && !sig_caught()) {
        struct encoded_block *r = NULL;
        struct corpus_block *b;
        int64_t at;
        int got = take_block(job, &b, &at, &e);

        if (got == 0)
            break;
        if (got > 0) {
            r = empty_block(job);
            got = encode_block(w, r, b, at, &e);
            corpus_done(job->corpus, b);
        }
        if (got < 0) {
            fail_block(job, r, &e);
            break;
        }
        queue_block(job, r);
    }
    return NULL;
}

static int run_threads(struct encode_job *job, struct err *e)
{
    const struct tokenizer *t = job->conf->tokenizer;
    const int n = job->conf->threads;
    struct encode_worker *w = xcalloc((size_t)n, sizeof *w);
    struct lexicon *lexicon = lexicon_new(t);
    int started = 1;

    for (int i = 0; i < n; i++)
        w[i] = (struct encode_worker){ .job = job,
                                       .enc = encoder_new(t, lexicon, 0) };
    for (; started < n; started++)
        if (pthread_create(&w[started].thread, NULL, encode_blocks,
                           &w[started]) != 0)
            break;
    if (started < n)
        log_warn("only %d of %d threads could be started", started, n);
    encode_blocks(&w[0]);
    for (int i = 1; i < started; i++)
        pthread_join(w[i].thread, NULL);
    for (int i = 0; i < n; i++)
        encoder_free(w[i].enc);
    lexicon_free(lexicon);
    free(w);
    if (job->err.kind == ERR_NONE)
        return 0;
    *e = job->err;
    return -1;
}

static void free_blocks(struct encode_job *job)
{
    struct encoded_block *r;

    for (int i = 0; i < RING; i++)
        if (job->ring[i])
            recycle_block(job, job->ring[i]);
    while ((r = job->spare)) {
        job->spare = r->next_spare;
        ids_clear(&r->ids);
        free(r->range);
        free(r);
    }
}

int encode_corpus(struct corpus *corpus, struct sink *sink,
                  const struct encode_corpus_conf *conf,
                  const struct sink_state *from,
                  struct encode_corpus_stats *stats, struct err *e)
{
    struct encode_job job = {
        .corpus = corpus,
        .sink = sink,
        .conf = conf,
        .take_lock = PTHREAD_MUTEX_INITIALIZER,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .space = PTHREAD_COND_INITIALIZER,
        .text_at = from->text,
        .state = *from,
        .err = ERR_INIT,
        .begin = clock_mono(),
    };
    char n[NUM_TEXT];
    int got;

    job.train_to = (int64_t)((double)conf->text * (1 - conf->val - conf->test));
    job.test_from = conf->test > 0
                        ? (int64_t)((double)conf->text * (1 - conf->test))
                        : INT64_MAX;
    got = run_threads(&job, e);
    if (job.bar_open)
        progress_close(&job.bar);
    if (got == 0 && sig_caught() && !job.stop) {
        got = sink_save_state(sink, &job.state, e);
        if (got == 0)
            got = err_set(e, ERR_STOPPED,
                          "interrupted after %s tokens; the same command "
                          "resumes",
                          num_comma(n, job.state.tokens));
    }
    *stats = job.stats;
    stats->documents = job.state.documents;
    stats->text = job.state.text;
    stats->tokens = job.state.tokens;
    free_blocks(&job);
    return got;
}
