#include "config.h"
#include "data/shards/bestfit.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/rng.h"

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

static void add_window(struct bestfit *b, size_t documents)
{
    GROW(b->first, b->n_windows, b->window_room);
    b->first[b->n_windows++] = (int64_t)documents;
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

        add_window(b, n);
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
            GROW(b->doc, n, b->room);
            b->doc[n++] = w.doc;
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

void bestfit_begin(struct bestfit *b, const struct documents *docs, int64_t n,
                   uint64_t seed)
{
    b->n = n;
    begin_epoch(b, docs, 0, seed);
    b->windows = (int64_t)b->n_windows - 1;
}

struct token_range bestfit_range(struct bestfit *b,
                                 const struct documents *docs, int64_t epoch,
                                 int64_t w, int64_t i, uint64_t seed)
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

void bestfit_clear(struct bestfit *b)
{
    free(b->doc);
    free(b->first);
    *b = (struct bestfit){ 0 };
}
