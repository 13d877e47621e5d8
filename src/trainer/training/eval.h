#ifndef TRAINER_TRAINING_EVAL_H
#define TRAINER_TRAINING_EVAL_H

#include "trainer/training/job.h"

/*
 * eval - how well the model predicts the next token
 *
 * The mean is over tokens, so it depends neither on the micro-batch nor on the
 * number of ranks, which share the windows.  With a stride below the context
 * tokens that an earlier window has scored serve as context only.  bpb is
 * the loss in bits per byte of text, or NaN without a tokenizer, which says how
 * long tokens are.  A signal that sig.h has caught stops the evaluation.
 */
struct eval_result {
    double loss, bpb;
    int64_t tokens, bytes;
    double seconds;
    bool stopped; /* by a signal to a rank; then nothing else is set */
};

int eval_loss(struct job *, struct eval_result *, struct err *);

#endif
