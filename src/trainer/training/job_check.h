#ifndef TRAINER_TRAINING_JOB_CHECK_H
#define TRAINER_TRAINING_JOB_CHECK_H

#include "trainer/training/job_data.h"

/*
 * job_check - can these settings be trained with, by so many ranks?
 *
 *      struct job_check seen = { 0 };
 *
 *      for each settings s
 *          if (job_check(&seen, s, ranks, e) < 0) ...
 *      job_check_clear(&seen);
 *
 * The settings are resolved, and what they name is opened and closed again.  An
 * error names the line of the settings file.  What passed the last time is not
 * checked again, so many settings that differ little are checked fast.
 */
struct job_check {
    struct job_data data; /* the tokenizer alone stays open */
    char *tokenizer;      /* its path */
    char *files;          /* all that opening the token files depends on */
};

int job_check(struct job_check *seen, struct settings *, int ranks,
              struct err *);
void job_check_clear(struct job_check *);

#endif
