#pragma once

#include <stdatomic.h>

#include "common/output/progress.h"
#include "store/write/run.h"
#include "store/write/run_output.h"
#include "trainer/engine/engine.h"
#include "trainer/training/eval.h"
#include "trainer/training/meter.h"
#include "trainer/training/multiple_choice.h"
#include "trainer/training/step.h"

/*
 * report - show training on the screen and record it in the run
 *
 *      if (report_open(&r, eng, command, id, e) < 0)     the run begins
 *          return -1;
 *      report_begin(&r, eng, meter);                     the loop begins
 *      report_step(&r, eng, step);                       ... and others
 *      return report_close(&r, eng, ret, e);             the run ends
 *
 * Rank 0 writes the run: parameters and settings when it begins, metrics as
 * they come, samples and the log as artifacts.  gtrain(1) lists the names of
 * the metrics; gtrack and gplot rely on them.  The functions between
 * report_open() and report_close() do not fail; report_close() reports what was
 * lost.  On other ranks these functions do nothing.
 */
struct report {
    struct run *run; /* NULL on other ranks */
    const struct meter *meter;
    struct progress progress;
    bool progressing;
    struct run_output log, messages; /* log.txt, gtrain.log */
    double rate;                     /* tokens/s, smoothed */
    double last_loss, last_val;
    double micro_began, micro_seconds; /* of the last one */
    _Atomic double pause_at; /* when training can probably stop; 0: unknown */
    _Atomic int64_t pause_after; /* micro-batches; 0: this step */
};

enum report_start {
    REPORT_STEAL = 1, /* the run from a process that still writes it */
    REPORT_AGAIN = 2, /* begin a run that was interrupted at step 0 again */
};

/* resume_id: the run to resume, or NULL. */
int report_open(struct report *, struct engine *, const char *command,
                const char *resume_id, enum report_start, struct err *);
/* Was the run resumed without a step, or anything else, to do?  Then its record
 * stays as it is. */
bool report_is_idle(const struct engine *, bool resumed);
void report_begin(struct report *, struct engine *, const struct meter *);

/* For struct step: a micro-batch begins. */
void report_micro(void *report, int64_t done, int64_t all, int64_t left);
void report_step(struct report *, const struct engine *, const struct step *);
void report_phases(struct report *, const struct engine *,
                   const double ms[PHASES], int64_t step);
void report_eval(struct report *, const struct engine *,
                 const struct eval_result *);
void report_multiple_choice(struct report *, const struct engine *,
                            const struct task *,
                            const struct multiple_choice_result *);
/* An artifact, in place of the one before. */
void report_text(struct report *, const char *name, const char *text);
void report_samples(struct report *, const struct engine *,
                    const struct buf *text, size_t last);
/* The loss or the norm of the step that was just computed is not good. */
void report_event(struct report *, const struct engine *, enum step_verdict,
                  const char *what);
void report_stopped_early(struct report *, const struct engine *);
void report_rewind(struct report *, const struct engine *);

/* ret and e are how training ended; returns them, or what was lost. */
int report_close(struct report *, struct engine *, int ret, struct err *e);

/*
 * The parameters, datasets and tags that the run gets when it begins.  Every
 * setting becomes a parameter, and so do the values that follow from the
 * settings and from the machine; what a later attempt changes becomes a tag
 * (store/format/info.h).
 */
void report_params(struct run *, struct engine *, bool resumed);
