#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "data/corpus/clean.h"
#include "data/corpus/corpus.h"
#include "data/shards/sink.h"

/*
 * encode_corpus - encode documents to shards, with any number of threads
 *
 *      struct encode_corpus_conf conf = { .tokenizer = t, ... };
 *
 *      got = encode_corpus(corpus, sink, &conf, &state, by_subset, e);
 *
 * Threads encode the blocks of the corpus, and the ids are written in the order
 * of the input (corpus_work()), so the shards do not depend on the number of
 * threads, and only a few blocks are in memory.
 *
 * Encoding ends at the end of the input, after conf.tokens tokens, at an error,
 * or at a signal.  After a signal the progress is saved (sink.h), and the error
 * is ERR_STOPPED.
 */
enum encode_eot { ENCODE_EOT_FIRST, ENCODE_EOT_LAST, ENCODE_EOT_NONE };

enum encode_invalid {
    ENCODE_INVALID_AUTO, /* replace in JSON, raw in plain text */
    ENCODE_INVALID_RAW,
    ENCODE_INVALID_REPLACE,
};

struct encode_corpus_conf {
    const struct tokenizer *tokenizer;
    int threads;
    enum encode_eot eot;
    enum encode_invalid invalid;
    bool special;                     /* recognise special tokens in the text */
    const struct chat_template *chat; /* for conversations, or NULL; only ids
                                       * of answers are to be predicted */
    const struct clean *clean;        /* rules that drop documents, or NULL */
    int width;                        /* bytes of an id */
    int64_t tokens;                   /* stop after this many; 0: at the end */
    double val, test;                 /* shares of the text */
    int64_t text; /* bytes of text, to hold out its tail; 0: hold out by
                       * the hashes of documents */
};

/* From the state on, which is changed; tokens are added to by_subset. */
int encode_corpus(struct corpus *, struct sink *,
                  const struct encode_corpus_conf *, struct sink_state *,
                  int64_t by_subset[SUBSETS], struct err *);
