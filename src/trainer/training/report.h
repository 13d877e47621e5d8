#ifndef TRAINER_TRAINING_REPORT_H
#define TRAINER_TRAINING_REPORT_H

#include <stdio.h>

#include "common/progress.h"
#include "store/run.h"
#include "trainer/training/eval.h"
#include "trainer/training/job.h"
#include "trainer/training/meter.h"
#include "trainer/training/step_check.h"

/*
 * report - what training says, to the screen and to the run
 *
 * Rank 0 writes the run: parameters and the settings file when it begins,
 * metrics as they come, samples and the log as artifacts.  The names of the
 * metrics are listed in gtrain(1); gtrack and gplot rely on them.  Nothing
 * here can fail once the run has begun; the run says at its end if anything
 * was lost.  On other ranks all of it is silent but their own system metrics.
 */
struct report {
    struct run *run; /* NULL on other ranks */
    struct progress progress;
    struct meter meter;
    FILE *log, *words; /* log.txt, gtrain.log */
    bool progressing;
    double rate; /* tokens/s, over the last steps */
    double last_val;
};

int report_open(struct report *, struct job *, const char *command,
                const char *resume_id, struct err *);
void report_begin(struct report *, struct job *); /* before the loop */

void report_step(struct report *, struct job *);
void report_eval(struct report *, struct job *, const struct eval_result *);
int report_multiple_choice(struct report *, struct job *, struct err *);
int report_sample(struct report *, struct job *, struct err *);
void report_event(struct report *, struct job *, enum step_verdict,
                  const char *what);
void report_stopped_early(struct report *, struct job *);
void report_rewind(struct report *, struct job *);

/* How it ended; e holds the failure, if any, and gets what was lost. */
int report_close(struct report *, struct job *, struct err *e);

#endif
