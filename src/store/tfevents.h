#ifndef STORE_TFEVENTS_H
#define STORE_TFEVENTS_H

#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

/*
 * tfevents - the files that TensorBoard reads
 *
 *      struct tfevents *t = tfevents_create("logs/run1", start_ms, e);
 *
 *      tfevents_scalar(t, "train/loss", step, wall_ms, 3.25);
 *      ret = tfevents_close(t, e);
 *
 * A folder is a run of TensorBoard's; this makes one file in it, of records
 * with a length and CRC-32Cs, each an Event message.  What fails is told by
 * tfevents_flush() and tfevents_close().  Scalars are single precision there.
 */
struct tfevents;

struct tfevents *tfevents_create(const char *folder, int64_t start_ms,
                                 struct err *);
void tfevents_scalar(struct tfevents *, const char *tag, int64_t step,
                     int64_t wall_ms, double value);
/* What was told of later steps is void: a run that goes on after this one. */
void tfevents_rewind(struct tfevents *, int64_t step, int64_t wall_ms);
/* Markdown, for the Text tab. */
void tfevents_text(struct tfevents *, const char *tag, int64_t step,
                   int64_t wall_ms, const char *text);
int tfevents_flush(struct tfevents *, struct err *);
int tfevents_close(struct tfevents *, struct err *);

typedef int tfevents_fn(void *arg, const char *tag, int64_t step,
                        int64_t wall_ms, double value, struct err *);

/* Call the function with each scalar of a file.  A record that is not whole
 * ends the file: a writer may be at it.  A wrong checksum is ERR_INPUT. */
int tfevents_read(const char *path, tfevents_fn *, void *arg, struct err *);

#endif
