#pragma once

#include "trainer/engine/engine.h"

/*
 * multiple_choice - evaluate the model on multiple-choice questions
 *
 * The file holds JSON lines as the task is published: HellaSwag, ARC, PIQA and
 * others, whose texts and scores are those of lm-evaluation-harness.  The lines
 * of MULTIPLE_CHOICE_PLAIN have ctx, endings (an array) and label (a number, or
 * a number as text), or other names for these, and are asked as they are.
 *
 * Each choice is appended to the context after a space, and the model's answer
 * is the one of the least loss: of all tokens for acc; for acc_norm divided by
 * the characters of the choice or, of plain questions, by its tokens; for
 * acc_bytes by its bytes.  A text that is longer than the context loses its
 * beginning.  Questions of similar length are read at once, as many as a
 * micro-batch has tokens for.  Ranks share the questions.  A signal that sig.h
 * has caught stops the evaluation.
 */
#define MULTIPLE_CHOICE_PLAIN "questions"

struct multiple_choice_result {
    int64_t questions;
    double acc, acc_stderr, acc_norm, acc_bytes;
    double seconds;
    bool stopped; /* by a signal to a rank; then nothing else is set */
    bool unread;  /* the failure is that a rank cannot read the questions */
};

/* The tasks, ended by NULL, of which the last is MULTIPLE_CHOICE_PLAIN. */
extern const char *const multiple_choice_tasks[];
/* The name of the file of a task. */
const char *multiple_choice_file(int task);

/* The first `limit` questions; 0: all. */
int multiple_choice_eval(struct engine *, int task, const char *path,
                         int64_t limit, struct multiple_choice_result *,
                         struct err *);
/* The questions of eval.hellaswag. */
int multiple_choice_set(struct engine *, struct multiple_choice_result *,
                        struct err *);
