#ifndef TRACK_PUSH_WANDB_LINES_H
#define TRACK_PUSH_WANDB_LINES_H

#include "track/push/wandb_push.h"

/*
 * wandb_lines - send the lines that a server of W&B does not have
 *
 * A run has three files of lines, history, system metrics and output, and a
 * summary.  The server says how many lines of each it has; the cursor has the
 * checksums of the lines of history that were sent, which show those that have
 * changed since.
 */
int wandb_lines_read(struct wandb_push *, struct err *);
int wandb_lines_send(struct wandb_push *, struct err *);
/* How many lines of history were sent. */
size_t wandb_lines_sent(const struct wandb_push *);

#endif
