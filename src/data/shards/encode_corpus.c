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

/* Ids of one split, one after the other in the result. */
struct part {
    size_t n;
    int split; /* SAME: that of the part before */
};

/* A block, encoded. */
struct result {
    int64_t seq;
    struct corpus_place next;
    struct ids ids; /* packed to the width of the files */
    struct part *part;
    size_t n_parts, parts_room;
    int64_t documents, text;
    bool ends; /* the last document does */
    struct result *free;
};

struct job {
    struct corpus *corpus;
    struct sink *sink;
    const struct encode_corpus_conf *conf;
    int64_t train_to, test_from; /* divided by place */

    pthread_mutex_t take; /* what follows: to take a block */
    int64_t text_at;

    pthread_mutex_t lock; /* what follows: to put a result */
    pthread_cond_t space;
    struct result *ring[RING];
    struct result *spare;
    int64_t next; /* the block whose turn it is */
    bool writing, stop;
    struct err err;

    struct sink_state mark; /* the writer's */
    struct encode_corpus_stats stats;
    struct progress bar;
    bool bar_open;
    int64_t bar_at;
    double begin;
};

struct worker {
    struct job *job;
    struct encoder *enc;
    pthread_t thread;
};

static int by_place(const struct job *j, int64_t at)
{
    if (at < j->train_to)
        return SUBSET_TRAIN;
    return at < j->test_from ? SUBSET_VAL : SUBSET_TEST;
}

static int by_hash(const struct job *j, const struct corpus_doc *d)
{
    const double val = j->conf->val, test = j->conf->test;

    if (val > 0 && corpus_doc_in_share(d, val))
        return SUBSET_VAL;
    if (test > 0 && corpus_doc_in_share(d, val + test))
        return SUBSET_TEST;
    return SUBSET_TRAIN;
}

static void add_part(struct result *r, size_t n, int split)
{
    if (n == 0)
        return;
    if (r->n_parts > 0 &&
        (split == SAME || r->part[r->n_parts - 1].split == split)) {
        r->part[r->n_parts - 1].n += n;
        return;
    }
    GROW(r->part, r->n_parts, r->parts_room);
    r->part[r->n_parts++] = (struct part){ n, split };
}

static void add_eot(struct worker *w, struct result *r)
{
    ids_reserve(&r->ids, 1);
    r->ids.id[r->ids.n++] = tokenizer_eot(w->job->conf->tokenizer);
}

static int encode_text(struct worker *w, struct result *r,
                       const struct corpus_block *b, const struct corpus_doc *d,
                       const char *text, size_t n, struct err *e)
{
    const size_t left_out = encoder_run(w->enc, text, n, &r->ids);

    if (left_out > 0)
        return err_set(e, ERR_INPUT,
                       "%s:%lld: the tokenizer has no id for "
                       "%zu characters of this document",
                       b->file, (long long)d->line, left_out);
    return 0;
}

/*
 * A document of plain text may lie across the place where a split ends; it is
 * then divided between two characters.
 */
static size_t split_inside(const struct job *j, const struct corpus_block *b,
                           const struct corpus_doc *d, int64_t at)
{
    const int64_t cuts[] = { j->train_to, j->test_from };

    if (j->conf->text == 0 || b->json)
        return 0;
    for (size_t i = 0; i < 2; i++) {
        const int64_t n = cuts[i] - at;

        if (n > 0 && n < (int64_t)d->len) {
            size_t k = (size_t)n;

            while (k > 0 && ((uint8_t)d->text[k] & 0xC0) == 0x80)
                k--;
            return k;
        }
    }
    return 0;
}

static int encode_doc(struct worker *w, struct result *r,
                      const struct corpus_block *b, const struct corpus_doc *d,
                      int64_t at, struct err *e)
{
    const struct job *j = w->job;
    const struct encode_corpus_conf *c = j->conf;
    int split = c->text > 0 && !b->json ? by_place(j, at)
                : !d->begins            ? SAME
                : c->text > 0           ? by_place(j, at)
                                        : by_hash(j, d);
    const char *text = d->text;
    size_t n = d->len, begin = r->ids.n, k;

    if (d->begins && c->eot == EOT_FIRST)
        add_eot(w, r);
    while (
        (k = split_inside(j, b, &(struct corpus_doc){ .text = text, .len = n },
                          at)) > 0) {
        if (encode_text(w, r, b, d, text, k, e) < 0)
            return -1;
        add_part(r, r->ids.n - begin, split);
        begin = r->ids.n;
        text += k;
        n -= k;
        at += (int64_t)k;
        split = by_place(j, at);
    }
    if (encode_text(w, r, b, d, text, n, e) < 0)
        return -1;
    if (d->ends && c->eot == EOT_LAST)
        add_eot(w, r);
    add_part(r, r->ids.n - begin, split);
    r->documents += d->ends;
    r->ends = d->ends;
    return 0;
}

/* Ids to uint16, in place, eight at a time. */
static void pack(struct ids *ids)
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

static int encode_block(struct worker *w, struct result *r,
                        const struct corpus_block *b, int64_t at, struct err *e)
{
    const struct encode_corpus_conf *c = w->job->conf;
    const bool replace = c->invalid == INVALID_REPLACE ||
                         (c->invalid == INVALID_AUTO && b->json);

    encoder_flags(w->enc, (replace ? ENCODER_REPLACE : 0) |
                              (c->special ? ENCODER_SPECIAL : 0));
    r->seq = b->seq;
    r->next = b->next;
    r->ids.n = 0;
    r->n_parts = 0;
    r->documents = 0;
    r->text = 0;
    r->ends = true;
    for (size_t i = 0; i < b->n; i++) {
        if (encode_doc(w, r, b, &b->doc[i], at + r->text, e) < 0)
            return -1;
        r->text += (int64_t)b->doc[i].len;
    }
    if (c->width == 2)
        pack(&r->ids);
    return 0;
}

/* A bar, for work that takes more than a moment. */
static void show_progress(struct job *j)
{
    struct corpus_stats s;
    char text[64], n[NUM_TEXT];

    if (!j->bar_open && clock_mono() - j->begin < BAR_AFTER)
        return;
    corpus_stats(j->corpus, &s);
    if (!j->bar_open)
        progress_open(&j->bar, (long)(s.taken >> 20),
                      s.total > 0 ? (long)(s.total >> 20) : 0, "MiB");
    else if (s.taken >> 20 == j->bar_at)
        return;
    j->bar_open = true;
    j->bar_at = s.taken >> 20;
    snprintf(text, sizeof text, "%s tokens",
             num_short(n, (double)j->mark.tokens));
    progress_at(&j->bar, (long)(s.taken >> 20), text);
}

/* Returns 1 when there are enough tokens. */
static int write_result(struct job *j, const struct result *r, struct err *e)
{
    const char *p = (const char *)r->ids.id;

    for (size_t i = 0; i < r->n_parts; i++) {
        size_t n = r->part[i].n;

        if (r->part[i].split != SAME)
            j->mark.split = r->part[i].split;
        if (j->conf->tokens > 0 &&
            (int64_t)n > j->conf->tokens - j->mark.tokens)
            n = (size_t)(j->conf->tokens - j->mark.tokens);
        if (sink_add(j->sink, j->mark.split, p, n, e) < 0)
            return -1;
        p += n * (size_t)j->conf->width;
        j->mark.tokens += (int64_t)n;
        j->stats.by_subset[j->mark.split] += (int64_t)n;
    }
    j->mark.place = r->next;
    j->mark.documents += r->documents;
    j->mark.text += r->text;
    show_progress(j);
    if (j->conf->tokens > 0 && j->mark.tokens >= j->conf->tokens)
        return 1;
    return sink_due(j->sink) ? sink_save_state(j->sink, &j->mark, e) : 0;
}

/* With the lock held: write what has its turn, unless somebody does. */
static void write_ready(struct job *j)
{
    struct result *r;

    if (j->writing)
        return;
    j->writing = true;
    while (!j->stop && (r = j->ring[j->next % RING])) {
        struct err e = ERR_INIT;
        int got;

        pthread_mutex_unlock(&j->lock);
        got = write_result(j, r, &e);
        pthread_mutex_lock(&j->lock);
        j->ring[j->next % RING] = NULL;
        r->free = j->spare;
        j->spare = r;
        j->next++;
        if (got != 0)
            j->stop = true;
        if (got < 0)
            j->err = e;
        pthread_cond_broadcast(&j->space);
    }
    j->writing = false;
}

static void put_result(struct job *j, struct result *r)
{
    pthread_mutex_lock(&j->lock);
    while (!j->stop && r->seq >= j->next + RING)
        pthread_cond_wait(&j->space, &j->lock);
    if (!j->stop) {
        j->ring[r->seq % RING] = r;
        write_ready(j);
    } else {
        r->free = j->spare;
        j->spare = r;
    }
    pthread_mutex_unlock(&j->lock);
}

static struct result *spare_result(struct job *j)
{
    struct result *r;

    pthread_mutex_lock(&j->lock);
    r = j->spare;
    if (r)
        j->spare = r->free;
    pthread_mutex_unlock(&j->lock);
    return r ? r : xcalloc(1, sizeof *r);
}

static void stop_with(struct job *j, const struct err *e)
{
    pthread_mutex_lock(&j->lock);
    if (!j->stop && e)
        j->err = *e;
    j->stop = true;
    pthread_cond_broadcast(&j->space);
    pthread_mutex_unlock(&j->lock);
}

static bool stopped(struct job *j)
{
    bool stop;

    pthread_mutex_lock(&j->lock);
    stop = j->stop;
    pthread_mutex_unlock(&j->lock);
    return stop;
}

/* The next block, and how much text there was before it. */
static int take_block(struct job *j, struct corpus_block **b, int64_t *at,
                      struct err *e)
{
    int got;

    pthread_mutex_lock(&j->take);
    got = corpus_next(j->corpus, b, e);
    *at = j->text_at;
    for (size_t i = 0; got > 0 && i < (*b)->n; i++)
        j->text_at += (int64_t)(*b)->doc[i].len;
    pthread_mutex_unlock(&j->take);
    return got;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct job *j = w->job;
    struct err e = ERR_INIT;
    struct corpus_block *b;
    int64_t at;
    int got = 0;

    while (!stopped(j) && !sig_caught() &&
           (got = take_block(j, &b, &at, &e)) > 0) {
        struct result *r = spare_result(j);

        got = encode_block(w, r, b, at, &e);
        corpus_done(j->corpus, b);
        if (got < 0) {
            pthread_mutex_lock(&j->lock);
            r->free = j->spare;
            j->spare = r;
            pthread_mutex_unlock(&j->lock);
            break;
        }
        put_result(j, r);
    }
    if (got < 0)
        stop_with(j, &e);
    return NULL;
}

static int run_threads(struct job *j, struct err *e)
{
    const int n = j->conf->threads;
    struct worker *w = xcalloc((size_t)n, sizeof *w);
    struct lexicon *lexicon = lexicon_new(j->conf->tokenizer);
    int started = 1;

    for (int i = 0; i < n; i++)
        w[i] = (struct worker){
            .job = j,
            .enc = encoder_new(j->conf->tokenizer, lexicon, 0),
        };
    for (; started < n; started++)
        if (pthread_create(&w[started].thread, NULL, work, &w[started]) != 0)
            break;
    if (started < n)
        log_warn("only %d of %d threads could be started", started, n);
    work(&w[0]);
    for (int i = 1; i < started; i++)
        pthread_join(w[i].thread, NULL);
    for (int i = 0; i < n; i++)
        encoder_free(w[i].enc);
    lexicon_free(lexicon);
    free(w);
    if (j->err.kind == ERR_NONE)
        return 0;
    *e = j->err;
    return -1;
}

static void free_result(struct result *r)
{
    if (!r)
        return;
    ids_clear(&r->ids);
    free(r->part);
    free(r);
}

static void free_results(struct job *j)
{
    for (int i = 0; i < RING; i++)
        free_result(j->ring[i]);
    while (j->spare) {
        struct result *r = j->spare;

        j->spare = r->free;
        free_result(r);
    }
}

int encode_corpus(struct corpus *corpus, struct sink *sink,
                  const struct encode_corpus_conf *conf,
                  const struct sink_state *from,
                  struct encode_corpus_stats *stats, struct err *e)
{
    struct job j = {
        .corpus = corpus,
        .sink = sink,
        .conf = conf,
        .take = PTHREAD_MUTEX_INITIALIZER,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .space = PTHREAD_COND_INITIALIZER,
        .text_at = from->text,
        .mark = *from,
        .err = ERR_INIT,
        .begin = clock_mono(),
    };
    char n[NUM_TEXT];
    int got;

    j.train_to = (int64_t)((double)conf->text * (1 - conf->val - conf->test));
    j.test_from = conf->test > 0
                      ? (int64_t)((double)conf->text * (1 - conf->test))
                      : INT64_MAX;
    got = run_threads(&j, e);
    if (j.bar_open)
        progress_close(&j.bar);
    if (got == 0 && sig_caught() && !j.stop) {
        got = sink_save_state(sink, &j.mark, e);
        if (got == 0)
            got = err_set(e, ERR_STOPPED,
                          "stopped after %s tokens; the same command goes on "
                          "from there",
                          num_comma(n, j.mark.tokens));
    }
    *stats = j.stats;
    stats->documents = j.mark.documents;
    stats->text = j.mark.text;
    stats->tokens = j.mark.tokens;
    free_results(&j);
    return got;
}
