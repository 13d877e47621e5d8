#ifndef TRACK_PUSH_PUSH_H
#define TRACK_PUSH_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/http.h"
#include "store/load.h"

/*
 * push - send runs to a server of someone else's making
 *
 * Pushing is idempotent: what is there already is not sent again, and a push
 * that was killed goes on where it was.  How far a run has come is told by the
 * server where it can, and by a cursor, a file in the run for each place it is
 * pushed to, which is written after each request that was answered well.
 * Nothing else of the store is changed.
 */
struct push_conf {
    const char *url; /* the server, without a slash at the end */
    const char *entity, *project, *group;
    bool dry, follow, no_files, new_run, artifacts;
    double every; /* between two looks at a run, with follow */
    double retry_wait;
    int tries;
    uint64_t request; /* bytes of lines a request holds at most */
    uint64_t part;    /* of a file in an artifact; 0: 100 MiB from 2 GiB on */
};

/* What was sent, for the last line of words. */
struct push_totals {
    int64_t lines, points, files, bytes;
};

typedef int push_fn(const struct push_conf *, const struct run_info *,
                    struct push_totals *, struct err *);

push_fn push_wandb, push_mlflow;

/* ---- what both need ---- */

struct push_login {
    char *url, *user, *password, *token;
    char *entity, *project; /* as the settings say, or NULL */
    char *workspace;        /* MLflow's, or NULL */
    char *ca, *cert;        /* of TLS, as http.h has them */
    bool insecure;
};

/* From the environment, netrc and settings, as each one's own client; the key
 * is NULL if there is none. */
int login_wandb(struct push_login *, const char *url, struct err *);
int login_mlflow(struct push_login *, const char *url, struct err *);
void login_clear(struct push_login *);

/* A cursor: a JSON object in a file of the run, named by the destination. */
json_t *cursor_load(const struct run_info *, const char *destination);
int cursor_save(const struct run_info *, const char *destination, json_t *,
                struct err *);

struct http *push_open(const struct push_conf *, const struct push_login *,
                       struct err *);
/* POST a JSON text, or GET where body is NULL; reply is what came, NULL if
 * that is no JSON object.  `once` is for what must not be done twice: when it
 * fails and may have been done, e->sys is EAGAIN. */
struct push_request {
    const char *method, *url, *body;
    bool once;
};
int push_call(struct http *, const struct push_login *,
              const struct push_request *, struct http_reply *, json_t **reply,
              struct err *);
/* Wait before try number n+1, n from 1, and say why; false after a signal. */
bool push_again(const struct push_conf *, int n, const struct err *why);

/* A parameter's text as JSON: numbers, true, false and null are recognised. */
json_t *push_value(const char *text);

/* Is this a checkpoint, which is pushed only on request? */
bool push_is_checkpoint(const char *path, int64_t size);

/* The run as it is now; it may have gone on since. */
int push_reload(struct runs *, const char *id, struct err *);
/* Sleep, but wake up for a signal: false then. */
bool push_pause(double secs);

#endif
