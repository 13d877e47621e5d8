#include "config.h"
#include "data/corpus/leak.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/format/unicode.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/machine/threads.h"
#include "common/utf8.h"
#include "data/corpus/hashset.h"

/*
 * The hash of all words so far is the sum of word * base^age mod 2^64.  A ring
 * holds what it was before each of the last words, so that the hash of any
 * number of them is a difference; its bits are mixed at the end.
 */
static const uint64_t base = 0x9e3779b97f4a7c15u;

enum { WORDS_MAX = 64 };

struct roll {
    uint64_t all, before[WORDS_MAX];
    int64_t words;
    uint64_t word; /* the current one */
    bool in_word;
    bool unspaced;        /* a script without spaces was seen */
    struct hashset found; /* in the document */
};

struct leak {
    int n;                              /* 0: by the benchmark */
    int length[WORDS_MAX + 1], lengths; /* the sequences that are hashed */
    bool has[WORDS_MAX + 1];            /* one of this length */
    uint64_t power[WORDS_MAX + 1];      /* of the base */
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

    pthread_mutex_t lock; /* protects what follows */
    struct corpus *corpus;
    struct roll carried; /* at the end of a block */
    int64_t carried_to;  /* the next block */
    pthread_cond_t carried_changed;
    struct err why;
};

static uint64_t mix_bits(uint64_t x)
{
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
}

typedef void word_fn(struct leak *, struct roll *); /* after each word */

/* Hash the last k words. */
static uint64_t last_words(const struct leak *l, const struct roll *r, int k)
{
    const uint64_t before = r->before[(uint64_t)(r->words - k) % WORDS_MAX];

    return mix_bits((r->all - before * l->power[k]) ^ (uint64_t)k);
}

static void end_word(struct leak *l, struct roll *r, word_fn *fn)
{
    r->before[(uint64_t)r->words++ % WORDS_MAX] = r->all;
    r->all = r->all * base + mix_bits(r->word);
    r->in_word = false;
    fn(l, r);
}

enum { NORMALIZE_BYTE = 0x110000 }; /* + a byte that is not UTF-8 */

/* The character at p in lower case, or -1 for a separator; *n is its length.
 * Letters, their marks, and numbers remain. */
static int32_t normalize_next(const uint8_t *p, const uint8_t *end, size_t *n)
{
    const uint8_t lower = *p | 0x20;
    uint32_t c;
    int class;

    *n = 1;
    if (*p < 0x80) {
        if (lower >= 'a' && lower <= 'z')
            return lower;
        return *p >= '0' && *p <= '9' ? *p : -1;
    }
    *n = utf8_decode(p, end, &c);
    if (c == UTF8_BAD) {
        *n = 1;
        return NORMALIZE_BYTE | *p;
    }
    class = unicode_class_and_case(c);
    if (class >> 2 == UNICODE_UPPER)
        return utf8_fold((int32_t)c);
    return (class & 3) == UNICODE_LETTER || (class & 3) == UNICODE_NUMBER ||
                   class >> 2 == UNICODE_MARK
               ? (int32_t)c
               : -1;
}

/* Chinese and Japanese have no spaces between words. */
static bool is_word(int32_t c)
{
    return c >= 0x3005 &&
           (c <= 0x30ff || (c >= 0x31f0 && c <= 0x31ff) ||
            (c >= 0x3400 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) ||
            (c >= 0xff66 && c <= 0xff9f) || (c >= 0x20000 && c <= 0x3ffff));
}

/* Thai, Lao, Burmese, Khmer and the scripts of their neighbours have none
 * either, but a character of them is far less than a word. */
static bool is_unspaced(int32_t c)
{
    return c >= 0xe00 &&
           (c <= 0xeff || (c >= 0x1000 && c <= 0x109f) ||
            (c >= 0x1780 && c <= 0x17ff) || (c >= 0x1950 && c <= 0x19ff) ||
            (c >= 0x1a20 && c <= 0x1aaf) || (c >= 0xa9e0 && c <= 0xa9ff) ||
            (c >= 0xaa60 && c <= 0xaadf));
}

/* Hash a part of a document. */
static void roll_text(struct leak *l, struct roll *r, const char *text,
                      size_t n, word_fn *fn)
{
    const uint8_t *p = (const uint8_t *)text, *const end = p + n;
    size_t step;

    for (; p < end; p += step) {
        const int32_t c = normalize_next(p, end, &step);
        const bool alone = is_word(c);

        if (r->in_word && (c < 0 || alone))
            end_word(l, r, fn);
        if (c >= 0) {
            r->unspaced |= is_unspaced(c);
            r->word = r->in_word ? r->word : 0;
            r->word = (r->word + (uint64_t)c + 1) * 0xff51afd7ed558ccdu;
            r->word ^= r->word >> 29;
            r->in_word = true;
        }
        if (alone)
            end_word(l, r, fn);
    }
}

/* Hash a document or a part of it, with its last word if it ends. */
static void roll_part(struct leak *l, struct roll *r,
                      const struct corpus_doc *d, word_fn *fn)
{
    if (d->begins)
        *r = (struct roll){ 0 };
    roll_text(l, r, d->text, d->len, fn);
    if (d->ends && r->in_word)
        end_word(l, r, fn);
}

static uint64_t whole_hash(const struct roll *r)
{
    return mix_bits(r->all + (uint64_t)r->words) ^ 0x5555555555555555u;
}

struct leak *leak_new(int n)
{
    struct leak *l = xcalloc(1, sizeof *l);

    l->n = n < 0 ? 0 : n > WORDS_MAX ? WORDS_MAX : n;
    l->power[0] = 1;
    for (int i = 1; i <= WORDS_MAX; i++)
        l->power[i] = l->power[i - 1] * base;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->carried_changed, NULL);
    return l;
}

void leak_free(struct leak *l)
{
    free(l->sequence);
    free(l->after);
    free(l->documents);
    free(l->benchmark);
    free(l->doc);
    hashset_clear(&l->known);
    arena_clear(&l->names);
    pthread_cond_destroy(&l->carried_changed);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static void keep_word(struct leak *l, struct roll *r)
{
    GROW(l->after, l->words, l->words_room);
    l->after[l->words++] = r->all;
}

static int eval_doc(void *arg, const struct corpus_doc *d, struct err *e)
{
    struct leak *l = arg;
    const size_t first = l->words;
    struct roll r = { 0 };

    (void)e;
    roll_part(l, &r, d, keep_word);
    if (!r.words)
        return 0;
    if (!l->file || strcmp(l->file, d->file) != 0)
        l->file = arena_strdup(&l->names, d->file);
    GROW(l->doc, l->docs, l->docs_room);
    l->doc[l->docs++] = (struct leak_doc){ .file = l->file,
                                           .line = d->line,
                                           .words = r.words,
                                           .unspaced = r.unspaced,
                                           .first = first,
                                           .all = whole_hash(&r) };
    hashset_add(&l->known, whole_hash(&r));
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
        const uint64_t hash =
            mix_bits((after[i - 1] - before * l->power[k]) ^ (uint64_t)k);

        GROW(l->sequence, l->sequences, l->sequences_room);
        l->sequence[l->sequences++] = hash;
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
    GROW(l->benchmark, l->benchmarks, l->benchmarks_room);
    l->benchmark[l->benchmarks++] = (struct leak_benchmark){
        .name = arena_strdup(&l->names, name), .n = n, .end = l->docs
    };
    return 0;
}

static void note(struct leak *l, struct roll *r, uint64_t hash)
{
    if (hashset_find(&l->known, hash) != SIZE_MAX)
        hashset_add(&r->found, hash);
}

static void find_word(struct leak *l, struct roll *r)
{
    for (int i = 0; i < l->lengths; i++)
        if (r->words >= l->length[i])
            note(l, r, last_words(l, r, l->length[i]));
}

/* Count a training document once for each thing in it that is known. */
static void train_doc(struct leak *l, struct roll *r,
                      const struct corpus_doc *d)
{
    roll_part(l, r, d, find_word);
    if (!d->ends)
        return;
    note(l, r, whole_hash(r));
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

/*
 * The parts of a document are in blocks that different threads take.  A block
 * that begins inside a document waits for the hash at the end of the block
 * before it; other blocks need not wait.  One hash is carried at a time.  There
 * is no deadlock: the block that it is carried to has been handed out or is the
 * next to be, and takes the hash before it does anything else.
 */
enum { NO_BLOCK = -1 };

static void carry_hash(struct leak *l, int64_t to, struct roll *r)
{
    pthread_mutex_lock(&l->lock);
    while (l->carried_to != NO_BLOCK)
        pthread_cond_wait(&l->carried_changed, &l->lock);
    l->carried = *r;
    *r = (struct roll){ 0 };
    l->carried_to = to;
    pthread_cond_broadcast(&l->carried_changed);
    pthread_mutex_unlock(&l->lock);
}

static void take_hash(struct leak *l, int64_t block, struct roll *r)
{
    pthread_mutex_lock(&l->lock);
    while (l->carried_to != block)
        pthread_cond_wait(&l->carried_changed, &l->lock);
    *r = l->carried;
    l->carried_to = NO_BLOCK;
    pthread_cond_broadcast(&l->carried_changed);
    pthread_mutex_unlock(&l->lock);
}

static void train_block(struct leak *l, struct roll *r,
                        const struct corpus_block *b)
{
    if (b->n > 0 && !b->doc[0].begins)
        take_hash(l, b->seq, r);
    for (size_t i = 0; i < b->n; i++)
        train_doc(l, r, &b->doc[i]);
    if (b->n > 0 && !b->doc[b->n - 1].ends)
        carry_hash(l, b->seq + 1, r);
}

static void read_training(void *arg)
{
    struct leak *l = arg;
    struct roll r = { 0 };
    struct err e = { 0 };
    struct corpus_block *b;
    int got;

    while ((got = corpus_next(l->corpus, &b, &e)) > 0) {
        train_block(l, &r, b);
        corpus_done(l->corpus, b);
    }
    hashset_clear(&r.found);
    if (got < 0) {
        pthread_mutex_lock(&l->lock);
        l->why = e;
        pthread_mutex_unlock(&l->lock);
    }
}

int leak_train(struct leak *l, const struct corpus_conf *conf, struct err *e)
{
    if (!l->documents) {
        l->documents = xcalloc(l->known.room + 1, 1);
        for (int k = 1; k <= WORDS_MAX; k++)
            if (l->has[k])
                l->length[l->lengths++] = k;
    }
    l->carried_to = NO_BLOCK;
    if (corpus_open(&l->corpus, conf, e) < 0)
        return -1;
    threads_run(read_training, l, 0, cores_processors());
    corpus_close(l->corpus);
    if (l->why.kind == ERR_NONE)
        return 0;
    *e = l->why;
    return -1;
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
