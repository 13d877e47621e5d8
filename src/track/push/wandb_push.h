#ifndef TRACK_PUSH_WANDB_PUSH_H
#define TRACK_PUSH_WANDB_PUSH_H

#include "track/push/wandb.h"
#include "track/push/wandb_rows.h"

/*
 * wandb_push - the state of a push to a server of W&B
 */
struct wandb_push {
    const struct push_conf *conf;
    struct wandb w;
    struct runs runs;
    const struct run_info *run; /* as it was last read */
    struct wandb_media media;
    struct wandb_rows rows[WANDB_STREAMS];
    struct push_totals *totals;
    char *destination;
    json_t *cursor;
    json_t *uploaded; /* names of files, for the next request */
};

int wandb_push_save_cursor(struct wandb_push *, struct err *);
/* One request to file_stream, with the names of the uploaded files; the request
 * is released. */
int wandb_push_stream(struct wandb_push *, json_t *request, struct err *);

#endif
