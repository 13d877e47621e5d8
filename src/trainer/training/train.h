#pragma once

#include "store/alert/alert_list.h"
#include "trainer/engine/engine.h"
#include "trainer/training/report.h"

/*
 * train - the training loop
 *
 *      struct train_conf conf = { .command = "...", .alerts = &alerts };
 *
 *      alert_writer_fork(&alerts);
 *      if (engine_open(&eng, &settings, ENGINE_TRAIN, e) == 0)
 *          train_run(&eng, &conf, e);
 *
 * Begins the run, or resumes that of a checkpoint, and trains, with
 * validations, samples and checkpoints when they are due.  The run is ended
 * also after a failure.
 *
 * Returns 0 after the last step, or if training has stopped early because of a
 * validation.  A signal ends it after a checkpoint, with ERR_STOPPED.
 */
struct train_conf {
    const char *checkpoint;      /* to resume from; NULL: start at step 0 */
    const char *command;         /* recorded in the run */
    struct alert_writer *alerts; /* is told the run */
    enum report_start start;
    bool detect_anomaly; /* check the result of every operation */
};

int train_run(struct engine *, const struct train_conf *, struct err *);
