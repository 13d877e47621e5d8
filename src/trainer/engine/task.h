#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"

/*
 * task - questions, and the texts that a model reads of each
 *
 *      struct tasks t = { 0 };
 *      struct task_conf c = { .list = "piqa,own.ini", .folder = "data" };
 *
 *      if (tasks_add(&t, &c, e) == 0)
 *          task_each(&t.task[0], t.task[0].path, 0, ask, NULL, e);
 *      tasks_clear(&t);
 *
 * A task is a section of an INI file, whose keys are templates as gtrain(1)
 * describes them, or NULL: of conf/tasks.ini, which is part of the program, or
 * of a file that the list names, of which all sections are loaded.  A known
 * name, such as core, also stands for all that have a slash behind it.  The
 * files of its questions are there.
 *
 * A task of CORE has a baseline, and is asked as nanochat asks it: in an order
 * that Python's shuffle() makes, and with other rules for shots and scores
 * (multiple_choice.c).  Its mean is a task without questions, behind
 * those that it is the mean of.
 */
enum { TASK_CHOICES = 64, TASK_SHOTS_MOST = 1000 }; /* at most */

enum task_key {
    TASK_FILE,
    TASK_DESCRIPTION,
    TASK_CONTEXT,
    TASK_LIST, /* the choices */
    TASK_CONTINUATION,
    TASK_LABEL, /* NULL: the one choice is what the model should write */
    TASK_LABELS,
    TASK_FILTER,
    TASK_SHOTS, /* of multiple_choice.c */
    TASK_BASELINE,
    TASK_MEAN,
    TASK_NORM, /* this and the others are not for tasks of CORE */
    TASK_SHOTS_FILE,
    TASK_SHOTS_OTHERS,
    TASK_SHOTS_SAME,
    TASK_KEYS
};

struct task {
    const char *name, *ini;  /* the file, or NULL: conf/tasks.ini */
    const char *const *base; /* the files that it extends, until a NULL */
    const char *is[TASK_KEYS];
    const char *path, *shots_path; /* of the questions, and of the shots */
    int64_t limit, shots;
    bool core;
    double baseline; /* of guesses, if it is of CORE */
};

struct tasks {
    struct task *task;
    size_t n, room;
    struct arena mem;
};

struct task_conf {
    const char *list;   /* names, and INI files */
    const char *folder; /* of the questions */
    int64_t limit;      /* the first questions only; 0: all */
    int64_t shots;      /* below 0: as the tasks say */
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
    const char *description; /* before all else */
    const char *same;        /* the text of TASK_SHOTS_SAME */
    struct arena mem;
};

/* Is the first task a mean, and the other one of those that it is of? */
bool task_has_part(const struct task *, const struct task *part);

int tasks_add(struct tasks *, const struct task_conf *, struct err *);
void tasks_clear(struct tasks *);

/* Call a function with each question of a file, which has a line of JSON for
 * each or is Parquet, or with the first `limit` until it fails; NULL: only read
 * them.  Returns the size of the lines, or -1. */
typedef int task_fn(void *arg, const struct task_question *, const char *line,
                    struct err *);
int64_t task_each(const struct task *, const char *path, int64_t limit,
                  task_fn *, void *arg, struct err *);

extern const char task_known[]; /* conf/tasks.ini */
