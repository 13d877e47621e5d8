#ifndef TRACK_PUSH_WANDB_ARTIFACT_H
#define TRACK_PUSH_WANDB_ARTIFACT_H

#include "track/push/wandb_upload.h"

/*
 * wandb_artifact - send files as an artifact of W&B
 *
 * An artifact is a list of files with digests, its manifest, under a name that
 * has versions.  If the server has a version with the same digest, nothing is
 * sent.
 */

/* The files, which have paths, are sorted by name. */
int wandb_artifact(struct wandb *, const char *type, const char *name,
                   struct wandb_file *, size_t n, struct err *);

#endif
