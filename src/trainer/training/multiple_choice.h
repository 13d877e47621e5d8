#pragma once

#include "trainer/engine/engine.h"
#include "trainer/engine/task.h"

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
 * exponential of their mean loss; other results are NaN, as is the standard
 * error of one question.  A text that is longer than the context loses its
 * beginning.
 *
 * In a task of CORE, an end-of-text token precedes each text; the loss of acc
 * is the mean over the tokens that the texts of a question do not share at
 * their beginning or, with a continuation, that they do share at their end; and
 * the last token is part of the context.  The results of a mean are the means
 * of those of its parts.
 *
 * On a CPU, the beginning that the choices of a question share is read once,
 * and its keys and values are cached; texts with beginnings of the same length
 * are read at once.  Without a cache, so are those of similar length, as many
 * as a micro-batch has tokens for.
 * Ranks share the questions.  A signal that sig.h has caught stops the
 * evaluation.
 */

/* In the order of run_info_answers[]. */
enum multiple_choice_answer {
    ANSWER_ACC,
    ANSWER_ACC_NORM,
    ANSWER_ACC_STDERR,
    ANSWER_ACC_NORM_STDERR,
    ANSWER_ACC_BYTES,
    ANSWER_PERPLEXITY,
    ANSWER_CENTRED, /* (acc - baseline) / (1 - baseline) */
    ANSWERS
};

struct multiple_choice_result {
    int64_t questions;
    double of[ANSWERS];
    double seconds;
    bool stopped; /* by a signal to a rank; then nothing else is set */
    bool unread;  /* the failure is that a rank cannot read the questions */
};

/* Set the result of task i, and look at those before it.  All ranks append the
 * same lines for RUN_INFO_TASKS to `answers`, or it is NULL. */
int multiple_choice_eval(struct engine *, const struct tasks *, size_t i,
                         struct multiple_choice_result *, struct buf *answers,
                         struct err *);
/* The metric in which training records it, which the caller frees. */
char *multiple_choice_metric(const struct task *, enum multiple_choice_answer);
