#include "config.h"
#include "data/shards/loader.h"

#include <glob.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/buf.h"
#include "common/machine/limits.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/rng.h"
#include "common/sha256.h"
#include "common/sig.h"
#include "data/shards/shard.h"

/*
 * bestfit - windows that begin with a document, and waste little of the others
 *
 * A window of n tokens consists of documents.  Each is the largest of those in
 * a buffer that fits into the rest of the window; if none fits, the shortest is
 * cut, and what was cut off is not trained on in this epoch.  The buffer is
 * filled from the documents in an order that depends on the seed and the epoch.
 * This is how nanochat's loader packs sequences.
 *
 * With `whole`, a document is cut only if it is longer than a window.  If none
 * fits, the beginning of the shortest fills the window, and the document stays
 * in the buffer.
 *
 * The windows of an epoch are computed when the first of them is asked for, and
 * depend on nothing else.  They come in a random order, because the documents
 * that fit badly are used last.  Each epoch has as many windows as the first:
 * if its documents end earlier, it repeats some, and if they end later, it
 * leaves some out.  bestfit_range() returns the position of token i of window w
 * in the shards, and the number of tokens from there to the end of the document
 * or of the window.
 *
 * A million documents take about 0.3 s at the beginning of an epoch, and 16 MB.
 */
struct bestfit {
    bool whole;
    int64_t skip;    /* documents at the beginning, 0 or 1, to be left out */
    int64_t n;       /* tokens of a window */
    int64_t cut;     /* tokens cut off in the epoch below */
    int64_t windows; /* of an epoch; 0: not known yet */
    int64_t epoch;   /* the one below */
    uint64_t *doc;   /* the documents of all windows, one after the other */
    int64_t *first;  /* of each window, among these; windows + 1 */
    size_t room, n_windows, window_room;
    struct permute order; /* of the windows */
};

/* More documents in the buffer fit better, but the short ones among them are
 * used so early that in the end only long ones are left. */
enum { BUFFER = 1000 };

struct waiting {
    int64_t length;
    uint64_t doc;
};

/* The documents of an epoch that are read next, and those that wait. */
struct source {
    const struct documents *docs;
    struct permute order;
    uint64_t skip, next, limit; /* numbers in the order */
    struct waiting *buffer;     /* by length */
    size_t n;
};

/* The number of documents in the buffer of at most this length. */
static size_t count_fitting(const struct source *s, int64_t length)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (s->buffer[middle].length <= length)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void fill_buffer(struct source *s)
{
    while (s->n < BUFFER && s->next < s->limit) {
        const uint64_t doc =
            s->skip + permute(&s->order, s->next++ % s->order.n);
        const int64_t length = documents_length(s->docs, doc);
        const size_t at = count_fitting(s, length);

        memmove(s->buffer + at + 1, s->buffer + at,
                (s->n++ - at) * sizeof *s->buffer);
        s->buffer[at] = (struct waiting){ length, doc };
    }
}

/* The best document for this many tokens; if none fits, the shortest one, which
 * stays in the buffer if a window of `full` tokens has begun. */
static struct waiting take_document(struct source *s, int64_t rest,
                                    int64_t full)
{
    size_t at;
    struct waiting taken;

    fill_buffer(s);
    at = count_fitting(s, rest);
    at -= at > 0;
    taken = s->buffer[at];
    if (taken.length > rest && rest < full)
        return taken;
    memmove(s->buffer + at, s->buffer + at + 1,
            (--s->n - at) * sizeof *s->buffer);
    return taken;
}

/* Pack windows until there are enough or the documents end; the last window
 * must be full. */
static void pack_windows(struct bestfit *b, struct source *s)
{
    size_t n = 0; /* documents */

    b->n_windows = 0;
    b->cut = 0;
    for (;;) {
        int64_t rest = b->n;

        APPEND(b->first, b->n_windows, b->window_room) = (int64_t)n;
        if (b->windows && (int64_t)b->n_windows > b->windows)
            return;
        while (rest > 0) {
            struct waiting w;

            if (s->n == 0 && s->next == s->limit) {
                if (!b->windows)
                    return;
                s->limit += s->order.n; /* repeat */
            }
            w = take_document(s, rest, b->whole ? b->n : 0);
            if (w.length > rest && (!b->whole || rest == b->n))
                b->cut += w.length - rest;
            APPEND(b->doc, n, b->room) = w.doc;
            rest -= w.length;
        }
    }
}

static void begin_epoch(struct bestfit *b, const struct documents *docs,
                        int64_t epoch, uint64_t seed)
{
    const uint64_t n = docs->n - (uint64_t)b->skip;
    struct source s = { .docs = docs,
                        .skip = (uint64_t)b->skip,
                        .limit = n,
                        .buffer = xmalloc(BUFFER * sizeof *s.buffer) };

    permute_init(&s.order, n, seed,
                 rng_stream(RNG_DATA, (uint64_t)epoch + 1, 1));
    pack_windows(b, &s);
    b->epoch = epoch;
    if (b->n_windows > 1)
        permute_init(&b->order, b->n_windows - 1, seed,
                     rng_stream(RNG_DATA, (uint64_t)epoch + 1, 2));
    free(s.buffer);
}

/* Compute the first epoch.  windows is 0 if the documents fill none. */
static void bestfit_begin(struct bestfit *b, const struct documents *docs,
                          int64_t n, uint64_t seed)
{
    b->n = n;
    begin_epoch(b, docs, 0, seed);
    b->windows = (int64_t)b->n_windows - 1;
}

static struct token_range bestfit_range(struct bestfit *b,
                                        const struct documents *docs,
                                        int64_t epoch, int64_t w, int64_t i,
                                        uint64_t seed)
{
    const uint64_t *doc;
    int64_t rest = b->n - i, length;

    if (epoch != b->epoch)
        begin_epoch(b, docs, epoch, seed);
    doc = b->doc + b->first[permute(&b->order, (uint64_t)w)];
    for (; i >= (length = documents_length(docs, *doc)); doc++)
        i -= length;
    length -= i;
    return (struct token_range){ docs->start[*doc] + i,
                                 length < rest ? length : rest };
}

enum {
    PROBE = 65536, /* tokens of a shard checked when it is opened */
};

struct loader {
    struct loader_conf conf;
    struct shard *shard;
    size_t n;
    int64_t *start; /* of each shard in the text; n + 1 */
    int64_t windows;
    char hash[SHA256_TEXT];
    struct permute order; /* of the windows in `epoch` */
    int64_t epoch;
    struct documents docs; /* LOADER_DOCUMENTS and later orders */
    struct bestfit bestfit;

    /* the thread that touches pages ahead */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked;
    bool has_thread, stop, busy;
    struct token_range *want; /* tokens to touch */
    size_t want_n, want_room;
};

int64_t loader_tokens(const struct loader *l)
{
    return l->start[l->n];
}

/* The shard of a token: the last one that starts at or before it. */
static size_t shard_at(const struct loader *l, int64_t token)
{
    return num_place(l->start, l->n, token + 1) - 1;
}

static int64_t permuted_window(struct loader *l, int64_t epoch, int64_t w)
{
    if (epoch != l->epoch) {
        permute_init(&l->order, (uint64_t)l->windows, l->conf.seed,
                     rng_stream(RNG_DATA, (uint64_t)epoch + 1, 0));
        l->epoch = epoch;
    }
    return (int64_t)permute(&l->order, (uint64_t)w);
}

/* The first token of a window that is drawn as in nanoGPT's get_batch. */
static int64_t drawn_offset(const struct loader *l, int64_t w)
{
    const uint64_t places = (uint64_t)(loader_tokens(l) - l->conf.context);
    uint32_t r[4];

    rng_bits(l->conf.seed, rng_stream(RNG_DATA, 0, 0), (uint64_t)w, r);
    return (int64_t)((unsigned __int128)((uint64_t)r[1] << 32 | r[0]) *
                         places >>
                     64);
}

/* The first token of window w, counted over all epochs. */
static int64_t window_offset(struct loader *l, int64_t w)
{
    const int64_t last = loader_tokens(l) - 1 - l->conf.context;
    int64_t at;

    if (l->conf.order == LOADER_RANDOM)
        return drawn_offset(l, w);
    at = w % l->windows;
    if (l->conf.order == LOADER_EPOCH)
        at = permuted_window(l, w / l->windows, at);
    at *= l->conf.stride;
    return at < last ? at : last;
}

struct token_range loader_range(struct loader *l, int64_t w, int64_t i)
{
    const int64_t n = l->conf.context + 1 - i;
    struct token_range p;

    if (l->conf.order >= LOADER_BESTFIT)
        return bestfit_range(&l->bestfit, &l->docs, w / l->windows,
                             w % l->windows, i, l->conf.seed);
    if (l->conf.order != LOADER_DOCUMENTS)
        return (struct token_range){ window_offset(l, w) + i, n };
    p = documents_range(&l->docs, w / l->windows, window_offset(l, w) + i,
                        l->conf.seed);
    return (struct token_range){ p.at, p.n < n ? p.n : n };
}

/* The ids are those of the shard from number i on. */
static int bad_token(const struct loader *l, const struct shard *s, int64_t i,
                     const int32_t *id, struct err *e)
{
    for (; (*id & INT32_MAX) < l->conf.vocab; id++)
        i++;
    return err_input(e,
                     "%s: token %lld has id %d, but the vocabulary has %lld "
                     "ids; was the file encoded with another tokenizer?",
                     s->path, (long long)i, *id & INT32_MAX,
                     (long long)l->conf.vocab);
}

/* With their marks (shard.h). */
static int copy_tokens(const struct loader *l, int64_t at, int64_t n,
                       int32_t *out, struct err *e)
{
    const int64_t vocab = l->conf.vocab ? l->conf.vocab : INT32_MAX;

    for (size_t k = shard_at(l, at); n > 0; k++) {
        const struct shard *s = &l->shard[k];
        const int64_t i = at - l->start[k];
        const int64_t take = n < s->n - i ? n : s->n - i;
        uint32_t most;

        if (shard_copy(s, i, take, out, &most, e) < 0)
            return -1;
        if (most >= vocab)
            return bad_token(l, s, i, out, e);
        at += take;
        out += take;
        n -= take;
    }
    return 0;
}

/* Copy a window to x, and the window shifted by one token to y, where -1 is no
 * target. */
static int copy_window(struct loader *l, int64_t w, int32_t *x, int32_t *y,
                       struct err *e)
{
    const int64_t t = l->conf.context;
    struct token_range p;

    for (int64_t i = 0; i <= t; i += p.n) {
        int64_t n;

        p = loader_range(l, w, i);
        n = i + p.n > t ? t - i : p.n;
        if (n > 0 && copy_tokens(l, p.at, n, x + i, e) < 0)
            return -1;
        if (n < p.n && copy_tokens(l, p.at + n, 1, y + t - 1, e) < 0)
            return -1;
    }
    memcpy(y, x + 1, (size_t)(t - 1) * sizeof *y);
    for (int64_t i = 0; i < t; i++) {
        x[i] &= INT32_MAX;
        y[i] = y[i] < 0 ? -1 : y[i];
    }
    return 0;
}

int loader_get(struct loader *l, int64_t first, int64_t n, int32_t *x,
               int32_t *y, struct err *e)
{
    const int64_t t = l->conf.context;

    for (int64_t i = 0; i < n; i++)
        if (copy_window(l, first + i, x + i * t, y + i * t, e) < 0)
            return -1;
    return 0;
}

static void touch_pages(const struct loader *l, int64_t at, int64_t n)
{
    for (size_t k = shard_at(l, at); n > 0 && k < l->n; k++) {
        const struct shard *s = &l->shard[k];
        const int64_t i = at - l->start[k];
        const int64_t take = n < s->n - i ? n : s->n - i;

        shard_touch(s, i, take);
        at += take;
        n -= take;
    }
}

static void *touch_thread(void *arg)
{
    struct loader *l = arg;

    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        if (!l->busy) {
            pthread_cond_wait(&l->asked, &l->lock);
            continue;
        }
        pthread_mutex_unlock(&l->lock);
        for (size_t i = 0; i < l->want_n; i++)
            touch_pages(l, l->want[i].at, l->want[i].n);
        pthread_mutex_lock(&l->lock);
        l->busy = false;
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Would a window of this epoch take long to find, because its documents are in
 * an order of their own? */
static bool is_far(const struct loader *l, int64_t epoch)
{
    return l->conf.order == LOADER_DOCUMENTS
               ? epoch != l->docs.epoch
               : l->conf.order > LOADER_DOCUMENTS && epoch != l->bestfit.epoch;
}

/* List the tokens that loader_get() would read, up to the first window of
 * another epoch if the documents of that are in another order. */
static void want_windows(struct loader *l, int64_t first, int64_t n)
{
    l->want_n = 0;
    for (int64_t w = first; w < first + n; w++) {
        struct token_range p;

        if (is_far(l, w / l->windows))
            return;
        for (int64_t i = 0; i <= l->conf.context; i += p.n) {
            p = loader_range(l, w, i);
            APPEND(l->want, l->want_n, l->want_room) = p;
        }
    }
}

void loader_touch(struct loader *l, int64_t first, int64_t n)
{
    pthread_mutex_lock(&l->lock);
    if (l->has_thread && !l->busy) {
        want_windows(l, first, n);
        l->busy = true;
        pthread_cond_signal(&l->asked);
    }
    pthread_mutex_unlock(&l->lock);
}

/* Without the thread pages are read when they are needed, which is slower. */
static void start_thread(struct loader *l)
{
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->asked, NULL);
    l->has_thread = pthread_create(&l->thread, NULL, touch_thread, l) == 0;
}

static void stop_thread(struct loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_signal(&l->asked);
    pthread_mutex_unlock(&l->lock);
    if (l->has_thread)
        pthread_join(l->thread, NULL);
    pthread_cond_destroy(&l->asked);
    pthread_mutex_destroy(&l->lock);
}

static int open_shards(struct loader *l, struct err *e)
{
    const int width = l->conf.vocab > 0 ? shard_width(l->conf.vocab) : 0;
    glob_t found;
    int ret = glob(l->conf.files, GLOB_NOSORT | GLOB_BRACE, NULL, &found);

    if (ret == GLOB_NOMATCH)
        return err_set(e, ERR_MISSING,
                       "no shard matches %s; 'gdata encode' writes them",
                       l->conf.files);
    if (ret)
        return err_set(e, ERR_SYSTEM, "cannot search for %s", l->conf.files);
    SORT(found.gl_pathv, found.gl_pathc, str_compare);
    l->shard = xcalloc(found.gl_pathc, sizeof *l->shard);
    l->start = xcalloc(found.gl_pathc + 1, sizeof *l->start);
    for (size_t i = 0; i < found.gl_pathc && ret == 0; i++) {
        ret = shard_open(&l->shard[i], found.gl_pathv[i], width, e);
        l->shard[i].marked = true;
        if (ret == 0)
            l->start[++l->n] = l->start[i] + l->shard[i].n;
    }
    globfree(&found);
    return ret;
}

static int check_beginnings(const struct loader *l, struct err *e)
{
    AUTO_FREE int32_t *ids = xmalloc(PROBE * sizeof *ids);
    int ret = 0;

    for (size_t i = 0; i < l->n && ret == 0; i++) {
        const int64_t n = l->shard[i].n < PROBE ? l->shard[i].n : PROBE;

        ret = copy_tokens(l, l->start[i], n, ids, e);
    }
    return ret;
}

static int count_windows(struct loader *l, struct err *e)
{
    const int64_t t = l->conf.context;
    const int64_t last = loader_tokens(l) - 1 - t;

    if (t < 1 || l->conf.stride < 0 || l->conf.stride > t)
        return err_usage(e,
                         "the stride of windows of %lld tokens must be 1 to "
                         "%lld, not %lld",
                         (long long)t, (long long)t, (long long)l->conf.stride);
    if (!l->conf.stride)
        l->conf.stride = t;
    if (last < 0)
        return err_input(e,
                         "%s: there are only %lld tokens; a window needs %lld, "
                         "one more than model.context",
                         l->conf.files, (long long)loader_tokens(l),
                         (long long)t + 1);
    l->windows = last / l->conf.stride + 1;
    if (l->conf.whole && last % l->conf.stride)
        l->windows++;
    return 0;
}

/* A text may begin with the rest of a document, which is left out. */
static int find_documents(struct loader *l, struct err *e)
{
    int32_t first;

    if (documents_find(&l->docs, l->shard, l->n, l->conf.eot, e) < 0 ||
        copy_tokens(l, 0, 1, &first, e) < 0)
        return -1;
    if (l->conf.order == LOADER_DOCUMENTS)
        return 0;
    l->bestfit.whole = l->conf.order == LOADER_WHOLE;
    l->bestfit.skip = l->docs.n > 1 && (first & INT32_MAX) != l->conf.eot;
    bestfit_begin(&l->bestfit, &l->docs, l->conf.context + 1, l->conf.seed);
    l->windows = l->bestfit.windows;
    if (!l->windows)
        return err_input(e, "%s: the documents fill no window of %lld tokens",
                         l->conf.files, (long long)l->conf.context + 1);
    return 0;
}

static int hash_data(struct loader *l, struct err *e)
{
    struct sha256 h;

    sha256_init(&h);
    for (size_t i = 0; i < l->n; i++) {
        const struct shard *s = &l->shard[i];
        const char *name = path_name(s->path);

        sha256_add(&h, name, strlen(name) + 1);
        if (shard_sample(s, &h, e) < 0)
            return -1;
    }
    sha256_text(&h, l->hash);
    return 0;
}

/* If the data does not fit into memory, the kernel should not read ahead around
 * each window. */
static void advise_kernel(struct loader *l)
{
    const double memory = limits_memory("", NULL, 0);
    double size = 0;

    for (size_t i = 0; i < l->n; i++)
        size += (double)l->shard[i].size;
    if (l->conf.order == LOADER_SEQUENTIAL || size < memory / 2)
        return;
    for (size_t i = 0; i < l->n; i++)
        madvise(l->shard[i].map, l->shard[i].size, MADV_RANDOM);
}

int loader_check(const struct loader *l, struct err *e)
{
    for (size_t i = 0; i < l->n; i++)
        if (shard_check(&l->shard[i], e) < 0)
            return -1;
    return 0;
}

int loader_scan(const struct loader *l, struct err *e)
{
    const int64_t n = loader_tokens(l);
    int32_t id[SHARD_BLOCK];

    for (int64_t at = 0; at < n && !sig_caught(); at += SHARD_BLOCK)
        if (copy_tokens(l, at, n - at < SHARD_BLOCK ? n - at : SHARD_BLOCK, id,
                        e) < 0)
            return -1;
    return sig_caught() ? err_set(e, ERR_INTERRUPTED, "stopped by a signal")
                        : loader_check(l, e);
}

int loader_open(struct loader **out, const struct loader_conf *conf,
                struct err *e)
{
    struct loader *l = xcalloc(1, sizeof *l);

    l->conf = *conf;
    l->epoch = -1;
    start_thread(l);
    if (open_shards(l, e) < 0 || count_windows(l, e) < 0 ||
        check_beginnings(l, e) < 0 ||
        (l->conf.order >= LOADER_DOCUMENTS && find_documents(l, e) < 0) ||
        hash_data(l, e) < 0 || loader_check(l, e) < 0) {
        loader_close(l);
        return -1;
    }
    advise_kernel(l);
    *out = l;
    return 0;
}

void loader_close(struct loader *l)
{
    if (!l)
        return;
    stop_thread(l);
    for (size_t i = 0; i < l->n; i++)
        shard_close(&l->shard[i]);
    FREE(l->shard, l->start, l->want, l->bestfit.doc, l->bestfit.first);
    documents_clear(&l->docs);
    free(l);
}

int64_t loader_shards(const struct loader *l)
{
    return (int64_t)l->n;
}

const char *loader_path(const struct loader *l, int64_t shard)
{
    return l->shard[shard].path;
}

int64_t loader_windows(const struct loader *l)
{
    return l->windows;
}

int64_t loader_cut(const struct loader *l)
{
    return l->conf.order == LOADER_WHOLE ? l->bestfit.cut
           : l->conf.order == LOADER_BESTFIT
               ? loader_tokens(l) - l->windows * (l->conf.context + 1)
               : 0;
}

const char *loader_hash(const struct loader *l)
{
    return l->hash;
}

int64_t loader_fresh(const struct loader *l, int64_t w)
{
    const int64_t last = loader_tokens(l) - 1 - l->conf.context;
    const int64_t at = w * l->conf.stride;

    if (w == 0)
        return l->conf.context;
    return at <= last ? l->conf.stride : last - (at - l->conf.stride);
}
