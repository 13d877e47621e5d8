#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * fasttext - classify texts with a model of fastText
 *
 *      struct fasttext *f = fasttext_load("lid.176.bin", e);
 *      float probability;
 *      const char *label = fasttext_predict(f, text, n, &probability);
 *
 *      fasttext_free(f);
 *
 * The file is one that `fasttext supervised` writes, a .bin; quantised ones
 * (.ftz) are refused.  Several threads may use a model.  Labels and
 * probabilities are those of fastText, to the last bit, for the same text with
 * spaces in place of its newlines; fastText adds 0.00001 to a probability.
 */
struct fasttext;

struct fasttext *fasttext_load(const char *path, struct err *);
void fasttext_free(struct fasttext *);

/*
 * Train a model on texts, each with one of the labels; their memory must stay
 * until the end.  The rate falls to 0.  The same texts in the same order give
 * the same model.
 */
struct fasttext_text {
    const char *text;
    size_t n;
    int32_t label; /* its index */
};

struct fasttext_conf {
    int dim, grams, epochs, buckets; /* grams: words in an n-gram, at most */
    double rate;
};

struct fasttext *fasttext_train(const struct fasttext_conf *,
                                char *const *labels, int32_t n_labels,
                                const struct fasttext_text *, size_t n,
                                struct err *);
/* fastText reads it, too. */
int fasttext_save(const struct fasttext *, const char *path, struct err *);

/* The most probable label, without "__label__", and its probability; NULL, with
 * a probability of 0, if the model knows nothing of the text. */
const char *fasttext_predict(const struct fasttext *, const char *text,
                             size_t n, float *probability);
