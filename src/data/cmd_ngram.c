/*
 * gdata ngram - how well a model of three bytes predicts a text
 */
#include "config.h"
#include "data/cmds.h"

#include <stdio.h>
#include <string.h>

#include "common/num.h"
#include "data/corpus/corpus.h"
#include "data/corpus/ngram.h"

static struct opt_list train, val;
static struct corpus_opts input;
static int order = 3;

static const struct opt ngram_opts[] = {
    { 't', "train", "path", OPT_LIST, &train, "fit the model to PATH" },
    { 0, "val", "path", OPT_LIST, &val, "and predict PATH with it" },
    { 'n', "order", "bytes", OPT_INT, &order,
      "look at runs of BYTES bytes, 1 to 3 (3)" },
    CORPUS_OPTS(input),
    { 0 }
};

struct sums {
    struct ngram *model;
    bool fits;
    double bits;
    int64_t bytes;
};

/* Parts of a document are taken for documents: one context in a million. */
static int each(const struct opt_list *paths, struct sums *s, struct err *e)
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
    struct sums fit = { .fits = true }, predict = { .fits = false };
    char text[NUM_TEXT], other[NUM_TEXT];
    int ret;

    if (argc)
        return err_set(e, ERR_USAGE, "is \"%s\" for --train or for --val?",
                       argv[0]);
    if (!train.n || !val.n)
        return err_set(e, ERR_USAGE, "both --train and --val must be given");
    if (order < 1 || order > 3)
        return err_set(e, ERR_USAGE, "--order %d: there are 1, 2 and 3", order);
    fit.model = predict.model = ngram_new(order);
    ret = each(&train, &fit, e);
    if (ret == 0) {
        ngram_fit(fit.model);
        ret = each(&val, &predict, e);
    }
    ngram_free(fit.model);
    if (ret < 0)
        return -1;
    if (!predict.bytes)
        return err_set(e, ERR_INPUT, "no text to predict in %s", val.item[0]);
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
    .help = "predict a text by runs of 3 bytes",
    .opts = ngram_opts,
    .run = ngram_main,
};
