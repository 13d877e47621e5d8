#pragma once

#include "common/buf.h"
#include "trainer/engine/task.h"

/*
 * task_shots - the answered questions that a model reads before another one
 *
 *      if (task_shots_open(&s, task, e) < 0)
 *          return -1;
 *      task_shots_add(&s, &q, line, &text, e);    of each question, in order
 *      task_shots_close(&s);
 *
 * They are those of lm-evaluation-harness, each with an empty line behind it:
 * drawn as Python draws, from the task's shots_file or, without one, from the
 * other questions; or the first with the question's text of shots_same.
 * task_shots_close() accepts what could not be opened.
 */
struct task_shots {
    const struct task *task;
    struct task_shot {
        const char *line, *text, *same;
    } * shot;
    size_t n, room;
    struct arena mem;
    uint32_t word[624]; /* of the random numbers */
    size_t used;
};

/* Read their file.  Returns its size, 0 without shots, or -1. */
int64_t task_shots_open(struct task_shots *, const struct task *, struct err *);
void task_shots_close(struct task_shots *);

/* Append the text before the question of a line. */
int task_shots_add(struct task_shots *, const struct task_question *,
                   const char *line, struct buf *out, struct err *);
