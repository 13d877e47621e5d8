#ifndef TRACK_PUSH_WANDB_PARTS_H
#define TRACK_PUSH_WANDB_PARTS_H

#include "track/push/wandb_upload.h"

/*
 * wandb_parts - a file that is too large for one request
 *
 *      if (wandb_parts_open(&p, file, w->part, e) < 0)
 *          return -1;
 *      ... ask with wandb_parts_input(&p) where the file goes ...
 *      ret = wandb_parts_send(&p, w, file, artifact, node, e);
 *      wandb_parts_clear(&p);
 *
 * Files of 2 GiB and more are sent in parts of 100 MiB, each with its MD5 sum;
 * then the server is given the tags that its storage has returned for them.
 * The storage accepts at most 10,000 parts, so the parts of a file of more than
 * 1 TB are larger.
 */
struct wandb_parts {
    int64_t size, part;
    size_t n; /* 0: the file is sent as a whole */
    unsigned char (*sum)[16];
};

int wandb_parts_open(struct wandb_parts *, const struct wandb_file *,
                     uint64_t part, struct err *);
void wandb_parts_clear(struct wandb_parts *);
json_t *wandb_parts_input(const struct wandb_parts *);
/* `node` is the server's answer for the file. */
int wandb_parts_send(const struct wandb_parts *, struct wandb *,
                     const struct wandb_file *, const char *artifact,
                     json_t *node, struct err *);

/* The content of a file in memory, NULL if it is empty. */
int wandb_parts_map(const struct wandb_file *, void **data, int64_t *size,
                    struct err *);
void wandb_parts_unmap(void *data, int64_t size);

/* An MD5 sum in base64, with its NUL. */
enum { WANDB_DIGEST = 25 };
void wandb_base64(const unsigned char sum[16], char out[WANDB_DIGEST]);

#endif
