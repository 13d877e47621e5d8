#pragma once

#include "track/push/push.h"

/*
 * wandb - requests to a server of Weights & Biases
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
