#pragma once

#include <jansson.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/mem.h"
#include "store/read/runs.h"
#include "track/push/wandb.h"

/*
 * The points of a run as lines of W&B, one JSON object per step
 *
 *      {"_step":3,"_runtime":0.5,"_timestamp":1795258132.156,"loss":0.25}
 *
 * History is ordered by step, system metrics by time.  The same points give the
 * same lines, so that line k stays line k.  The last line of a running run is
 * held back, as more points may be added to it.
 * NaN and Infinity are bare, as W&B writes them.
 */
struct wandb_rows {
    struct buf text; /* the lines, each ended by NUL */
    struct wandb_row {
        size_t at; /* where the line begins */
        int64_t step;
        uint32_t sum;  /* its CRC-32C */
        size_t points; /* in it and in all lines before it */
    } * row;
    size_t n, room;
    size_t n_points;
};

#define WANDB_ROWS_INIT ((struct wandb_rows){ BUF_INIT, NULL, 0, 0, 0 })

/*
 * Media are pictures, tables, histograms and the like (wandb_media.c).
 *
 *      struct wandb_media m = { 0 };
 *
 *      if (wandb_media_load(&m, run, true, e) < 0)
 *          return -1;
 *      ...
 *      wandb_media_clear(&m);
 *
 * Where the artifact of a medium is says its name and its step, as
 * gtrack-python(7) describes.  At W&B it is a value of a line of history, and
 * but for histograms a file under another name:
 *
 *      {"_type":"image-file","path":"media/images/NAME_STEP_HASH.png", ...}
 *
 * An artifact in such a place that cannot be read as what it should be is not
 * listed here, and so remains a plain file.
 */
struct wandb_media {
    struct arena mem;
    struct wandb_medium {
        const char *key;
        int64_t step, ms;
        const char *json;
    } * item; /* by key, and then by step */
    size_t n, room;
    struct wandb_media_file {
        const char *path; /* below the artifacts */
        const char *name; /* at W&B; NULL if the file itself is not sent */
    } * file;             /* by path */
    size_t n_files, files_room;
    json_t *hashes; /* of files that were read before */
};

/* Load the media in place of others.  Without `files`, only histograms. */
int wandb_media_load(struct wandb_media *, const struct run_info *, bool files,
                     struct err *);
/* NULL if an artifact is no medium, nor belongs to one. */
const struct wandb_media_file *wandb_media_find(const struct wandb_media *,
                                                const char *path);
void wandb_media_clear(struct wandb_media *);

void wandb_rows_clear(struct wandb_rows *);

/* Append the last values as an object, one line. */
void wandb_rows_summary(struct buf *, const struct run_info *,
                        const struct wandb_rows *history,
                        const struct wandb_media *);

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

/* The description of a run: parameters, each under "value". */
json_t *wandb_config(const struct run_info *);
/* The text of wandb-metadata.json; the caller frees it. */
char *wandb_metadata(const struct run_info *);
