#include "config.h"
#include "data/corpus/leak.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

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
};

struct leak {
    int n;
    int length[WORDS_MAX + 1], lengths; /* the sequences that are hashed */
    bool brief[WORDS_MAX + 1];          /* a shorter document has this one */
    uint64_t power[WORDS_MAX + 1];      /* of the base */
    struct leak_doc *doc;               /* of the evaluation text */
    size_t docs, docs_room;
    uint64_t *sequence;
    size_t sequences, sequences_room;
    struct hashset known; /* sequences, and whole documents */
    unsigned char *hit;   /* for each slot of known */
    struct arena names;

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

typedef void sequence_fn(void *arg, uint64_t hash);

/* Hash the last k words. */
static uint64_t last_words(const struct leak *l, const struct roll *r, int k)
{
    const uint64_t before = r->before[(uint64_t)(r->words - k) % WORDS_MAX];

    return mix_bits((r->all - before * l->power[k]) ^ (uint64_t)k);
}

static void end_word(const struct leak *l, struct roll *r, sequence_fn *fn,
                     void *arg)
{
    r->before[(uint64_t)r->words++ % WORDS_MAX] = r->all;
    r->all = r->all * base + mix_bits(r->word);
    r->in_word = false;
    for (int i = 0; i < l->lengths; i++)
        if (r->words >= l->length[i])
            fn(arg, last_words(l, r, l->length[i]));
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
            (c >= 0x20000 && c <= 0x3ffff));
}

/* Hash a part of a document. */
static void roll_text(const struct leak *l, struct roll *r, const char *text,
                      size_t n, sequence_fn *fn, void *arg)
{
    const uint8_t *p = (const uint8_t *)text, *const end = p + n;
    size_t step;

    for (; p < end; p += step) {
        const int32_t c = normalize_next(p, end, &step);
        const bool alone = is_word(c);

        if (r->in_word && (c < 0 || alone))
            end_word(l, r, fn, arg);
        if (c >= 0) {
            r->word = r->in_word ? r->word : 0;
            r->word = (r->word + (uint64_t)c + 1) * 0xff51afd7ed558ccdu;
            r->word ^= r->word >> 29;
            r->in_word = true;
        }
        if (alone)
            end_word(l, r, fn, arg);
    }
}

static uint64_t whole_hash(const struct roll *r)
{
    return mix_bits(r->all + (uint64_t)r->words) ^ 0x5555555555555555u;
}

struct leak *leak_new(int n)
{
    struct leak *l = xcalloc(1, sizeof *l);

    l->n = n < 1 ? 1 : n > WORDS_MAX ? WORDS_MAX : n;
    l->length[l->lengths++] = l->n;
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
    free(l->hit);
    free(l->doc);
    hashset_clear(&l->known);
    arena_clear(&l->names);
    pthread_cond_destroy(&l->carried_changed);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static void keep_sequence(void *arg, uint64_t hash)
{
    struct leak *l = arg;

    GROW(l->sequence, l->sequences, l->sequences_room);
    l->sequence[l->sequences++] = hash;
    hashset_add(&l->known, hash);
}

static void eval_doc(struct leak *l, struct roll *r, const struct corpus_doc *d,
                     const char *file)
{
    struct leak_doc *doc;

    if (d->begins) {
        *r = (struct roll){ 0 };
        GROW(l->doc, l->docs, l->docs_room);
        l->doc[l->docs++] = (struct leak_doc){ .file = file,
                                               .line = d->line,
                                               .first = l->sequences };
    }
    roll_text(l, r, d->text, d->len, keep_sequence, l);
    if (!d->ends)
        return;
    if (r->in_word)
        end_word(l, r, keep_sequence, l);
    if (!r->words) {
        l->docs--;
        return;
    }
    if (r->words >= LEAK_LEAST && r->words < l->n) {
        keep_sequence(l, last_words(l, r, (int)r->words));
        l->brief[r->words] = true;
    }
    doc = &l->doc[l->docs - 1];
    doc->sequences = (int64_t)(l->sequences - doc->first);
    doc->all = whole_hash(r);
    hashset_add(&l->known, doc->all);
}

int leak_eval(struct leak *l, const struct corpus_conf *conf, struct err *e)
{
    struct corpus *corpus;
    const char *file = NULL, *last = NULL;
    struct roll r = { 0 };
    struct corpus_block *b;
    int got;

    if (corpus_open(&corpus, conf, e) < 0)
        return -1;
    while ((got = corpus_next(corpus, &b, e)) > 0) {
        if (b->file != last)
            file = arena_strdup(&l->names, b->file);
        last = b->file;
        for (size_t i = 0; i < b->n; i++)
            eval_doc(l, &r, &b->doc[i], file);
        corpus_done(corpus, b);
    }
    corpus_close(corpus);
    return got;
}

static void mark_hit(void *arg, uint64_t hash)
{
    struct leak *l = arg;
    const size_t i = hashset_find(&l->known, hash);

    /* all threads write the same value */
    if (i != SIZE_MAX)
        __atomic_store_n(&l->hit[i], 1, __ATOMIC_RELAXED);
}

static void train_doc(struct leak *l, struct roll *r,
                      const struct corpus_doc *d)
{
    if (d->begins)
        *r = (struct roll){ 0 };
    roll_text(l, r, d->text, d->len, mark_hit, l);
    if (!d->ends)
        return;
    if (r->in_word)
        end_word(l, r, mark_hit, l);
    mark_hit(l, whole_hash(r));
}

/*
 * The parts of a document are in blocks that different threads take.  A block
 * that begins inside a document waits for the hash at the end of the block
 * before it; other blocks need not wait.  One hash is carried at a time.  There
 * is no deadlock: the block that it is carried to has been handed out or is the
 * next to be, and takes the hash before it does anything else.
 */
enum { NO_BLOCK = -1 };

static void carry_hash(struct leak *l, int64_t to, const struct roll *r)
{
    pthread_mutex_lock(&l->lock);
    while (l->carried_to != NO_BLOCK)
        pthread_cond_wait(&l->carried_changed, &l->lock);
    l->carried = *r;
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
    if (got < 0) {
        pthread_mutex_lock(&l->lock);
        l->why = e;
        pthread_mutex_unlock(&l->lock);
    }
}

int leak_train(struct leak *l, const struct corpus_conf *conf, struct err *e)
{
    if (!l->hit) {
        l->hit = xcalloc(l->known.room + 1, 1);
        for (int k = LEAK_LEAST; k < l->n; k++)
            if (l->brief[k])
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

static bool was_hit(const struct leak *l, uint64_t hash)
{
    return l->hit && l->hit[hashset_find(&l->known, hash)];
}

void leak_report(struct leak *l, struct leak_report *out)
{
    *out = (struct leak_report){ .documents = (int64_t)l->docs, .doc = l->doc };
    for (size_t i = 0; i < l->docs; i++) {
        struct leak_doc *d = &l->doc[i];

        d->found = 0;
        for (int64_t k = 0; k < d->sequences; k++)
            d->found += was_hit(l, l->sequence[d->first + (size_t)k]);
        d->whole = was_hit(l, d->all) ||
                   (d->sequences > 0 && d->found == d->sequences);
        out->brief += d->sequences == 0;
        out->sequences += d->sequences;
        out->found += d->found;
        out->whole += d->whole;
        out->touched += d->whole || d->found > 0;
    }
}
