/*
 * gdata ngram - predict a text with a byte n-gram model
 */
#include "config.h"
#include "data/cmds.h"

#include <stdio.h>
#include <string.h>

#include "common/num.h"
#include "data/corpus/corpus.h"
#include "data/corpus/ngram.h"

static struct opt_list train, val;
static struct corpus_opts input = CORPUS_OPTS_INIT;
static int order = 3;

static const struct opt ngram_opts[] = {
    { 't', "train", "path", OPT_LIST, &train, "fit the model to PATH" },
    { 0, "val", "path", OPT_LIST, &val, "predict the text in PATH" },
    { 'n', "order", "bytes", OPT_INT, &order,
      "use sequences of BYTES bytes, 1 to 3 (default: 3)" },
    CORPUS_OPTS(input),
    { 0 }
};

struct ngram_sums {
    struct ngram *model;
    bool fits;
    double bits;
    int64_t bytes;
};

/* Parts of a document are treated as documents, which affects one byte in a
 * hundred thousand. */
static int read_texts(const struct opt_list *paths, struct ngram_sums *s,
                      struct err *e)
{
    struct corpus_conf conf;
    struct corpus *corpus;
    struct corpus_block *b;
    int got;

    if (corpus_conf_set(&conf, &input, (char *const *)(const void *)paths->item,
                        (int)paths->n, e) < 0 ||
        corpus_open(&corpus, &conf, e) < 0)
        return -1;
    while ((got = corpus_next(corpus, &b, e)) > 0) {
        for (size_t i = 0; i < b->n; i++) {
            const struct corpus_doc *d = &b->doc[i];

            s->bytes += (int64_t)d->len;
            if (s->fits)
                ngram_add(s->model, d->text, d->len);
            else
                s->bits += ngram_bits(s->model, d->text, d->len);
        }
        corpus_done(corpus, b);
    }
    corpus_close(corpus);
    return got;
}

static int ngram_main(int argc, char **argv, struct err *e)
{
    struct ngram_sums fit = { .fits = true }, predict = { .fits = false };
    char text[NUM_TEXT], other[NUM_TEXT];
    int ret;

    if (argc)
        return err_set(e, ERR_USAGE,
                       "unexpected argument '%s'; name texts with --train and "
                       "--val",
                       argv[0]);
    if (!train.n || !val.n)
        return err_set(e, ERR_USAGE, "expected --train and --val");
    if (order < 1 || order > 3)
        return err_set(e, ERR_USAGE, "--order expects 1, 2 or 3, not %d",
                       order);
    fit.model = predict.model = ngram_new(order);
    ret = read_texts(&train, &fit, e);
    if (ret == 0) {
        ngram_fit(fit.model);
        ret = read_texts(&val, &predict, e);
    }
    ngram_free(fit.model);
    if (ret < 0)
        return -1;
    if (!predict.bytes)
        return err_set(e, ERR_INPUT, "%s has no text to predict", val.item[0]);
    printf("%.4f bits per byte: a byte %s fitted to %s, on %s\n",
           predict.bits / (double)predict.bytes,
           order == 3   ? "trigram"
           : order == 2 ? "bigram"
                        : "unigram",
           num_bytes(text, (double)fit.bytes),
           num_bytes(other, (double)predict.bytes));
    return 0;
}

const struct cmd cmd_ngram = {
    .name = "ngram",
    .args = "--train PATH --val PATH",
    .help = "predict a text with a byte n-gram model",
    .opts = ngram_opts,
    .run = ngram_main,
};
