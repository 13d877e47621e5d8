/*
 * loader - the windows of a step, for each order
 */
#include "config.h"
#include "data/shards/loader.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/path.h"
#include "data/shards/documents.h"
#include "data/shards/shard.h"
#include "t/lib/tap.h"

static char folder[] = "/tmp/loader.XXXXXX";

/* Token number i of the whole text is i: 1000 in three shards. */
enum { TOKENS = 1000 };

static void write_shards(void)
{
    static const int cut[] = { 0, 403, 410, TOKENS };
    struct err e = { 0 };
    uint16_t ids[TOKENS];

    for (int i = 0; i < TOKENS; i++)
        ids[i] = (uint16_t)i;
    for (int k = 0; k < 3; k++) {
        char *path =
            xasprintf("%s/x_%06d.%s", folder, k, k == 1 ? "npy" : "bin");
        struct shard_out out = { 0 };

        if (shard_begin(&out, path, k == 1 ? SHARD_NPY : SHARD_LLMC, 2, 0,
                        &e) == 0)
            shard_add(&out, ids + cut[k], (size_t)(cut[k + 1] - cut[k]));
        ok(e.kind == ERR_NONE && shard_commit(&out, &e) == 0,
           "shard %d is written", k);
        free(path);
    }
}

static struct loader *open_loader(struct loader_conf c)
{
    char *files = path_join(folder, "x_*");
    struct loader *l = NULL;
    struct err e = { 0 };

    c.files = files;
    if (loader_open(&l, &c, &e) < 0)
        diag("%s", e.text);
    free(files);
    return l;
}

/* Is row i of a call the window that begins at token x[0], and y one on? */
static bool is_window(const int32_t *x, const int32_t *y, int64_t t)
{
    for (int64_t k = 0; k < t; k++)
        if (x[k] != x[0] + k || y[k] != x[k] + 1)
            return false;
    return true;
}

static void sequential(void)
{
    struct loader *l = open_loader((struct loader_conf){
        .context = 100, .order = LOADER_SEQUENTIAL, .vocab = TOKENS });
    struct err e = { 0 };
    int32_t x[900], y[900];
    bool good = true;

    ok(loader_tokens(l) == TOKENS && loader_shards(l) == 3,
       "a loader counts the tokens and the shards");
    ok(loader_windows(l) == 9, "a window ends before the last token");
    ok(loader_get(l, 0, 9, x, y, &e) == 0, "an epoch is read");
    for (int i = 0; i < 9; i++)
        good = good && x[100 * i] == 100 * i &&
               is_window(x + 100 * i, y + 100 * i, 100);
    ok(good, "sequential windows continue from shard to shard");
    ok(loader_get(l, 9000, 2, x, y, &e) == 0 && x[0] == 0 && x[100] == 100,
       "any step of any epoch can be read directly");
    loader_close(l);
}

/* Windows first .. first+n-1, fetched one by one: each begin, once? */
static bool covers(struct loader *l, int64_t first, int64_t n, int64_t t)
{
    bool seen[TOKENS] = { false };
    int32_t *x = xmalloc((size_t)t * sizeof *x);
    int32_t *y = xmalloc((size_t)t * sizeof *y);
    struct err e = { 0 };
    bool good = true;

    for (int64_t i = 0; i < n; i++) {
        good = good && loader_get(l, first + i, 1, x, y, &e) == 0 &&
               is_window(x, y, t) && x[0] % t == 0 && !seen[x[0]];
        seen[x[0]] = true;
    }
    free(x);
    free(y);
    return good;
}

enum { DOC = 10, EOT = TOKENS, USED = 142 * 7 };

/* Tokens of whole documents, each once; the last of them may be cut. */
static bool whole_documents(const int32_t *x)
{
    bool seen[TOKENS] = { false }, good = true;

    for (int i = 0, first = -1; i < USED; i++) {
        if (i % DOC == 0) {
            good = good && x[i] == EOT;
            first = i + 1 < USED ? x[i + 1] : -1;
            good = good && (first < 0 || (first % DOC == 1 && !seen[first]));
            seen[first < 0 ? 0 : first] = true;
        } else {
            good = good && x[i] == first + i % DOC - 1;
        }
    }
    return good;
}

/* Documents of ten tokens, the first of which is the one that ends text. */
static void documents(void)
{
    char *path = path_join(folder, "d.npy");
    const struct loader_conf c = { .files = path,
                                   .context = 7,
                                   .seed = 3,
                                   .order = LOADER_DOCUMENTS,
                                   .eot = EOT };
    struct loader *l = NULL, *other = NULL;
    struct shard_out out = { 0 };
    int32_t x[2][USED], y[USED], one[USED];
    struct err e = { 0 };
    uint16_t ids[TOKENS];

    for (int i = 0; i < TOKENS; i++)
        ids[i] = (uint16_t)(i % DOC == 0 ? EOT : i);
    ok(shard_begin(&out, path, SHARD_NPY, 2, 0, &e) == 0,
       "a shard of documents is begun");
    shard_add(&out, ids, TOKENS);
    ok(shard_commit(&out, &e) == 0 && loader_open(&l, &c, &e) == 0 &&
           loader_open(&other, &c, &e) == 0,
       "loaders of documents are opened");
    for (int k = 0; k < 2; k++) {
        ok(loader_get(l, 142 * k, 142, x[k], y, &e) == 0 &&
               whole_documents(x[k]),
           "epoch %d has whole documents", k);
        ok(memcmp(y, x[k] + 1, (USED - 1) * sizeof *y) == 0 &&
               y[USED - 1] == (USED % DOC ? x[k][USED - 1] + 1 : EOT),
           "targets of epoch %d are the next tokens", k);
    }
    ok(memcmp(x[0], x[1], sizeof x[0]) != 0,
       "each epoch has its documents in another order");
    for (int64_t i = 141; i >= 0; i--)
        loader_get(other, i, 1, one + 7 * i, y, &e);
    ok(memcmp(one, x[0], sizeof one) == 0,
       "another loader reads the same documents, window by window");
    loader_close(l);
    loader_close(other);
    free(path);
}

/* A document has 1 to 30 tokens: the one that ends text, then its number. */
enum { PACKED = 200, FIT = 24 };

static int64_t write_lengths(const char *path, int first)
{
    struct shard_out out = { 0 };
    struct err e = { 0 };
    uint16_t ids[PACKED * 30];
    int64_t n = 0;

    for (int doc = first; doc < PACKED; doc++) {
        ids[n++] = EOT;
        for (int i = 1; i < 1 + (doc * 7919 + 13) % 30; i++)
            ids[n++] = (uint16_t)doc;
    }
    if (shard_begin(&out, path, SHARD_NPY, 2, 0, &e) == 0)
        shard_add(&out, ids + (first < 0), (size_t)(n -= first < 0));
    return shard_commit(&out, &e) == 0 ? n : -1;
}

/* Does each row begin with a document, and consist of whole documents but for
 * the last?  Counts how often each one occurs. */
static bool packs_documents(const int32_t *x, const int32_t *y, int64_t rows,
                            int times[PACKED])
{
    bool good = true;

    memset(times, 0, PACKED * sizeof *times);
    for (int64_t r = 0; r < rows; r++, x += FIT, y += FIT) {
        good = good && x[0] == EOT;
        for (int i = 0; i < FIT; i++) {
            const bool begins = x[i] == EOT && y[i] != EOT;
            const int length = begins ? 1 + (y[i] * 7919 + 13) % 30 : 1;
            const int rest = FIT + 1 - i;

            good = good && (i == FIT - 1 || y[i] == x[i + 1]);
            if (begins)
                times[y[i]]++;
            for (int k = 1; k < length && k < rest; k++)
                good = good && y[i + k - 1] == y[i];
            if (begins && length < rest)
                good = good && y[i + length - 1] == EOT;
        }
    }
    return good;
}

static void best_fit(void)
{
    char *path = path_join(folder, "f.npy");
    const struct loader_conf c = { .files = path,
                                   .context = FIT,
                                   .seed = 3,
                                   .order = LOADER_BESTFIT,
                                   .eot = EOT };
    struct loader *l = NULL, *other = NULL;
    int32_t *x = xcalloc(PACKED * FIT, sizeof *x),
            *y = xcalloc(PACKED * FIT, sizeof *y), one[FIT], last[FIT];
    struct err e = { 0 };
    const int64_t all = write_lengths(path, 0);
    int64_t w;
    int times[PACKED], many = 0, gone = 0;
    bool good = true;

    ok(loader_open(&l, &c, &e) == 0 && loader_open(&other, &c, &e) == 0,
       "loaders that pack documents are opened");
    w = loader_windows(l);
    ok(w > 100 && loader_cut(l) == all - w * (FIT + 1) &&
           loader_cut(l) < all / 12,
       "fewer than one token in twelve is cut off, and they are counted");
    for (int k = 0; k < 3; k++) {
        ok(loader_get(l, k * w, w, x, y, &e) == 0 &&
               packs_documents(x, y, w, times),
           "windows of epoch %d are whole documents, but the last", k);
        for (int i = many = gone = 0; i < PACKED; i++) {
            many += times[i] > 1;
            gone += times[i] == 0 && (i * 7919 + 13) % 30 > 0;
        }
        ok(k == 0 ? many == 0 && gone <= 2 : many <= 5 && gone <= 8,
           "in epoch %d, documents occur once", k);
    }
    for (int64_t i = w; i-- > 0;)
        good = good && loader_get(other, 2 * w + i, 1, one, last, &e) == 0 &&
               memcmp(one, x + FIT * i, sizeof one) == 0 &&
               memcmp(last, y + FIT * i, sizeof one) == 0;
    ok(good, "another loader packs the same windows, asked for one by one");
    loader_close(l);
    loader_close(other);

    write_lengths(path, -1);
    l = NULL;
    ok(loader_open(&l, &c, &e) == 0 &&
           loader_get(l, 0, loader_windows(l), x, y, &e) == 0 &&
           packs_documents(x, y, loader_windows(l), times),
       "what comes before the first end-of-text token is left out");
    loader_close(l);
    free(x);
    free(y);
    free(path);
}

static void epochs(void)
{
    const struct loader_conf c = {
        .context = 7, .order = LOADER_EPOCH, .seed = 3, .vocab = TOKENS
    };
    struct loader *l = open_loader(c), *other;
    struct err e = { 0 };
    const int64_t w = loader_windows(l);
    int32_t x[4][142 * 7], y[142 * 7];
    bool moved = false;

    ok(w == 142, "1000 tokens have 142 windows of 7");
    ok(covers(l, 0, w, 7) && covers(l, w, w, 7) && covers(l, 41 * w, w, 7),
       "each epoch has each window once");
    loader_get(l, 0, w, x[0], y, &e);
    loader_get(l, w, w, x[1], y, &e);
    ok(memcmp(x[0], x[1], sizeof x[0]) != 0,
       "each epoch has its windows in another order");
    for (int64_t i = 0; i < w; i++)
        moved = moved || x[0][7 * i] != 7 * i;
    ok(moved, "the windows of an epoch are not in their plain order");
    for (int64_t i = 0; i < w; i += 2)
        loader_get(l, i, 2, x[2] + 7 * i, y, &e);
    ok(memcmp(x[0], x[2], sizeof x[0]) == 0,
       "windows do not depend on the size of a call");
    other = open_loader(c);
    loader_get(other, w - 3, 5, x[3], y, &e);
    ok(memcmp(x[3], x[0] + 7 * (w - 3), 3 * 7 * 4) == 0 &&
           memcmp(x[3] + 3 * 7, x[1], 2 * 7 * 4) == 0,
       "a call may span two epochs, with another loader, too");
    ok(strcmp(loader_hash(l), loader_hash(other)) == 0 &&
           strlen(loader_hash(l)) == 64,
       "two loaders of the same shards have the same hash");
    loader_close(other);
    other = open_loader(
        (struct loader_conf){ .context = 7, .seed = 4, .order = LOADER_EPOCH });
    loader_get(other, 0, w, x[3], y, &e);
    ok(memcmp(x[0], x[3], sizeof x[0]) != 0,
       "another seed gives another order");
    loader_close(other);
    loader_close(l);
}

/* With the order whole, what was cut at the end of a window is in another one,
 * unless it is longer than a window. */
static void whole(void)
{
    char *path = path_join(folder, "f.npy");
    const struct loader_conf c = { .files = path,
                                   .context = FIT,
                                   .seed = 3,
                                   .order = LOADER_WHOLE,
                                   .eot = EOT };
    struct loader *l = NULL;
    int32_t *x = xcalloc(PACKED * FIT, sizeof *x),
            *y = xcalloc(PACKED * FIT, sizeof *y);
    struct err e = { 0 };
    int times[PACKED], ends[PACKED] = { 0 }, cut = 0, missing = 0, twice = 0;
    bool good;

    write_lengths(path, 0);
    good = loader_open(&l, &c, &e) == 0 &&
           loader_get(l, 0, loader_windows(l), x, y, &e) == 0;
    ok(good && packs_documents(x, y, loader_windows(l), times),
       "windows of the order whole begin with a document");
    for (int64_t i = 0; i < loader_windows(l) * FIT; i++)
        if (x[i] == EOT && y[i] != EOT) {
            const int length = 1 + (y[i] * 7919 + 13) % 30;

            ends[y[i]] += length <= FIT + 1 - i % FIT;
        }
    for (int i = 0; i < PACKED; i++) {
        const int length = 1 + (i * 7919 + 13) % 30;

        if (length > FIT + 1)
            cut += length - FIT - 1;
        else if (length > 1)
            missing += ends[i] == 0;
        twice += ends[i] > 1;
    }
    ok(missing <= 3 && twice == 0,
       "each document is whole in one window, but for those of the last");
    ok(loader_cut(l) == cut, "only longer ones are cut");
    loader_close(l);
    free(x);
    free(y);
    free(path);
}

/* Every third token is marked. */
static void marks(void)
{
    char *path = path_join(folder, "m.bin");
    const struct loader_conf c = { .files = path, .context = 20, .vocab = 100 };
    struct shard_out out = { 0 };
    struct loader *l = NULL;
    struct err e = { 0 };
    int32_t ids[100], x[80], y[80];
    bool good;

    for (int i = 0; i < 100; i++)
        ids[i] = i | (i % 3 ? 0 : SHARD_UNSCORED);
    if (shard_begin(&out, path, SHARD_LLMC, 4, 0, &e) == 0)
        shard_add(&out, ids, 100);
    good = shard_commit(&out, &e) == 0 && loader_open(&l, &c, &e) == 0 &&
           loader_get(l, 0, 4, x, y, &e) == 0;
    for (int i = 0; i < 80 && good; i++)
        good = x[i] == i && y[i] == ((i + 1) % 3 ? i + 1 : -1);
    ok(good, "marked tokens are read, but not predicted");
    ok(good && loader_scan(l, &e) == 0,
       "ids of marked tokens are checked as others");
    loader_close(l);
    ids[3] = 100 | SHARD_UNSCORED;
    l = NULL;
    if (shard_begin(&out, path, SHARD_LLMC, 4, 0, &e) == 0)
        shard_add(&out, ids, 100);
    ok(shard_commit(&out, &e) == 0 && loader_open(&l, &c, &e) < 0 &&
           strstr(e.text, "token 3 has id 100,"),
       "a marked id outside the vocabulary is refused");
    free(path);
}

static void drawn(void)
{
    struct loader *l = open_loader((struct loader_conf){
        .context = 990, .order = LOADER_RANDOM, .seed = 1 });
    struct err e = { 0 };
    int32_t *x = xmalloc(990 * sizeof *x), *y = xmalloc(990 * sizeof *y);
    int hits[10] = { 0 };
    bool good = true;

    for (int i = 0; i < 2000; i++) {
        good = good && loader_get(l, i, 1, x, y, &e) == 0 &&
               is_window(x, y, 990) && x[0] >= 0 && x[0] < 10;
        hits[x[0] % 10]++;
    }
    ok(good, "random windows are inside the text");
    good = true;
    for (int i = 0; i < 10; i++) /* 200 expected, sigma 13.4 */
        good = good && hits[i] > 130 && hits[i] < 270;
    ok(good, "random windows begin everywhere, also at the last position");
    free(x);
    free(y);
    loader_close(l);
}

/* Every token but the first predicted exactly once, with enough before it. */
static void scoring(void)
{
    static const int64_t stride[] = { 1, 5, 13, 16 };

    for (size_t k = 0; k < sizeof stride / sizeof stride[0]; k++) {
        struct loader *l =
            open_loader((struct loader_conf){ .context = 16,
                                              .stride = stride[k],
                                              .order = LOADER_SEQUENTIAL,
                                              .whole = true });
        struct err e = { 0 };
        int scored[TOKENS] = { 0 };
        bool good = true;

        for (int64_t w = 0; w < loader_windows(l); w++) {
            const int64_t fresh = loader_fresh(l, w);
            int32_t x[16], y[16];

            good = good && loader_get(l, w, 1, x, y, &e) == 0 && fresh > 0 &&
                   fresh <= 16;
            for (int64_t i = 16 - fresh; i < 16; i++)
                scored[y[i]]++;
        }
        for (int i = 1; i < TOKENS; i++)
            good = good && scored[i] == 1;
        ok(good && scored[0] == 0, "with stride %d each token is scored once",
           (int)stride[k]);
        loader_close(l);
    }
}

static void refusals(void)
{
    static const struct {
        const char *what, *says;
        struct loader_conf c;
    } cases[] = {
        { "a token outside the vocabulary",
          "token 399 has id 399",
          { .files = "x_*", .context = 4, .vocab = 399 } },
        { "too few tokens",
          "only 1000 tokens",
          { .files = "x_*", .context = 1000 } },
        { "a stride beyond the context",
          "must be 1 to 4, not 5",
          { .files = "x_*", .context = 4, .stride = 5 } },
        { "no files", "no shard matches", { .files = "y*", .context = 4 } },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct loader_conf c = cases[i].c;
        char *files = path_join(folder, c.files);
        struct loader *l = NULL;
        struct err e = { 0 };

        c.files = files;
        if (!ok(loader_open(&l, &c, &e) < 0 && strstr(e.text, cases[i].says),
                "the loader is refused: %s", cases[i].what))
            diag("%s", e.text);
        free(files);
    }
}

static void permutations(void)
{
    for (uint64_t n = 1; n < 300; n = n * 3 / 2 + 1) {
        struct permute p;
        bool seen[1024] = { false }, good = true;

        permute_init(&p, n, 5, n);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t at = permute(&p, i);

            good = good && at < n && !seen[at];
            seen[at] = true;
        }
        ok(good, "permute() is a permutation of %d numbers", (int)n);
    }
    for (int k = 0; k < 2; k++) { /* large ones stay inside */
        const uint64_t n = k ? UINT64_MAX : (uint64_t)1 << 40 | 5;
        struct permute p;

        permute_init(&p, n, 1, 1);
        ok(permute(&p, n - 1) < n && permute(&p, 0) != permute(&p, 1),
           "permute() of %llu numbers stays below", (unsigned long long)n);
    }
}

int main(void)
{
    struct err e = { 0 };

    if (!mkdtemp(folder))
        return 1;
    write_shards();
    sequential();
    epochs();
    documents();
    best_fit();
    whole();
    marks();
    drawn();
    scoring();
    refusals();
    permutations();
    path_remove(folder, &e);
    return done_testing();
}
