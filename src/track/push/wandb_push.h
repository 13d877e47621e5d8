#pragma once

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

/*
 * Lines (wandb_lines.c): history, system metrics, output, and a summary.  The
 * server says how many lines of each it has; the cursor has the checksums of
 * the lines of history that were sent, which show those that have changed
 * since.
 */
int wandb_lines_read(struct wandb_push *, struct err *);
int wandb_lines_send(struct wandb_push *, struct err *);
/* How many lines of history were sent. */
size_t wandb_lines_sent(const struct wandb_push *);

/*
 * Files (wandb_files.c): media and, when the run has ended, its config,
 * metadata and summary, and its other artifacts.  The cursor has the MD5 sum of
 * each file that was sent.  Checkpoints are sent only with --checkpoints, as an
 * artifact of W&B, which keeps their versions.
 */
int wandb_files_send(struct wandb_push *, struct err *);
/* How many files wandb_files_send() would send, without checkpoints. */
size_t wandb_files_count(struct wandb_push *);

/* The description of a run (wandb_run.c): parameters, each under "value". */
json_t *wandb_config(const struct run_info *);
/* The tags of the user, each as "key" or "key=value"; null if there are
 * none. */
json_t *wandb_tags(const struct run_info *);
/* The text of wandb-metadata.json; the caller frees it. */
char *wandb_metadata(const struct run_info *);
/* The exit status of a run that has ended. */
int wandb_exit_code(const struct run_info *);
/* The value of a tag, NULL if it is empty. */
const char *wandb_tag(const struct run_info *, const char *key);
