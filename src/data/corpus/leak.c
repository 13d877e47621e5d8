#include "config.h"
#include "data/corpus/leak.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/machine/cores.h"
#include "common/mem.h"
#include "data/corpus/hashset.h"
#include "data/corpus/roll.h"

/* A document of the training text, and what is known of it. */
struct reading {
    struct leak *leak;
    struct roll roll;
    struct hashset found;
};

struct leak {
    int n;                             /* 0: by the benchmark */
    int length[ROLL_MAX + 1], lengths; /* the sequences that are hashed */
    bool has[ROLL_MAX + 1];            /* one of this length */
    uint64_t power[ROLL_MAX + 1];      /* of the base */
    struct leak_benchmark *benchmark;
    size_t benchmarks, benchmarks_room;
    struct leak_doc *doc; /* of the evaluation text */
    size_t docs, docs_room;
    uint64_t *after; /* the hash after each word of a benchmark */
    size_t words, words_room;
    uint64_t *sequence;
    size_t sequences, sequences_room;
    struct hashset known;     /* sequences, and whole documents */
    unsigned char *documents; /* of the training text, that have one */
    struct arena names;
    const char *file; /* the last one of the evaluation text */

    const char *text; /* that is cut, len bytes */
    size_t len;
    struct leak_span *span; /* that are cut, and then that remain */
    size_t spans, spans_room;

    pthread_mutex_t lock; /* protects documents[] */
};

struct leak *leak_new(int n)
{
    struct leak *l = xcalloc(1, sizeof *l);

    l->n = n < 0 ? 0 : n > ROLL_MAX ? ROLL_MAX : n;
    roll_powers(l->power);
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

void leak_free(struct leak *l)
{
    FREE(l->sequence, l->after, l->documents, l->benchmark, l->doc, l->span);
    hashset_clear(&l->known);
    arena_clear(&l->names);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static void keep_word(void *arg, const struct roll *r)
{
    struct leak *l = arg;

    APPEND(l->after, l->words, l->words_room) = r->all;
}

static int eval_doc(void *arg, const struct corpus_doc *d, struct err *e UNUSED)
{
    struct leak *l = arg;
    const size_t first = l->words;
    struct roll r = { 0 };

    roll_text(&r, d->text, d->len, keep_word, l);
    roll_end(&r, keep_word, l);
    if (!r.words)
        return 0;
    if (!l->file || strcmp(l->file, d->file) != 0)
        l->file = arena_strdup(&l->names, d->file);
    APPEND(l->doc, l->docs, l->docs_room) =
        (struct leak_doc){ .file = l->file,
                           .line = d->line,
                           .words = r.words,
                           .unspaced = r.unspaced,
                           .first = first,
                           .all = roll_all(&r) };
    hashset_add(&l->known, roll_all(&r));
    return 0;
}

/* The fifth percentile of the lengths, by the nearest rank. */
static int choose_length(const struct leak *l, size_t begin, size_t end)
{
    int k = LEAK_LEAST;

    for (; k < LEAK_MOST; k++) {
        size_t shorter = 0;

        for (size_t i = begin; i < end; i++)
            shorter += l->doc[i].words <= k;
        if (shorter * 20 >= end - begin)
            break;
    }
    return k;
}

/* Keep the sequences of n words of a document, or the one of all its words. */
static void add_sequences(struct leak *l, struct leak_doc *d, int n)
{
    const uint64_t *after = l->after + d->first;
    const int64_t k = d->words < n ? d->words : n;

    d->first = l->sequences;
    for (int64_t i = k; i <= d->words && (k == n || k >= LEAK_LEAST); i++) {
        const uint64_t before = i > k ? after[i - k - 1] : 0;
        const uint64_t hash = roll_hash(before, after[i - 1], l->power[k], k);

        APPEND(l->sequence, l->sequences, l->sequences_room) = hash;
        hashset_add(&l->known, hash);
        l->has[k] = true;
    }
    d->sequences = (int64_t)(l->sequences - d->first);
}

int leak_eval(struct leak *l, const char *name, const struct corpus_conf *conf,
              struct err *e)
{
    const size_t first = l->docs;
    int n;

    l->words = 0;
    if (corpus_each(conf, eval_doc, l, e) < 0)
        return -1;
    n = l->n ? l->n : choose_length(l, first, l->docs);
    for (size_t i = first; i < l->docs; i++)
        add_sequences(l, &l->doc[i], n);
    APPEND(l->benchmark, l->benchmarks, l->benchmarks_room) =
        (struct leak_benchmark){ .name = arena_strdup(&l->names, name),
                                 .n = n,
                                 .end = l->docs };
    return 0;
}

static void note(struct reading *r, uint64_t hash)
{
    if (hashset_find(&r->leak->known, hash) != SIZE_MAX)
        hashset_add(&r->found, hash);
}

static void find_word(void *arg, const struct roll *roll)
{
    struct reading *r = arg;
    const struct leak *l = r->leak;

    for (int i = 0; i < l->lengths; i++)
        if (roll->words >= l->length[i])
            note(r, roll_last(roll, l->power, l->length[i]));
}

/* Count a training document once for each thing in it that is known. */
static void train_doc(struct reading *r, const struct corpus_doc *d)
{
    struct leak *l = r->leak;

    if (d->begins)
        r->roll = (struct roll){ 0 };
    roll_text(&r->roll, d->text, d->len, find_word, r);
    if (!d->ends)
        return;
    roll_end(&r->roll, find_word, r);
    note(r, roll_all(&r->roll));
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < r->found.room; i++)
        if (r->found.slot[i]) {
            const size_t at = hashset_find(&l->known, r->found.slot[i]);

            if (l->documents[at] < UINT8_MAX)
                l->documents[at]++;
        }
    pthread_mutex_unlock(&l->lock);
    hashset_clear(&r->found);
}

static int train_block(void *arg, void *place UNUSED,
                       const struct corpus_block *b, struct err *e UNUSED)
{
    for (size_t i = 0; i < b->n; i++)
        train_doc(arg, &b->doc[i]);
    return 0;
}

int leak_train(struct leak *l, const struct corpus_conf *conf, struct err *e)
{
    const int n = cores_processors();
    AUTO_FREE struct reading *r = xcalloc((size_t)n, sizeof *r);
    struct corpus *corpus = NULL;
    int ret;

    if (!l->documents) {
        l->documents = xcalloc(l->known.room + 1, 1);
        for (int k = 1; k <= ROLL_MAX; k++)
            if (l->has[k])
                l->length[l->lengths++] = k;
    }
    for (int i = 0; i < n; i++)
        r[i].leak = l;
    ret = corpus_open(&corpus, conf, e);
    if (ret == 0)
        ret = corpus_work(corpus,
                          &(struct corpus_work){ .find = train_block,
                                                 .worker = r,
                                                 .worker_size = sizeof *r,
                                                 .threads = n,
                                                 .whole = true },
                          e);
    corpus_close(corpus);
    for (int i = 0; i < n; i++)
        hashset_clear(&r[i].found);
    return ret;
}

/* The number of training documents with this hash. */
static int count_of(const struct leak *l, uint64_t hash)
{
    const size_t at = hashset_find(&l->known, hash);

    return at == SIZE_MAX ? 0 : l->documents[at];
}

static void report_doc(const struct leak *l, struct leak_doc *d)
{
    for (int64_t k = 0; k < d->sequences; k++) {
        const int count = count_of(l, l->sequence[d->first + (size_t)k]);

        d->found += count > 0;
        d->common += count > LEAK_COMMON;
    }
    d->whole =
        count_of(l, d->all) || (d->sequences > 0 && d->found == d->sequences);
}

static void add_doc(struct leak_benchmark *b, const struct leak_doc *d)
{
    b->documents++;
    b->sequences += d->sequences;
    b->found += d->found;
    b->common += d->common;
    b->whole += d->whole;
    b->in_part += !d->whole && d->found > 0;
    b->unchecked +=
        !d->whole && !d->found && (d->sequences == 0 || d->unspaced);
}

void leak_report(struct leak *l, struct leak_report *out)
{
    size_t at = 0;

    *out = (struct leak_report){ .doc = l->doc,
                                 .benchmark = l->benchmark,
                                 .benchmarks = l->benchmarks };
    for (size_t i = 0; i < l->benchmarks; i++) {
        struct leak_benchmark *b = &l->benchmark[i];

        for (; at < b->end; at++) {
            report_doc(l, &l->doc[at]);
            add_doc(b, &l->doc[at]);
            add_doc(&out->all, &l->doc[at]);
        }
    }
}

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* Cut a sequence and the characters around it. */
static void cut_span(struct leak *l, size_t begin, size_t end)
{
    int before = LEAK_AROUND, after = LEAK_AROUND;

    while (begin > 0 && before > 0)
        before -= begins_character(l->text[--begin]);
    while (end < l->len && (after > 0 || !begins_character(l->text[end])))
        after -= begins_character(l->text[end++]);
    while (l->spans > 0 && begin <= l->span[l->spans - 1].end) {
        const struct leak_span last = l->span[--l->spans];

        begin = last.begin < begin ? last.begin : begin;
    }
    APPEND(l->span, l->spans, l->spans_room) = (struct leak_span){ begin, end };
}

static bool is_rare(const struct leak *l, uint64_t hash)
{
    const int count = count_of(l, hash);

    return count > 0 && count <= LEAK_COMMON;
}

static void cut_word(void *arg, const struct roll *r)
{
    struct leak *l = arg;

    for (int i = 0; i < l->lengths; i++) {
        const int k = l->length[i];

        if (r->words >= k && is_rare(l, roll_last(r, l->power, k)))
            cut_span(l, r->begin[(uint64_t)(r->words - k) % ROLL_MAX], r->end);
    }
}

/* Replace the spans that are cut by the pieces between that are long enough. */
static size_t keep_pieces(struct leak *l)
{
    size_t pieces = 0, at = 0;

    APPEND(l->span, l->spans, l->spans_room) =
        (struct leak_span){ l->len, l->len };
    for (size_t i = 0; i < l->spans; i++) {
        const struct leak_span cut = l->span[i];
        int characters = 0;

        for (size_t k = at; k < cut.begin && characters < LEAK_PIECE; k++)
            characters += begins_character(l->text[k]);
        if (characters == LEAK_PIECE)
            l->span[pieces++] = (struct leak_span){ at, cut.begin };
        at = cut.end;
    }
    return pieces;
}

size_t leak_remove(struct leak *l, const char *text, size_t n, int cuts,
                   const struct leak_span **piece)
{
    struct roll r = { 0 };

    l->text = text;
    l->len = n;
    l->spans = 0;
    roll_text(&r, text, n, cut_word, l);
    roll_end(&r, cut_word, l);
    if (is_rare(l, roll_all(&r)))
        cut_span(l, 0, n);
    *piece = NULL;
    if (l->spans == 0)
        return 1;
    if (l->spans > (size_t)cuts)
        return 0;
    n = keep_pieces(l);
    *piece = l->span;
    return n;
}
