#ifndef TRACK_PUSH_WANDB_PARTS_H
#define TRACK_PUSH_WANDB_PARTS_H

#include "track/push/wandb.h"

/*
 * wandb_parts - a file that is too large for one request
 *
 *      if (parts_open(&p, path, w->part, e) < 0)
 *          return -1;
 *      ask with parts_input(&p) where the file goes
 *      ret = parts_send(&p, w, file, artifact, node, e);
 *      parts_clear(&p);
 *
 * Files of 2 GiB and more go in parts of 100 MiB, each with its MD5 sum, and
 * then the server is told the tags that its store gave them.  The store takes
 * no more than 10,000 parts, so those of a file beyond 1 TB are larger.
 */
struct parts {
    int64_t size, part;
    size_t n; /* 0: the file goes whole */
    unsigned char (*sum)[16];
};

int parts_open(struct parts *, const char *path, uint64_t part, struct err *);
void parts_clear(struct parts *);
json_t *parts_input(const struct parts *);
/* node is the server's answer for the file. */
int parts_send(const struct parts *, struct wandb *, const struct wandb_file *,
               const char *artifact, json_t *node, struct err *);

/* An MD5 sum as base64, with its NUL. */
enum { WANDB_DIGEST = 25 };
void wandb_base64(const unsigned char sum[16], char out[WANDB_DIGEST]);

#endif
