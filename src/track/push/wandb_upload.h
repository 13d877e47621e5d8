#ifndef TRACK_PUSH_WANDB_UPLOAD_H
#define TRACK_PUSH_WANDB_UPLOAD_H

#include "track/push/wandb.h"

/*
 * wandb_upload - send files to the URLs that a server of W&B names
 */
struct wandb_file {
    const char *name;
    const char *path, *text; /* the content: a file, or else a text */
    const char *run;         /* the folder of the run, which has the file */
    const char *md5;         /* in hexadecimal, or NULL */
    bool sent;
};

/* Send files of the run; accepted files are marked as sent. */
int wandb_upload_files(struct wandb *, struct wandb_file *, size_t n,
                       struct err *);
/* Send one file to a URL, with these headers. */
int wandb_upload(struct wandb *, const struct wandb_file *, const char *url,
                 json_t *headers, struct err *);
/* Send files, which have paths and are sorted by name, as an artifact
 * (wandb_artifact.c): a list of files with digests, its manifest, under a name
 * that has versions.  If the server has a version with the same digest, nothing
 * is sent. */
int wandb_artifact(struct wandb *, const char *type, const char *name,
                   struct wandb_file *, size_t n, struct err *);

/* The content of a file in memory, NULL if it is empty. */
int wandb_map(const struct wandb_file *, void **data, int64_t *size,
              struct err *);
void wandb_unmap(void *data, int64_t size);

#endif
