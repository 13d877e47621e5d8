#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * tfevents - the files that TensorBoard reads
 *
 *      struct tfevents *t = tfevents_create("logs", "run1", id, start_ms, e);
 *
 *      tfevents_scalar(t, "train/loss", step, wall_ms, 3.25);
 *      ret = tfevents_close(t, e);
 *
 * For TensorBoard a folder is a run.  This writes one file in it, of records
 * with a length and two CRC-32Cs, each of which is an Event message.  Failures
 * are reported by tfevents_flush() and tfevents_close().  Scalars are stored in
 * single precision.
 */
struct tfevents;

/* The folder has the name of the run, as far as that may be the name of a
 * folder, and the beginning of its id if it has events of another run. */
struct tfevents *tfevents_create(const char *parent, const char *name,
                                 const char *id, int64_t start_ms,
                                 struct err *);
void tfevents_scalar(struct tfevents *, const char *tag, int64_t step,
                     int64_t wall_ms, double value);
/* Retract what was written for later steps: the run continues here. */
void tfevents_rewind(struct tfevents *, int64_t step, int64_t wall_ms);
/* Markdown, for the Text tab. */
void tfevents_text(struct tfevents *, const char *tag, int64_t step,
                   int64_t wall_ms, const char *text);
int tfevents_flush(struct tfevents *, struct err *);
int tfevents_close(struct tfevents *, struct err *);

/* A value that is no number. */
enum tfevents_kind {
    TFEVENTS_IMAGE,     /* data: a file, such as a PNG */
    TFEVENTS_AUDIO,     /* likewise, such as a WAV */
    TFEVENTS_TEXT,      /* data: Markdown */
    TFEVENTS_HISTOGRAM, /* n counts and n + 1 edges */
};

struct tfevents_media {
    enum tfevents_kind kind;
    const char *tag;
    int64_t step, wall_ms;
    const void *data;
    const double *count, *edge;
    size_t n;
};

/* Called for each scalar of a file, for each image or other media, for each
 * hyperparameter, and for each value of another kind, such as "pr_curves".
 */
struct tfevents_reader {
    void (*scalar)(void *arg, const char *tag, int64_t step, int64_t wall_ms,
                   double value);
    void (*media)(void *arg, const struct tfevents_media *);
    void (*param)(void *arg, const char *key, const char *value);
    void (*other)(void *arg, const char *kind);
};

/* An incomplete record, which may still be written, ends the file.  A wrong
 * checksum is ERR_INPUT. */
int tfevents_read(const char *path, const struct tfevents_reader *, void *arg,
                  struct err *);
