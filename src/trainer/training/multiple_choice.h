#ifndef TRAINER_TRAINING_MULTIPLE_CHOICE_H
#define TRAINER_TRAINING_MULTIPLE_CHOICE_H

#include "trainer/training/job.h"

/*
 * multiple_choice - questions with several endings, of which one is right
 *
 * A file of JSON lines, as HellaSwag has them: ctx, endings (an array) and
 * label (a number, or one as text); "query" or "question", "choices" and
 * "gold" or "answer" are taken for these, too.  Each ending is appended to the
 * context with a space between, as a model reads it; the one with the least
 * loss is the model's choice.  acc sums the loss over an ending's tokens,
 * acc_norm takes their mean.  Ranks share the questions.
 */
struct multiple_choice_result {
    int64_t questions;
    double acc, acc_norm;
    double seconds;
};

/* The first `limit` questions; 0: all. */
int multiple_choice_eval(struct job *, const char *path, int64_t limit,
                         struct multiple_choice_result *, struct err *);

#endif
