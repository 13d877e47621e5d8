#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "data/corpus/corpus.h"
#include "data/shards/encode_corpus.h"
#include "data/token/tokenizer.h"

/*
 * encode_block - encode the documents of a block, and divide them into subsets
 *
 * `at` is the position of the block's text in the input, which matters if the
 * tail is held out.  A struct encoded_block may be used again.
 */
enum { ENCODE_SAME = -1 };

/* Consecutive ids of a block that belong to one subset. */
struct id_range {
    size_t n;
    int subset; /* or ENCODE_SAME: as the range before */
};

struct encoded_block {
    int64_t seq;
    struct corpus_place place; /* after it */
    struct ids ids;            /* packed to the width of the shards */
    struct id_range *range;
    size_t n_ranges, ranges_room;
    int64_t documents, bad, text;
    struct encoded_block *next_spare;
};

int encode_block(struct encoder *, const struct encode_corpus_conf *,
                 const struct corpus_block *, int64_t at,
                 struct encoded_block *, struct err *);
