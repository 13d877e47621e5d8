#ifndef TRACK_PUSH_MLFLOW_H
#define TRACK_PUSH_MLFLOW_H

#include "track/push/push.h"

/*
 * mlflow - what is said to an MLflow server, by its REST interface
 */
struct mlflow {
    const struct push_conf *conf;
    struct push_login login;
    struct http *http;
    struct runs runs;
    const struct run_info *run;
    struct push_totals *sum;
    char *destination;
    json_t *cursor;
    char *experiment, *id, *artifacts; /* as the server has them */
    bool unsure; /* an earlier push did not come to its end */
    json_t *refused; /* files that the server does not take, as in cursor */
};

/* One call of the API, below BASE/api/2.0/mlflow/; the caller releases the
 * reply.  A name that is not there is ERR_MISSING; one that is there already
 * has EEXIST in e->sys. */
int mlflow_call(struct mlflow *, const char *method, const char *path,
                const char *body, json_t **reply, struct err *);
/* The same by POST; the request is released. */
int mlflow_post(struct mlflow *, const char *path, json_t *request,
                json_t **reply, struct err *);
/* A text as valid UTF-8; the caller frees it. */
char *mlflow_text(const char *);

struct mlflow_point {
    int64_t step, ms;
    double value;
};

struct mlflow_points {
    struct mlflow_point *item;
    size_t n, room;
};

/* As a server with a database gives it back: no infinities, one zero. */
struct mlflow_point mlflow_kept(int64_t step, int64_t ms, double value);
int mlflow_by_point(const void *, const void *);
/* All points of a metric that the server has, sorted; the caller frees item. */
int mlflow_history(struct mlflow *, const char *key, struct mlflow_points *,
                   struct err *);

#endif
