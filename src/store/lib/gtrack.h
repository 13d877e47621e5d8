#ifndef GTRACK_H
#define GTRACK_H

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
 * machines, may begin runs in the same store at the same time, and a process
 * may have several.  In a child process that fork() made, the runs of its
 * parent can be named but not written: what it logs to them is ignored, and
 * gtrack_flush() and gtrack_end() return -1.  The child can begin its own.
 *
 * libgtrack.so.0 keeps its functions.  A struct whose first member is its size
 * may get more members at its end; a program that was compiled before that
 * still works.
 */
#include <stddef.h>
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

/* Begin a run with all options; the library chooses what is 0 or NULL.
 *
 *      const struct gtrack_conf conf = {
 *          .size = sizeof conf, .root = "mlruns", .parent = id
 *      };
 *
 *      run = gtrack_begin(&conf, why);
 */
struct gtrack_conf {
    size_t size;            /* of this struct */
    const char *root;       /* the store */
    const char *experiment; /* NULL: "Default" */
    const char *name;       /* NULL: the next of run1, run2, ... */
    const char *id;         /* 32 hexadecimal digits in lower case; NULL: new */
    const char *parent;     /* the id of the run that this one belongs to */
    const char *resume;     /* the id or name of a run to resume with all of its
                             * points; experiment, name, id and parent are not
                             * used */
    const char *command;    /* the command line; NULL: the program's name */
    unsigned flags;         /* see below */
    double system_every;    /* record the use of CPU, memory, disks, network and
                             * GPUs at this interval, in seconds; 0: never */
};

enum {
    GTRACK_NO_CAPTURE = 1, /* do not record git, the machine and Slurm */
    GTRACK_STEAL = 2,      /* resume although another process writes the run */
};

struct gtrack *gtrack_begin(const struct gtrack_conf *, char why[GTRACK_WHY]);

const char *gtrack_id(const struct gtrack *);     /* 32 hex digits */
const char *gtrack_name(const struct gtrack *);   /* "run42" */
const char *gtrack_folder(const struct gtrack *); /* of its files */
/* The last step that a run had when gtrack_begin() resumed it, or -1. */
int64_t gtrack_last_step(const struct gtrack *);
/* What it had then, or after the step of gtrack_rewind(), by number from 0: the
 * key of a parameter, a tag or a metric, and its text or its last value.  NULL
 * after the last one. */
const char *gtrack_had_param(const struct gtrack *, int i, const char **text);
const char *gtrack_had_tag(const struct gtrack *, int i, const char **text);
const char *gtrack_had_metric(const struct gtrack *, int i, double *last);
/* Retract the points of later steps. */
void gtrack_rewind(struct gtrack *, int64_t step);

/* A parameter keeps its first value, a tag its last,
 * which may be NULL: there is no such tag then. */
void gtrack_param(struct gtrack *, const char *key, const char *value);
void gtrack_tag(struct gtrack *, const char *key, const char *value);

void gtrack_metric(struct gtrack *, const char *key, int64_t step,
                   double value);
/* Several metrics of one step, logged with the same time. */
void gtrack_metrics(struct gtrack *, int64_t step, const char *const keys[],
                    const double values[], int count);

/* Log the same metrics again and again, as the binding of another language
 * does: the keys are copied once, and a row is the step, as a
 * double, followed by one value for each key.  The run frees the keys when it
 * ends.  Returns NULL if the run is NULL. */
struct gtrack_keys;

struct gtrack_keys *gtrack_keys(struct gtrack *, const char *const keys[],
                                int count);
void gtrack_row(struct gtrack_keys *, const double row[]);

/* A dataset that the run reads.  All but the name may be NULL. */
struct gtrack_dataset {
    size_t size; /* of this struct */
    const char *name;
    const char *digest;      /* of its content, at most 36 characters */
    const char *source;      /* where it is, as JSON */
    const char *source_type; /* a word for the kind of place: "local" */
    const char *schema;      /* as JSON */
    const char *profile;     /* as JSON: counts and the like */
    const char *context;     /* what it is used for: "training" */
};

int gtrack_dataset(struct gtrack *, const struct gtrack_dataset *,
                   char why[GTRACK_WHY]);

/* A new name for readers; gtrack_name() still returns the one the run began
 * with. */
int gtrack_rename(struct gtrack *, const char *name, char why[GTRACK_WHY]);

/* The path at which to store a file as an artifact of the run.  Its folder is
 * created; the caller frees the path.  NULL if that is impossible. */
char *gtrack_artifact(struct gtrack *, const char *name);
/* A descriptor of the folder of this path, for openat(), which no link that
 * others put into the run leads elsewhere; the caller closes it.  -1 with a
 * message in `why` if that is impossible. */
int gtrack_artifact_folder(struct gtrack *, const char *name,
                           char why[GTRACK_WHY]);

/* Wait until all that was logged has been handed to the operating system.
 * Returns 0, or -1 with a message in `why`. */
int gtrack_flush(struct gtrack *, char why[GTRACK_WHY]);
/* Why the run is about to end, in a few words: "loss is nan at step 7". */
void gtrack_reason(struct gtrack *, const char *reason);
/* End the run and free it.  Returns 0, or -1 if something could not be written,
 * with a message in `why`. */
int gtrack_end(struct gtrack *, enum gtrack_status, char why[GTRACK_WHY]);
/* End the run when the process calls exit(): finished if its status is 0, and
 * failed otherwise. */
void gtrack_end_at_exit(struct gtrack *);

#ifdef __cplusplus
}
#endif

#endif
