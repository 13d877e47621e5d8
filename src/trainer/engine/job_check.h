#ifndef TRAINER_ENGINE_JOB_CHECK_H
#define TRAINER_ENGINE_JOB_CHECK_H

#include "trainer/engine/job_data.h"

/*
 * job_check - check that a job with these settings can be opened
 *
 *      struct job_check seen = { 0 };
 *
 *      for each settings s
 *          if (job_check(&seen, s, ranks, e) < 0) ...
 *      job_check_clear(&seen);
 *
 * The settings are resolved for this number of ranks, and the files that they
 * name are opened and closed again.  An error names the line of the settings
 * file.  Files that the last call has checked are not opened again, so checking
 * many settings that differ little is fast.
 */
struct job_check {
    struct job_data data; /* the tokenizer alone stays open */
    char *tokenizer;      /* its path */
    char *files;          /* the values that opening token files depends on */
};

int job_check(struct job_check *seen, struct settings *, int ranks,
              struct err *);
void job_check_clear(struct job_check *);

#endif
