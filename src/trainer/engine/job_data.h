#ifndef TRAINER_ENGINE_JOB_DATA_H
#define TRAINER_ENGINE_JOB_DATA_H

#include "data/shards/loader.h"
#include "data/token/tokenizer.h"
#include "trainer/settings/settings.h"

/*
 * job_data - the tokenizer and the token files that settings name
 *
 *      struct job_data d = { 0 };
 *
 *      if (job_data_open_tokenizer(&d, set, e) < 0 ||
 *          resolve_settings(set, job_data_vocab(&d), ranks, e) < 0 ||
 *          job_data_open_train(&d, set, e) < 0) ...
 *      job_data_close(&d);
 *
 * Each member is NULL until it is opened, and stays so if the settings name
 * none.  An error names the line of the settings file.
 */
struct job_data {
    struct tokenizer *tokenizer;
    int32_t *token_bytes; /* bytes of text that each id stands for */
    struct loader *train, *val;
};

int job_data_open_tokenizer(struct job_data *, const struct settings *,
                            struct err *);
/* Open data.train and data.val; the HellaSwag file, if set, must exist. */
int job_data_open_train(struct job_data *, const struct settings *,
                        struct err *);
/* Open data.val alone, with the windows that section [eval] asks for. */
int job_data_open_val(struct job_data *, const struct settings *, struct err *);
void job_data_close(struct job_data *);

/* Ids of the tokenizer; 0 without one. */
int64_t job_data_vocab(const struct job_data *);

#endif
