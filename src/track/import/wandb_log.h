#ifndef TRACK_IMPORT_WANDB_LOG_H
#define TRACK_IMPORT_WANDB_LOG_H

#include "common/buf.h"
#include "common/err.h"

/*
 * wandb_log - the records of W&B's file run-ID.wandb
 *
 * The file is a log in LevelDB's format.  After a header of 7 bytes (":W&B",
 * 0xbee1, version) come blocks of 32 KiB.  A record begins with a CRC-32 of its
 * type and data, its length in two bytes, and its type: whole, first, middle or
 * last part.  (wandb/sdk/internal/datastore.py)
 */
struct wandb_log;

/* NULL after an error. */
struct wandb_log *wandb_log_open(const char *path, struct err *);
/* Read the next whole record: 1; 0 at the end, or where the log breaks off. */
int wandb_log_next(struct wandb_log *, struct buf *, struct err *);
void wandb_log_close(struct wandb_log *);

#endif
