#pragma once

#include <jansson.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/format/protobuf.h"

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

/* A record of history, of the config or of the summary has items, each with a
 * key, which may be a path through nested objects, and a value.  Add to a JSON
 * object the items that a message has in one of its fields; an item without a
 * value removes the key. */
void wandb_log_items(json_t *object, struct protobuf message, int field);
