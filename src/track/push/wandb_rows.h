#ifndef TRACK_PUSH_WANDB_ROWS_H
#define TRACK_PUSH_WANDB_ROWS_H

#include <stdint.h>

#include "common/buf.h"
#include "store/load.h"

/*
 * rows - the points of a run as W&B's lines: one JSON object a step
 *
 *      {"_step":3,"_runtime":0.5,"_timestamp":1795258132.156,"loss":0.25}
 *
 * Lines are in order, of history by step and of system metrics by time, and a
 * pure function of what is stored, so that line k is the same line whenever it
 * is made.  Of a run that goes on the last line is kept back: more may come to
 * it.  NaN and Infinity stand bare, as W&B has them.
 */
struct rows {
    struct buf text; /* one line after the other, NUL between */
    size_t *at;      /* where each begins */
    int64_t *step;
    uint32_t *sum;  /* CRC-32C of each */
    size_t *points; /* in each and all before it */
    size_t n, room;
    size_t n_points;
};

#define ROWS_INIT                                                              \
 {                                                                             \
  BUF_INIT, NULL, NULL, NULL, NULL, 0, 0, 0                                    \
 }

int rows_history(struct rows *, const struct run_info *, struct err *);
int rows_system(struct rows *, const struct run_info *, struct err *);
/* The lines of a file, each with a time before it. */
int rows_console(struct rows *, const struct run_info *, const char *path,
                 struct err *);
const char *rows_line(const struct rows *, size_t i);
/* How many points there are in the first n lines. */
int64_t rows_points(const struct rows *, int64_t n);
void rows_clear(struct rows *);

/* The last values as an object, one line. */
void rows_summary(struct buf *, const struct run_info *, const struct rows *);

#endif
