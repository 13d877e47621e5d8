#include "config.h"
#include "data/shards/encode_corpus.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/output/progress.h"
#include "common/sig.h"
#include "data/shards/shard.h"
#include "data/token/tokenizer.h"

/*
 * encode_block - encode the documents of a block, and divide them into subsets
 *
 * `at` is the position of the block's text in the input, which matters if the
 * tail is held out.
 */
enum { ENCODE_SAME = -1 };

/* Consecutive ids of a block that belong to one subset. */
struct id_range {
    size_t n;
    int subset; /* or ENCODE_SAME: as the range before */
};

struct encoded_block {
    struct corpus_place place; /* after it */
    struct ids ids;            /* packed to the width of the shards */
    struct id_range *range;
    size_t n_ranges, ranges_room;
    int64_t documents, bad, text, dropped[CLEAN_RULES];
};

/* What a thread encodes with, and its block. */
struct encode_worker {
    const struct encode_corpus_conf *conf;
    struct encoder *enc;
    struct clean rules;
    int64_t text_at; /* of the first block */
    const struct corpus_block *from;
    struct encoded_block *to;
    int flags; /* of the encoder */
};

/* Where the tail begins that is held out for validation, and for a test. */
static int64_t val_from(const struct encode_corpus_conf *c)
{
    return (int64_t)((double)c->text * (1 - c->val - c->test));
}

static int64_t test_from(const struct encode_corpus_conf *c)
{
    return c->test > 0 ? (int64_t)((double)c->text * (1 - c->test)) : INT64_MAX;
}

static int subset_at(const struct encode_corpus_conf *c, int64_t at)
{
    if (at < val_from(c))
        return SUBSET_TRAIN;
    return at < test_from(c) ? SUBSET_VAL : SUBSET_TEST;
}

static int subset_of_hash(const struct encode_corpus_conf *c,
                          const struct corpus_doc *d)
{
    if (c->val > 0 && corpus_doc_in_share(d, c->val))
        return SUBSET_VAL;
    if (c->test > 0 && corpus_doc_in_share(d, c->val + c->test))
        return SUBSET_TEST;
    return SUBSET_TRAIN;
}

static void add_range(struct encoded_block *r, size_t n, int subset)
{
    struct id_range *last = r->n_ranges > 0 ? r->range + r->n_ranges - 1 : NULL;

    if (n == 0)
        return;
    if (last && (subset == ENCODE_SAME || last->subset == subset)) {
        last->n += n;
        return;
    }
    APPEND(r->range, r->n_ranges, r->ranges_room) =
        (struct id_range){ n, subset };
}

static void add_eot(struct encode_worker *w)
{
    ids_add(&w->to->ids, tokenizer_eot(w->conf->tokenizer) |
                             (w->conf->chat ? SHARD_UNSCORED : 0));
}

/* The messages are as jsonl_row() has left them. */
static size_t encode_chat(struct encode_worker *w, const char *text, size_t n)
{
    const struct chat_template *c = w->conf->chat;
    struct ids *ids = &w->to->ids;
    size_t left_out = 0;

    chat_template_begin(c, SHARD_UNSCORED, ids);
    for (const char *const end = text + n; text < end;) {
        const char *role = text, *content = role + strlen(role) + 1;

        n = strlen(content);
        left_out += chat_template_message(c, w->enc, role, content, n,
                                          SHARD_UNSCORED, ids);
        text = content + n + 1;
    }
    return left_out;
}

static int encode_text(struct encode_worker *w, const struct corpus_doc *d,
                       const char *text, size_t n, struct err *e)
{
    const bool begins = d->begins && text == d->text;
    const int flags = (d->invalid ? w->flags : w->flags & ~ENCODER_REPLACE) |
                      (begins ? 0 : ENCODER_CONTINUE);
    size_t left_out;

    encoder_flags(w->enc, flags);
    left_out = w->conf->chat ? encode_chat(w, text, n)
                             : encoder_run(w->enc, text, n, &w->to->ids);
    if (left_out > 0)
        return err_input(e,
                         "%s:%lld: the tokenizer has no id for %zu characters "
                         "of this document",
                         w->from->file, (long long)d->line, left_out);
    return 0;
}

/*
 * A document of plain text is divided, between two characters, where one subset
 * ends and the next begins.  Returns the length of the first part, or 0 if the
 * n bytes of text at position `at` belong to one subset.
 */
static size_t first_part(struct encode_worker *w, const char *text, size_t n,
                         int64_t at)
{
    const int64_t ends[] = { val_from(w->conf), test_from(w->conf) };

    if (w->conf->text == 0 || w->from->json)
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

/* The subset of a document, or ENCODE_SAME if it began in the block before. */
static int subset_of(struct encode_worker *w, const struct corpus_doc *d,
                     int64_t at)
{
    if (w->conf->text > 0 && (d->begins || !w->from->json))
        return subset_at(w->conf, at);
    return d->begins ? subset_of_hash(w->conf, d) : ENCODE_SAME;
}

/* Is the document dropped by a rule?  1, -1, or 0, with what remains of it. */
static int drop_doc(struct encode_worker *w, struct corpus_doc *d,
                    struct err *e)
{
    double value;

    if (!w->conf->clean)
        return 0;
    if (!d->begins || !d->ends)
        return err_input(e,
                         "%s:%lld: this document is too long for --clean; "
                         "gdata clean writes it as JSON Lines",
                         w->from->file, (long long)d->line);
    return clean_test(&w->rules, d, &value, w->to->dropped) >= 0;
}

static int encode_doc(struct encode_worker *w, const struct corpus_doc *d,
                      int64_t at, struct err *e)
{
    const enum encode_eot eot = w->conf->eot;
    struct encoded_block *const r = w->to;
    int subset = subset_of(w, d, at);
    const char *text = d->text;
    size_t n = d->len, begin = r->ids.n, k;

    if (d->begins && eot == ENCODE_EOT_FIRST)
        add_eot(w);
    while ((k = first_part(w, text, n, at)) > 0) {
        if (encode_text(w, d, text, k, e) < 0)
            return -1;
        add_range(r, r->ids.n - begin, subset);
        begin = r->ids.n;
        text += k;
        n -= k;
        at += (int64_t)k;
        subset = subset_at(w->conf, at);
    }
    if (encode_text(w, d, text, n, e) < 0)
        return -1;
    if (d->ends && eot == ENCODE_EOT_LAST)
        add_eot(w);
    add_range(r, r->ids.n - begin, subset);
    r->documents += d->ends;
    return 0;
}

/* Convert ids to uint16 in place, with room for a multiple of PACKED. */
static void pack_ids(struct ids *ids)
{
    enum { PACKED = 8 };
    typedef int32_t wide __attribute__((vector_size(4 * PACKED)));
    typedef uint16_t narrow __attribute__((vector_size(2 * PACKED)));

    ids_reserve(ids, PACKED);
    for (size_t i = 0; i < ids->n; i += PACKED) {
        wide from;
        narrow to;

        memcpy(&from, ids->id + i, sizeof from);
        to = __builtin_convertvector(from, narrow);
        memcpy((char *)ids->id + 2 * i, &to, sizeof to);
    }
}

static int encode_block(void *worker, void *place, const struct corpus_block *b,
                        struct err *e)
{
    struct encode_worker *const w = worker;
    struct encoded_block *const r = place;
    const struct encode_corpus_conf *const c = w->conf;
    const int64_t at = w->text_at + b->text_at;
    const bool replace = c->invalid == ENCODE_INVALID_REPLACE ||
                         (c->invalid == ENCODE_INVALID_AUTO && b->json);

    w->from = b;
    w->to = r;
    w->flags =
        (replace ? ENCODER_REPLACE : 0) | (c->special ? ENCODER_SPECIAL : 0);
    if (sig_caught())
        return err_set(e, ERR_INTERRUPTED, "interrupted");
    r->place = b->next;
    r->ids.n = 0;
    ids_reserve(&r->ids, CORPUS_BLOCK / 2); /* enough for most blocks */
    r->n_ranges = 0;
    r->documents = 0;
    r->bad = b->bad;
    r->text = 0;
    memset(r->dropped, 0, sizeof r->dropped);
    for (size_t i = 0; i < b->n; i++) {
        struct corpus_doc doc = b->doc[i];
        const int drops = drop_doc(w, &doc, e);

        if (drops < 0 || (!drops && encode_doc(w, &doc, at + r->text, e) < 0))
            return -1;
        r->text += (int64_t)b->doc[i].len;
    }
    if (c->width == 2)
        pack_ids(&r->ids);
    return 0;
}

enum { BAR_AFTER = 2 };

struct encode {
    struct corpus *corpus;
    struct sink *sink;
    const struct encode_corpus_conf *conf;
    struct encoded_block place[CORPUS_PLACES];
    struct sink_state *state;
    int64_t *by_subset;
    struct progress bar;
    bool bar_open;
    int64_t bar_at;
    double begin;
};

/* Show a progress bar if the work takes more than a moment. */
static void show_progress(struct encode *all)
{
    struct corpus_stats s;
    char text[64], n[NUM_TEXT];

    if (!all->bar_open && clock_mono() - all->begin < BAR_AFTER)
        return;
    corpus_stats(all->corpus, &s);
    if (!all->bar_open)
        progress_open(&all->bar, (long)(s.taken >> 20),
                      s.total > 0 ? (long)(s.total >> 20) : 0, "MiB");
    else if (s.taken >> 20 == all->bar_at)
        return;
    all->bar_open = true;
    all->bar_at = s.taken >> 20;
    snprintf(text, sizeof text, "%s tokens",
             num_short(n, (double)all->state->tokens));
    progress_at(&all->bar, (long)(s.taken >> 20), text);
}

static bool has_enough(const struct encode *all)
{
    return all->conf->tokens > 0 && all->state->tokens >= all->conf->tokens;
}

static int write_block(void *arg, void *place, struct err *e)
{
    struct encode *const all = arg;
    const struct encoded_block *const r = place;
    struct sink_state *const s = all->state;
    const int64_t most = all->conf->tokens;
    const char *p = (const char *)r->ids.id;

    for (size_t i = 0; i < r->n_ranges; i++) {
        size_t n = r->range[i].n;

        if (r->range[i].subset != ENCODE_SAME)
            s->subset = r->range[i].subset;
        if (most > 0 && (int64_t)n > most - s->tokens)
            n = (size_t)(most - s->tokens);
        if (sink_add(all->sink, s->subset, p, n, e) < 0)
            return -1;
        p += n * (size_t)all->conf->width;
        s->tokens += (int64_t)n;
        all->by_subset[s->subset] += (int64_t)n;
    }
    s->place = r->place;
    s->documents += r->documents;
    s->bad += r->bad;
    s->text += r->text;
    for (int i = 0; i < CLEAN_RULES; i++)
        s->dropped[i] += r->dropped[i];
    show_progress(all);
    if (has_enough(all))
        return 1;
    return sink_due(all->sink) ? sink_save_state(all->sink, s, e) : 0;
}

static int run_threads(struct encode *all, struct err *e)
{
    const struct encode_corpus_conf *const conf = all->conf;
    const size_t n = (size_t)conf->threads;
    AUTO_FREE struct encode_worker *w = xcalloc(n, sizeof *w);
    struct piece_cache *cache = piece_cache_new();
    const struct corpus_work work = { .find = encode_block,
                                      .write = write_block,
                                      .worker = w,
                                      .arg = all,
                                      .place = all->place,
                                      .worker_size = sizeof *w,
                                      .place_size = sizeof *all->place,
                                      .threads = conf->threads,
                                      .positions = conf->text > 0 };
    int ret;

    for (size_t i = 0; i < n; i++) {
        w[i].conf = conf;
        w[i].text_at = all->state->text;
        w[i].enc = encoder_new(conf->tokenizer, cache, 0);
        if (conf->clean)
            w[i].rules = *conf->clean;
    }
    ret = corpus_work(all->corpus, &work, e);
    for (size_t i = 0; i < n; i++) {
        encoder_free(w[i].enc);
        if (conf->clean)
            clean_clear(&w[i].rules);
    }
    piece_cache_free(cache);
    return ret;
}

/* Save the progress when a signal or a lost server ends the work early.  *e has
 * the error of the server, or gets one after a signal. */
static int stop_early(struct encode *all, struct err *e)
{
    const int64_t tokens = all->state->tokens;
    const bool signalled = e->kind != ERR_REMOTE;
    struct err why = { 0 };
    char n[NUM_TEXT];

    num_count(n, tokens, "token");
    if (!sink_resumable(all->sink))
        return signalled ? err_set(e, ERR_INTERRUPTED,
                                   "interrupted after %s; this input "
                                   "cannot be read again, so encoding cannot "
                                   "be resumed",
                                   n)
                         : -1;
    if (sink_save_state(all->sink, all->state, &why) < 0) {
        if (signalled)
            *e = why;
        return -1;
    }
    if (signalled)
        return err_set(e, ERR_STOPPED,
                       "interrupted after %s; the same command resumes", n);
    log_warn("stopped after %s; the same command resumes", n);
    return -1;
}

int encode_corpus(struct corpus *corpus, struct sink *sink,
                  const struct encode_corpus_conf *conf,
                  struct sink_state *state, int64_t by_subset[SUBSETS],
                  struct err *e)
{
    struct encode all = {
        .corpus = corpus,
        .sink = sink,
        .conf = conf,
        .state = state,
        .by_subset = by_subset,
        .begin = clock_mono(),
    };
    int got = run_threads(&all, e);

    if (all.bar_open)
        progress_close(&all.bar);
    if ((got < 0 && e->kind == ERR_REMOTE) ||
        (sig_caught() && !has_enough(&all) &&
         (got == 0 || e->kind == ERR_INTERRUPTED)))
        got = stop_early(&all, e);
    for (int i = 0; i < CORPUS_PLACES; i++) {
        ids_clear(&all.place[i].ids);
        free(all.place[i].range);
    }
    return got;
}
