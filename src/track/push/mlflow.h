#pragma once

#include "track/push/push.h"

/*
 * mlflow - a run on an MLflow server, through its REST interface
 */
struct mlflow {
    const struct push_conf *conf;
    struct login login;
    struct http *http;
    struct runs runs;
    const struct run_info *run; /* as it was last read */
    struct push_totals *totals;
    const char *experiment; /* its name at the server */
    char *destination;
    json_t *cursor;
    char *experiment_id, *id, *artifact_uri; /* as the server has them */
    bool unsure;     /* an earlier push did not finish */
    json_t *refused; /* files that the server does not accept, as keys */
};

/* One call of the API below URL/api/2.0/mlflow/, with a value that ends the
 * path; the caller releases *reply.  A missing object is ERR_MISSING; e->sys is
 * EEXIST if it exists already. */
int mlflow_get(struct mlflow *, const char *path, const char *value,
               json_t **reply, struct err *);
/* The request is released, and reply may be NULL. */
int mlflow_post(struct mlflow *, const char *path, json_t *request,
                json_t **reply, struct err *);
int mlflow_save_cursor(struct mlflow *, struct err *);

/* Send the points that the server does not have.  The cursor has the number of
 * points of each metric that were sent, and a checksum of them.  If they have
 * changed since, or an earlier push did not finish, the server is asked for its
 * points. */
int mlflow_send_metrics(struct mlflow *, struct err *);
/* Send the artifacts that the server does not have.  The cursor has the size
 * and the time of each file that was sent.  A file that the server refuses is
 * added to `refused`, and the others are sent. */
int mlflow_send_artifacts(struct mlflow *, struct err *);
