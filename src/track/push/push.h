#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/http/http.h"
#include "store/read/runs.h"

/*
 * push - send runs to a server of W&B or MLflow
 *
 * Pushing is idempotent: what the server has is not sent again, and a push that
 * was killed continues where it stopped.  What the server has is learned from
 * the server, where possible, and from a cursor: a file in the run for each
 * destination, which is written after each successful request.  Nothing else in
 * the store is changed.
 */
struct push_conf {
    const char *url; /* the server; NULL: see struct login */
    const char *entity, *project, *group;
    bool dry_run, follow, no_files, new_run, checkpoints;
    bool plain_http; /* keys may be sent unencrypted */
    double every;    /* seconds until a run is read again, with follow */
    double retry_wait;
    int tries;
    uint64_t request; /* the most bytes of lines in a request */
};

/* Counts of what was sent. */
struct push_totals {
    int64_t lines, points, files, bytes;
    int64_t left, left_bytes; /* checkpoints that were not asked for */
    int64_t left_links;       /* links that leave the run */
};

typedef int push_fn(const struct push_conf *, const struct run_info *,
                    struct push_totals *, struct err *);

push_fn push_wandb, push_mlflow;

/* A cursor: a JSON object in a file of the run, named by the destination. */
json_t *push_cursor_load(const struct run_info *, const char *destination);
/* The object of this name in a cursor, created if it does not exist. */
json_t *push_cursor_object(json_t *cursor, const char *name);
int push_cursor_save(const struct run_info *, const char *destination, json_t *,
                     struct err *);

/* The address of a server, and the user's name and key there (login.c).  They
 * and the defaults are read from where W&B's and MLflow's own clients read
 * them: the environment, .netrc and their configuration files. */
struct login {
    char *url; /* without a slash at the end */
    char *user, *password, *token;
    char *entity, *project; /* the defaults, or NULL */
    char *workspace;        /* MLflow's, or NULL */
    char *ca, *cert;        /* of TLS, see struct http_conf */
    bool insecure;
};

/* url overrides the environment and the files unless it is NULL.  password is
 * NULL if there is no key for W&B.  A user and a password in the address are
 * taken out of it, so that it can be stored and printed.  A key from elsewhere
 * is not for a server that a file of the current folder names. */
int login_wandb(struct login *, const char *url, struct err *);
int login_mlflow(struct login *, const char *url, struct err *);
void login_clear(struct login *);

/* Does it begin with http:// or https://? */
bool login_is_url(const char *);
/* Is it an address of another machine without encryption? */
bool login_is_exposed(const char *url);

/* Without conf->plain_http, an error if a key would be sent to another machine
 * unencrypted. */
struct http *push_open(const struct push_conf *, const struct login *,
                       struct err *);
/* POST a JSON text, or GET if body is NULL.  *reply is NULL if the reply is not
 * a JSON object.  If a call that may be done only `once` fails and the server
 * may have done it, e->sys is EAGAIN. */
struct push_request {
    const char *method, *url, *body;
    bool once;
};
int push_call(struct http *, const struct login *, const struct push_request *,
              struct http_reply *, json_t **reply, struct err *);
/* PUT what the call holds.  A web page as the reply is an error: it is not from
 * a file store, which has little to say. */
int push_put(struct http *, struct http_call *, struct http_reply *,
             struct err *);
/* PUT a file, unless links lead out of a folder (NULL: no limit). */
int push_put_file(struct http *, struct http_call *, const char *path,
                  const char *inside, struct http_reply *, struct err *);
/* Wait before try n+1, n from 1, and say why; false after a signal. */
bool push_again(const struct push_conf *, int n, const struct err *why);

/* Print a text with its control characters visible, and what ends it. */
void push_print(char end, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The text of a member of an object, or NULL. */
const char *push_get(json_t *object, const char *key);
/* Is this its text? */
bool push_is(json_t *object, const char *key, const char *text);
/* A text as a JSON string in valid UTF-8; null if it is NULL. */
json_t *push_text(const char *);
/* A parameter as JSON: numbers, true, false and null are recognised. */
json_t *push_value(const char *text);

/* What a function for qsort() returns of two numbers; of several:
 * ORDER(x->step, y->step) ?: ORDER(x->ms, y->ms). */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* The MD5 sum of a JSON text. */
void push_hash(json_t *, char out[33]);

/* Is this a checkpoint, which is pushed only on request? */
bool push_is_checkpoint(const char *path, int64_t size);
/* Count the files of a run that are not pushed; returns how many are, or -1. */
int push_count_left(const struct push_conf *, const struct run_info *,
                    struct push_totals *, struct err *);

/* Sleep; false after a signal. */
bool push_pause(double secs);
/* Sleep, and load a run again into `runs`; it may have changed. */
int push_reload(const struct push_conf *, struct runs *runs,
                const struct run_info **, struct err *);
/* After a push in between has failed: may the next one succeed?  Says so, and
 * clears the error; not if the run has ended, as no push would follow. */
bool push_goes_on(const struct run_info *, struct err *);
