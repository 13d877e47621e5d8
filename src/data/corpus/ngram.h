#ifndef DATA_CORPUS_NGRAM_H
#define DATA_CORPUS_NGRAM_H

#include <stddef.h>
#include <stdint.h>

/*
 * ngram - predict a byte from the two before it
 *
 *      struct ngram *m = ngram_new(3);
 *
 *      ngram_add(m, text, n);          for each training document
 *      ngram_fit(m);
 *      bits += ngram_bits(m, other, n);
 *      ngram_free(m);
 *
 * A baseline for first models: the counts of all sequences of `order` bytes (1
 * to 3), where each order is interpolated with the next lower one as by Witten
 * and Bell ("The zero-frequency problem", IEEE Trans. Inf. Theory 37, 1991,
 * method C):
 *
 *      p(c | ab) = (count(abc) + kinds(ab) p(c | b)) / (count(ab) + kinds(ab))
 *
 * where kinds(ab) is the number of different bytes that follow ab.  At order 0
 * all 256 bytes are equally likely.  A document is preceded by newlines.
 */
struct ngram;

struct ngram *ngram_new(int order);
void ngram_add(struct ngram *, const char *text, size_t n);
void ngram_fit(struct ngram *);
double ngram_bits(const struct ngram *, const char *text, size_t n);
void ngram_free(struct ngram *);

#endif
