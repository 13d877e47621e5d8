#ifndef TRACK_PUSH_WANDB_H
#define TRACK_PUSH_WANDB_H

#include "track/push/push.h"

/*
 * wandb - what is said to a server of Weights & Biases
 *
 * Three kinds of request: GraphQL to BASE/graphql, lines to BASE/files/ENTITY/
 * PROJECT/RUN/file_stream, and bodies of files by PUT to addresses the server
 * names.  The key goes to the first two alone.
 */
struct wandb {
    struct http *http;
    struct push_login login;
    char *entity, *project;       /* as the server spells them */
    char *run;                    /* the run's id there */
    char *storage_id;             /* opaque; NULL for a run that is new */
    int64_t history, events, log; /* lines the server has */
    int64_t tail_step;            /* of its last line, INT64_MIN if unknown */
    uint64_t part;                /* as push_conf has it */
    double quiet_until;           /* no request before, by the clock */
    bool stopped;                 /* someone pressed Stop */
};

/* Run an operation; *data is the reply's, to be released.  GraphQL's errors
 * come with status 200; they are errors here. */
int wandb_graphql(struct wandb *, const char *name, const char *query,
                  json_t *variables, json_t **data, struct err *);
/* What the server has of the run; a run it does not know has nothing. */
int wandb_status(struct wandb *, struct err *);
/* Make the run, or bring what is said of it up to date. */
int wandb_upsert(struct wandb *, json_t *variables, struct err *);
/* Cut the history after a step. */
int wandb_rewind(struct wandb *, int64_t step, int64_t *lines, struct err *);
/* One request to file_stream. */
int wandb_stream(struct wandb *, const char *body, struct err *);
/* Send files: names, and the paths or texts of their bodies. */
struct wandb_file {
    const char *name, *path; /* path NULL: text */
    const char *text;
    bool sent;
};
int wandb_files(struct wandb *, struct wandb_file *, size_t n, struct err *);
/* Send one file's body to where the server said, with its headers. */
int wandb_put(struct wandb *, const struct wandb_file *, const char *url,
              json_t *headers, struct err *);
/* A part of it, whose MD5 sum is given in base64; *tag is what the store calls
 * it, to be freed. */
struct wandb_part {
    int64_t at, len;
    const char *md5;
};
int wandb_put_part(struct wandb *, const struct wandb_file *,
                   const struct wandb_part *, const char *url, json_t *headers,
                   char **tag, struct err *);
/* Files as a new version of an artifact, sorted by name; paths only. */
int wandb_artifact(struct wandb *, const char *type, const char *name,
                   struct wandb_file *, size_t n, struct err *);
/* What is said of a run: its parameters as W&B's config, each under "value";
 * the text of wandb-metadata.json; the status it ended with. */
json_t *wandb_config(const struct run_info *);
char *wandb_metadata(const struct run_info *);
int wandb_exit_code(const struct run_info *);
/* A text as JSON, null if there is none; a tag that is not empty, or NULL. */
json_t *wandb_text(const char *);
const char *wandb_tag(const struct run_info *, const char *key);
/* "https://wandb.ai/ENTITY/PROJECT/runs/RUN"; the caller frees it. */
char *wandb_page(const struct wandb *);

#endif
