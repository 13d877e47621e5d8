#ifndef STORE_GTRACK_H
#define STORE_GTRACK_H

/*
 * gtrack - write a run from any C or C++ program
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
 * The run is a folder of plain files, as MLflow's file store has them: see
 * gtrack-store(5).  Between open and end no function fails and none waits for
 * the disk: points are handed to a thread, which brings them to the kernel
 * once a second.  What cannot be written is kept and tried again; that is said
 * once on standard error, and gtrack_end() tells what was lost.  All functions
 * may be called from any thread; a NULL run is nothing to do.
 *
 * One process writes a run.  Any number of them may begin runs in one store at
 * once, on any number of machines.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gtrack;

enum { GTRACK_WHY = 512 };      /* room for what went wrong, in words */

enum gtrack_status {
    GTRACK_FINISHED = 3,
    GTRACK_FAILED,
    GTRACK_KILLED,
    GTRACK_PREEMPTED,           /* to go on later: see gtrack_resume() */
};

/* Begin a run.  A NULL experiment is "Default", a NULL name the next free of
 * run1, run2, ...  NULL and a sentence in `why` when that cannot be done. */
struct gtrack *gtrack_open(const char *root, const char *experiment,
                           const char *name, char why[GTRACK_WHY]);
/* Go on with a run, by id or name, after a step: what was logged beyond it is
 * kept, but no longer shown. */
struct gtrack *gtrack_resume(const char *root, const char *run, int64_t step,
                             char why[GTRACK_WHY]);

const char *gtrack_id(const struct gtrack *);           /* 32 hex digits */
const char *gtrack_name(const struct gtrack *);         /* "run42" */
const char *gtrack_folder(const struct gtrack *);

/* A parameter keeps the value it got first; a tag the last one. */
void gtrack_param(struct gtrack *, const char *key, const char *value);
void gtrack_tag(struct gtrack *, const char *key, const char *value);

void gtrack_metric(struct gtrack *, const char *key, int64_t step,
                   double value);
/* Many values of one step, with one time. */
void gtrack_metrics(struct gtrack *, int64_t step, const char *const keys[],
                    const double values[], int count);

/* Where to put a file that belongs to the run, its folders made.  free() it. */
char *gtrack_artifact(struct gtrack *, const char *name);

/* Wait until all that was logged is in the kernel; 0, or -1 and `why`. */
int gtrack_flush(struct gtrack *, char why[GTRACK_WHY]);
/* End the run and free it; 0, or -1 and in `why` what was lost. */
int gtrack_end(struct gtrack *, enum gtrack_status, char why[GTRACK_WHY]);

#ifdef __cplusplus
}
#endif

#endif
