#ifndef TRAINER_TRAINING_EVAL_H
#define TRAINER_TRAINING_EVAL_H

#include "trainer/training/job.h"

/*
 * eval - how well the model tells the next token
 *
 * The mean is over tokens, so it depends neither on the micro-batch nor on the
 * number of ranks, which share the windows.  With a stride below the context
 * the tokens that an earlier window has scored count as context only.  bpb is
 * the loss in bits per byte of text, if a tokenizer says how long tokens are;
 * else NaN.  A signal that sig.h has caught cuts it short.
 */
struct eval_result {
    double loss, bpb;
    int64_t tokens, bytes;
    double seconds;
    bool cut; /* a signal came to a rank: nothing else is known */
};

int eval_loss(struct job *, struct eval_result *, struct err *);

#endif
