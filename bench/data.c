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
#include "data/shards/mixture.h"

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

static int64_t from_start(const void *arg, const struct conf_span *s)
{
    (void)arg;
    (void)s;
    return 0;
}

/* Tokens, each as input and as target, as a step reads them, in an order; or,
 * in the last row, from three sources that are the same files. */
enum { MIXTURE = LOADER_EPOCH + 1 };

static double batches(char **path, size_t n, int row)
{
    enum { BATCH = 32 };
    const struct mixture_conf conf = {
        .loader = { .context = n > 1 ? strtol(path[1], NULL, 10) : 1024,
                    .order =
                        row < MIXTURE ? (enum loader_order)row : LOADER_EPOCH,
                    .seed = 1,
                    .vocab = 65536 },
        .shares = true,
        .sequences = from_start,
    };
    const int64_t T = conf.loader.context;
    char *sources = row == MIXTURE ? xasprintf("a:0.6:%s, b:0.3:%s, c:0.1:%s",
                                               path[0], path[0], path[0])
                                   : xstrdup(path[0]);
    struct err e = { 0 };
    struct source_list list;
    struct mixture *m;
    int32_t *x, *y;
    int64_t w;

    if (source_list_parse(&list, sources, &e) < 0 ||
        mixture_open(&m, &list, &conf, &e) < 0)
        fail(&e);
    x = xcalloc((size_t)(BATCH * T), sizeof *x);
    y = xcalloc((size_t)(BATCH * T), sizeof *y);
    w = loader_windows(mixture_loader(m, 0)) / BATCH * BATCH;
    for (int64_t i = 0; i < w; i += BATCH)
        if (mixture_get(m, i, BATCH, x, y, &e) < 0)
            fail(&e);
    free(x);
    free(y);
    free(sources);
    mixture_close(m);
    source_list_clear(&list);
    return (double)(w * T);
}

int main(int argc, char **argv)
{
    static const char *const orders[] = { "sequential", "random", "epoch",
                                          "mixture" };
    const char *what = argc > 2 ? argv[1] : "";
    const size_t n = argc > 2 ? (size_t)argc - 2 : 0;
    char **path = argv + 2;
    const bool loads = strcmp(what, "loader") == 0;

    if (argc < 3 ||
        !(loads || strcmp(what, "corpus") == 0 || strcmp(what, "gzip") == 0)) {
        fprintf(stderr, "usage: data corpus|gzip|loader PATH...\n");
        return 2;
    }
    for (int k = 0; k < (loads ? 4 : 1); k++) {
        double best = 0;

        for (int i = 0; i < PASSES; i++) {
            const double start = clock_mono();
            const double bytes = loads            ? batches(path, n, k)
                                 : what[0] == 'c' ? documents(path, n)
                                                  : inflated(path, n);
            const double rate = bytes / (clock_mono() - start) / 1e6;

            best = rate > best ? rate : best;
        }
        printf("%-24s %8.0f %s/s\n", loads ? orders[k] : what, best,
               loads ? "Mtok" : "MB");
    }
    return 0;
}
