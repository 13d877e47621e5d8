#pragma once

#include "common/sha256.h"
#include "data/shards/mixture.h"
#include "data/shards/shard.h"
#include "data/token/tokenizer.h"
#include "trainer/engine/task.h"
#include "trainer/settings/settings.h"

/* What may be due after a step, before its checkpoint. */
enum engine_due { DUE_VAL = 1, DUE_TASKS = 2, DUE_SAMPLES = 4 };

/*
 * engine_data - the tokenizer, token files and tasks that settings name
 *
 *      struct engine_data d = { 0 };
 *
 *      if (engine_data_open_tokenizer(&d, set, e) < 0 ||
 *          resolve_settings(set, engine_data_vocab(&d), ranks, e) < 0 ||
 *          engine_data_open_train(&d, set, e) < 0) ...
 *      engine_data_close(&d);
 *
 * Each member is NULL until it is opened, and stays so if the settings name
 * none.  An error names the line of the settings file.
 */
struct engine_data {
    struct tokenizer *tokenizer;
    int32_t *token_bytes; /* bytes of text that each id stands for */
    struct mixture *train, *val;
    struct engine_teacher {
        struct shard shard;
        int64_t k, vocab;      /* ids of each token; 0: there is no teacher */
        char sum[SHA256_TEXT]; /* of shard_sample() */
    } teacher;
    bool whole_val; /* with eval.stride, one more window for the last tokens */
    struct tasks tasks;        /* that training asks */
    char *chat;                /* the template of the shards or a checkpoint */
    struct chat_template form; /* opened by trained_model_chat() */
};

int engine_data_open_tokenizer(struct engine_data *, const struct settings *,
                               struct err *);
/* Open data.train, data.val, the teacher and the tasks. */
int engine_data_open_train(struct engine_data *, const struct settings *,
                           struct err *);
/* Read what the teacher says (head_fn) of n sequences of data.train, x, of T
 * tokens.  A row of another token is an error. */
enum { ENGINE_TEACHER_HEADER = 2 };
int engine_data_teach(const struct engine_data *, int64_t first, int64_t n,
                      int64_t T, const int32_t *x, int32_t *words,
                      struct err *);
/* Add the tasks of eval.tasks, if training asks them.  Their files must be
 * there, and have a question. */
int engine_data_add_tasks(struct tasks *, const struct settings *,
                          struct err *);
/* Open data.train, to count its windows, and the teacher. */
int engine_data_open_counts(struct engine_data *, const struct settings *,
                            struct err *);
/* Open data.val alone, with the windows that section [eval] asks for. */
int engine_data_open_val(struct engine_data *, const struct settings *,
                         struct err *);
void engine_data_close(struct engine_data *);

/* The steps, up to stop_at, for which data.train has sequences. */
int64_t engine_data_steps(const struct engine_data *, const struct settings *);

/* Ids of the tokenizer; 0 without one. */
int64_t engine_data_vocab(const struct engine_data *);

/*
 * Check that an engine with these settings can be opened:
 *
 *      struct engine_check seen = { 0 };
 *
 *      for each settings s
 *          if (engine_check(&seen, s, ranks, e) < 0) ...
 *      engine_check_clear(&seen);
 *
 * The settings are resolved for this number of ranks, and the files that they
 * name are opened and closed again.  Files that the last call has checked are
 * not opened again, so checking many settings that differ little is fast.
 */
struct engine_check {
    struct engine_data data; /* the tokenizer alone stays open */
    char *tokenizer;         /* its path */
    char *files; /* the values that opening token files depends on */
    bool scans;  /* read all of these files */
};

int engine_check(struct engine_check *seen, struct settings *, int ranks,
                 struct err *);
void engine_check_clear(struct engine_check *);
