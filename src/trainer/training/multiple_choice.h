#pragma once

#include "trainer/engine/engine.h"
#include "trainer/training/task.h"

/*
 * multiple_choice - evaluate the model on multiple-choice questions
 *
 * The file holds JSON lines, of which the task makes the texts that are read.
 *
 * Each choice is appended to the context after a space, and the model's answer
 * is the one of the least loss: of all tokens for acc; for acc_norm divided by
 * the characters of the choice or, where norm says so, by its tokens; for
 * acc_bytes by its bytes.  In a task without labels, acc is the share of
 * continuations of which each token is the likeliest, and perplexity the
 * exponential of their mean loss; other results are NaN.  A text that is longer
 * than the context loses its beginning.  Questions of similar length are read
 * at once, as many as a micro-batch has tokens for.  Ranks share the questions.
 * A signal that sig.h has caught stops the evaluation.
 */

struct multiple_choice_result {
    int64_t questions;
    double acc, acc_stderr, acc_norm, acc_bytes, perplexity;
    double seconds;
    bool stopped; /* by a signal to a rank; then nothing else is set */
    bool unread;  /* the failure is that a rank cannot read the questions */
};

/* The first `limit` questions; 0: all. */
int multiple_choice_eval(struct engine *, const struct task *, const char *path,
                         int64_t limit, struct multiple_choice_result *,
                         struct err *);
/* The task that eval.hellaswag_style names. */
const char *multiple_choice_style(const struct eval_settings *);
/* The questions of eval.hellaswag. */
int multiple_choice_set(struct engine *, struct multiple_choice_result *,
                        struct err *);
