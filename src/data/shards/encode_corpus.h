#ifndef DATA_SHARDS_ENCODE_CORPUS_H
#define DATA_SHARDS_ENCODE_CORPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "data/corpus/corpus.h"
#include "data/shards/sink.h"
#include "data/token/tokenizer.h"

/*
 * encode - documents to files of tokens, by any number of threads
 *
 *      struct encode_corpus_conf conf = { .tokenizer = t, ... };
 *
 *      got = encode_corpus(corpus, sink, &conf, &mark, &stats, e);
 *
 * Each thread takes a block of documents, encodes it, and puts the ids where
 * its turn is; whichever thread completes the next block writes all that are
 * ready, in the order of the input.  So the files do not depend on the number
 * of threads, and there are never more than a few blocks in memory.
 *
 * It stops at the end of the input, after conf.tokens tokens, at an error, or
 * at a signal; then the work is marked (sink.h) and the error is ERR_STOPPED.
 */
enum eot { EOT_FIRST, EOT_LAST, EOT_NONE };

enum invalid { INVALID_AUTO, INVALID_RAW, INVALID_REPLACE };

enum { SUBSET_VAL, SUBSET_TRAIN, SUBSET_TEST };

struct encode_corpus_conf {
    const struct tokenizer *tokenizer;
    int threads;
    enum eot eot;
    enum invalid invalid; /* AUTO: raw for text, replace for JSON */
    bool special;         /* special tokens in the text are meant */
    int width;            /* bytes an id */
    int64_t tokens;       /* stop after so many; 0: at the end */
    double val, test;     /* shares */
    int64_t text;         /* bytes in all, to divide by place; 0: divide
                           * by the documents' hashes */
};

struct encode_corpus_stats {
    int64_t documents, text, tokens;
    int64_t by_subset[SINK_SUBSETS];
};

int encode_corpus(struct corpus *, struct sink *,
                  const struct encode_corpus_conf *,
                  const struct sink_state *from, struct encode_corpus_stats *,
                  struct err *);

#endif
