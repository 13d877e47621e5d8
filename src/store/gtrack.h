#ifndef STORE_GTRACK_H
#define STORE_GTRACK_H

/*
 * gtrack - record a run from any C or C++ program
 *
 *      cc program.c $(pkg-config --cflags --libs gtrack)
 *
 *      char why[GTRACK_WHY];
 *      struct gtrack *run = gtrack_open("mlruns", "c4", NULL, why);
 *
 *      if (!run)
 *          fprintf(stderr, "%s\n", why);
 *      gtrack_param(run, "lr", "0.0006");
 *      for (step = 1; ...; step++) {
 *          gtrack_metric(run, "train/loss", step, loss);
 *          ...
 *      }
 *      if (gtrack_end(run, GTRACK_FINISHED, why) < 0)
 *          fprintf(stderr, "%s\n", why);
 *
 * A run is a folder of plain files in the format of MLflow's file store, which
 * gtrack-store(5) describes.
 *
 * Logging neither fails nor waits for the disk: a thread of the run's own
 * writes what was logged once a second.  What cannot be written is kept in
 * memory and written later; the first failure is reported on standard error,
 * and gtrack_end() reports what was lost.  Only gtrack_flush() and gtrack_end()
 * wait for that thread.
 *
 * All functions may be called from any thread.  A NULL run is accepted and
 * ignored, so a program can continue without a run that could not be opened.
 *
 * A run is written by one process.  Any number of processes, on any number of
 * machines, may begin runs in the same store at the same time.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gtrack;

enum { GTRACK_WHY = 512 }; /* the size of a buffer for an error message */

enum gtrack_status {
    GTRACK_FINISHED = 3,
    GTRACK_FAILED,
    GTRACK_KILLED,
    GTRACK_PREEMPTED, /* to be resumed later */
};

/* Begin a run.  A NULL experiment is "Default"; a NULL name is the next free
 * one of run1, run2, ...  Returns NULL, with a message in `why`, on failure. */
struct gtrack *gtrack_open(const char *root, const char *experiment,
                           const char *name, char why[GTRACK_WHY]);
/* Resume a run, given its id or name, after a step: points that were logged for
 * later steps stay in the files but are no longer shown. */
struct gtrack *gtrack_resume(const char *root, const char *run, int64_t step,
                             char why[GTRACK_WHY]);

const char *gtrack_id(const struct gtrack *);           /* 32 hex digits */
const char *gtrack_name(const struct gtrack *);         /* "run42" */
const char *gtrack_folder(const struct gtrack *);       /* of its files */

/* A parameter keeps its first value, a tag its last. */
void gtrack_param(struct gtrack *, const char *key, const char *value);
void gtrack_tag(struct gtrack *, const char *key, const char *value);

void gtrack_metric(struct gtrack *, const char *key, int64_t step,
                   double value);
/* Several metrics of one step, logged with the same time. */
void gtrack_metrics(struct gtrack *, int64_t step, const char *const keys[],
                    const double values[], int count);

/* The path at which to store a file as an artifact of the run.  Its folder is
 * created; the caller frees the path. */
char *gtrack_artifact(struct gtrack *, const char *name);

/* Wait until all that was logged has been handed to the operating system.
 * Returns 0, or -1 with a message in `why`. */
int gtrack_flush(struct gtrack *, char why[GTRACK_WHY]);
/* End the run and free it.  Returns 0, or -1 if something could not be written,
 * with a message in `why`. */
int gtrack_end(struct gtrack *, enum gtrack_status, char why[GTRACK_WHY]);

#ifdef __cplusplus
}
#endif

#endif
