#pragma once

#include "trainer/engine/engine.h"

/*
 * multiple_choice - evaluate the model on multiple-choice questions
 *
 * The file holds JSON lines, as HellaSwag's does: ctx, endings (an array) and
 * label (a number, or a number as text).  "query" and "question", "choices" and
 * "options", "gold" and "answer" may stand for these.  Each ending is appended
 * to the context after a space, and the model's answer is the ending with the
 * least loss: summed over the ending's tokens for acc, their mean for acc_norm.
 * With eval.hellaswag_style = lm-eval, texts and acc_norm follow
 * lm-evaluation-harness.  Ranks share the questions.  A signal that sig.h has
 * caught stops the evaluation.
 */
struct multiple_choice_result {
    int64_t questions;
    double acc, acc_norm;
    double seconds;
    bool stopped; /* by a signal to a rank; then nothing else is set */
    bool unread;  /* the failure is that a rank cannot read the questions */
};

/* The first `limit` questions; 0: all. */
int multiple_choice_eval(struct engine *, const char *path, int64_t limit,
                         struct multiple_choice_result *, struct err *);
