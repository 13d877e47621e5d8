#pragma once

#include <stdbool.h>

#include "common/err.h"
#include "common/mem.h"

/*
 * task - questions, and the texts that a model reads of each
 *
 *      if (tasks_load(&t, "piqa,own.ini", e) < 0)
 *          return -1;
 *      if (task_read(&q, &t.task[0], line, n, e) == 0)
 *          ... q.choice[i].context, q.choice[i].continuation
 *      arena_clear(&q.mem);
 *      tasks_clear(&t);
 *
 * A task is a section of an INI file, whose keys are templates as gtrain(1)
 * describes them, or NULL: of conf/tasks.ini, which is part of the program, or
 * of a file that the list names, of which all sections are loaded.  After a
 * failure there is nothing to clear in the tasks.
 */
enum { TASK_CHOICES = 64 }; /* at most */

enum task_key {
    TASK_FILE,
    TASK_DESCRIPTION,
    TASK_CONTEXT,
    TASK_LIST, /* the choices */
    TASK_CONTINUATION,
    TASK_LABEL, /* NULL: the one choice is what the model should write */
    TASK_LABELS,
    TASK_FILTER,
    TASK_NORM,
    TASK_KEYS
};

struct task {
    const char *name;
    const char *is[TASK_KEYS];
};

struct tasks {
    struct task *task;
    size_t n, room;
    struct arena mem;
};

/* What the loss of a choice is divided by: 1, and for acc_norm and acc_bytes
 * its characters and bytes; instead of characters, 0 stands for its tokens. */
enum { TASK_LENGTHS = 3 };

struct task_question {
    struct task_choice {
        const char *context, *continuation;
        double length[TASK_LENGTHS];
    } choice[TASK_CHOICES];
    int n, right;
    struct arena mem;
};

int tasks_load(struct tasks *, const char *list, struct err *);
void tasks_clear(struct tasks *);

/* The question of a line of JSON. */
int task_read(struct task_question *, const struct task *, const char *line,
              size_t n, struct err *);

extern const char task_known[]; /* conf/tasks.ini */
