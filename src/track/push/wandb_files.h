#ifndef TRACK_PUSH_WANDB_FILES_H
#define TRACK_PUSH_WANDB_FILES_H

#include "track/push/wandb_push.h"

/*
 * wandb_files - send the files of a run that a server of W&B does not have
 *
 * These are its media and, when it has ended, its config, metadata and summary,
 * and its other artifacts.  The cursor has the MD5 sum of each file that was
 * sent.  Checkpoints are sent only with --checkpoints, as an artifact of W&B,
 * which keeps their versions.
 */
int wandb_files_send(struct wandb_push *, struct err *);
/* How many files wandb_files_send() would send, without checkpoints. */
size_t wandb_files_count(struct wandb_push *);

#endif
