/*
 * data - measure the rate of documents and of batches
 *
 * usage: data corpus PATH...           read documents with one thread
 *        data gzip PATH...             only decompress
 *        data loader GLOB [CONTEXT]    read batches
 *
 * Prints megabytes (10^6 bytes) of text, or millions of tokens, per second: the
 * best of five passes, so that the files are in the page cache.
 */
#include "config.h"
#include "common/clock.h"
#include "common/mem.h"
#include "data/corpus/corpus.h"
#include "data/corpus/source/source.h"
#include "data/shards/loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES = 5 };

static void fail(const struct err *e)
{
    fprintf(stderr, "data: %s\n", e->text);
    exit(1);
}

static double documents(char **path, size_t n)
{
    const struct corpus_conf conf = { .path = path, .n = n };
    struct err e = { 0 };
    struct corpus_stats stats;
    struct corpus *corpus;
    struct corpus_block *b;
    int got;

    if (corpus_open(&corpus, &conf, &e) < 0)
        fail(&e);
    while ((got = corpus_next(corpus, &b, &e)) > 0)
        corpus_done(corpus, b);
    if (got < 0)
        fail(&e);
    corpus_stats(corpus, &stats);
    corpus_close(corpus);
    return (double)stats.text;
}

static double inflated(char **path, size_t n)
{
    char *buf = xmalloc(1 << 20);
    struct err e = { 0 };
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        struct source *s;
        ssize_t got;

        if (source_open(&s, path[i], -1, NULL, &e) < 0)
            fail(&e);
        while ((got = source_read(s, buf, 1 << 20, &e)) > 0)
            sum += (double)got;
        if (got < 0)
            fail(&e);
        source_close(s);
    }
    free(buf);
    return sum;
}

/* Tokens, each as input and as target, as a step reads them. */
static double batches(char **path, size_t n, enum loader_order order)
{
    enum { BATCH = 32 };
    const struct loader_conf conf = {
        .files = path[0],
        .context = n > 1 ? strtol(path[1], NULL, 10) : 1024,
        .order = order,
        .seed = 1,
        .vocab = 65536,
    };
    struct err e = { 0 };
    struct loader *l;
    int32_t *x, *y;
    int64_t w;

    if (loader_open(&l, &conf, &e) < 0)
        fail(&e);
    x = xcalloc((size_t)(BATCH * conf.context), sizeof *x);
    y = xcalloc((size_t)(BATCH * conf.context), sizeof *y);
    w = loader_windows(l) / BATCH * BATCH;
    for (int64_t i = 0; i < w; i += BATCH)
        if (loader_get(l, i, BATCH, x, y, &e) < 0)
            fail(&e);
    free(x);
    free(y);
    loader_close(l);
    return (double)(w * conf.context);
}

int main(int argc, char **argv)
{
    static const char *const orders[] = { "sequential", "random", "epoch" };
    const char *what = argc > 2 ? argv[1] : "";
    const bool loads = strcmp(what, "loader") == 0;

    if (argc < 3 ||
        !(loads || strcmp(what, "corpus") == 0 || strcmp(what, "gzip") == 0)) {
        fprintf(stderr, "usage: data corpus|gzip|loader PATH...\n");
        return 2;
    }
    for (int k = 0; k < (loads ? 3 : 1); k++) {
        double best = 0;

        for (int i = 0; i < PASSES; i++) {
            const double start = clock_mono();
            const double bytes =
                loads
                    ? batches(argv + 2, (size_t)argc - 2, (enum loader_order)k)
                : what[0] == 'c' ? documents(argv + 2, (size_t)argc - 2)
                                 : inflated(argv + 2, (size_t)argc - 2);
            const double rate = bytes / (clock_mono() - start) / 1e6;

            best = rate > best ? rate : best;
        }
        printf("%-24s %8.0f %s/s\n", loads ? orders[k] : what, best,
               loads ? "Mtok" : "MB");
    }
    return 0;
}
