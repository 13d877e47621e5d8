#ifndef DATA_CORPUS_NGRAM_H
#define DATA_CORPUS_NGRAM_H

#include <stddef.h>
#include <stdint.h>

/*
 * ngram - what a byte is, given the two before it
 *
 *      struct ngram *m = ngram_new(3);
 *
 *      ngram_add(m, text, n);          each document of the training text
 *      ngram_fit(m);
 *      bits += ngram_bits(m, other, n);
 *      ngram_free(m);
 *
 * The yardstick of a first model: counts of all runs of `order` bytes (1 to
 * 3), each length mixed with the next shorter one as Witten and Bell do it
 * ("The zero-frequency problem", IEEE Trans. Inf. Theory 37, 1991, method C):
 *
 *      p(c | ab) = (count(abc) + kinds(ab) p(c | b)) / (count(ab) + kinds(ab))
 *
 * where kinds(ab) is how many different bytes were seen after ab; at the
 * bottom all 256 bytes are alike.  The bytes before a document are newlines.
 */
struct ngram;

struct ngram *ngram_new(int order);
void ngram_add(struct ngram *, const char *text, size_t n);
void ngram_fit(struct ngram *);
double ngram_bits(const struct ngram *, const char *text, size_t n);
void ngram_free(struct ngram *);

#endif
