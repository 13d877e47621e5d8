#pragma once

#include <jansson.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/mem.h"
#include "store/read/runs.h"
#include "track/push/push.h"

/*
 * wandb_push - what the files that push to a server of W&B share
 */

/*
 * Requests to a server of Weights & Biases (wandb.c)
 *
 * There are three kinds of request: GraphQL to URL/graphql, lines to URL/files/
 * ENTITY/PROJECT/RUN/file_stream, and files by PUT to URLs that the server
 * names.  Only the first two are sent with the key.  Lines go
 * to three files: history, events (the system metrics) and output.
 */
enum { WANDB_HISTORY, WANDB_EVENTS, WANDB_OUTPUT, WANDB_STREAMS };

struct wandb {
    struct http *http;
    struct login login;
    char *entity, *project;       /* as the server spells them */
    char *run;                    /* the id of the run there */
    char *storage_id;             /* opaque; NULL for a new run */
    int64_t lines[WANDB_STREAMS]; /* that the server has */
    json_t *tags;                 /* that the run has there, or NULL */
    int64_t tail_step;            /* of the last of history, or INT64_MIN */
    double quiet_until;           /* no request before; by clock_mono() */
    bool stopped;                 /* someone has pressed Stop */
};

/* Run an operation; the caller releases *data, unless `data` is NULL.  GraphQL
 * reports errors with status 200; they are errors here. */
int wandb_graphql(struct wandb *, const char *name, const char *query,
                  json_t *variables, json_t **data, struct err *);
/* Ask what the server has of the run. */
int wandb_status(struct wandb *, struct err *);
/* Create or update the run. */
int wandb_upsert(struct wandb *, json_t *variables, struct err *);
/* Remove the history after a step; *lines is how many lines are left. */
int wandb_rewind(struct wandb *, int64_t step, int64_t *lines, struct err *);
/* One request to file_stream. */
int wandb_stream(struct wandb *, const char *body, struct err *);
/* "https://wandb.ai/ENTITY/PROJECT/runs/RUN"; the caller frees it. */
char *wandb_page(const struct wandb *);

/* A file for one of the URLs that the server names. */
struct wandb_file {
    const char *name;
    const char *path, *text; /* the content: a file, or else a text */
    const char *inside;      /* the folder that links must not leave, or NULL */
    const char *md5;         /* in hexadecimal, or NULL */
    bool sent;
};

/* Send files of the run; accepted files are marked as sent. */
int wandb_upload_files(struct wandb *, struct wandb_file *, size_t n,
                       struct err *);
/* Send one file to a URL, with these headers. */
int wandb_upload(struct wandb *, const struct wandb_file *, const char *url,
                 json_t *headers, struct err *);
/* The content of a file in memory, NULL if it is empty. */
int wandb_map(const struct wandb_file *, void **data, int64_t *size,
              struct err *);
void wandb_unmap(void *data, int64_t size);

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

/* The state of a push to a server of W&B. */
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
