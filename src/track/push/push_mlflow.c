/*
 * push_mlflow - push a run to an MLflow server
 */
#include "config.h"
#include "track/push/mlflow.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "store/format/store.h"

/* -- the experiment and the run -------------------------------------------- */

static int find_experiment(struct mlflow *p, json_t **reply, struct err *e)
{
    return mlflow_get(
        p, "experiments/get-by-name?experiment_name=", p->experiment, reply, e);
}

static int create_experiment(struct mlflow *p, json_t **reply, struct err *e)
{
    int ret = mlflow_post(p, "experiments/create",
                          json_pack("{s:s}", "name", p->experiment), NULL, e);

    if (ret < 0 && e->sys == EEXIST) {
        *e = (struct err){ 0 }; /* another push has created it */
        ret = 0;
    }
    return ret < 0 ? -1 : find_experiment(p, reply, e);
}

static int open_experiment(struct mlflow *p, struct err *e)
{
    json_t *reply = NULL, *x;
    const char *id;
    int ret = find_experiment(p, &reply, e);

    if (ret < 0 && e->kind == ERR_MISSING) {
        *e = (struct err){ 0 };
        ret = create_experiment(p, &reply, e);
    }
    if (ret < 0)
        return -1;
    x = json_object_get(reply, "experiment");
    id = push_get(x, "experiment_id");
    if (id)
        p->experiment_id = xstrdup(id);
    else
        ret = err_set(e, ERR_REMOTE, "the reply does not name the experiment");
    if (ret == 0 && push_is(x, "lifecycle_stage", "deleted"))
        ret = mlflow_post(p, "experiments/restore",
                          json_pack("{s:s}", "experiment_id", id), NULL, e);
    json_decref(reply);
    return ret;
}

static void set_run(struct mlflow *p, json_t *run)
{
    json_t *info = json_object_get(run, "info");

    xreplace(&p->id, push_get(info, "run_id"));
    xreplace(&p->artifact_uri, push_get(info, "artifact_uri"));
}

static int get_run(struct mlflow *p, const char *id, json_t **reply,
                   struct err *e)
{
    return mlflow_get(p, "runs/get?run_id=", id, reply, e);
}

/* Find the run that a push of our run with this id created, by its tag.  *run
 * is NULL if there is none; the caller releases *reply. */
static int find_by_tag(struct mlflow *p, const char *id, json_t **reply,
                       json_t **run, struct err *e)
{
    AUTO_FREE char *filter = xasprintf("tags.`gtrack.run_id` = '%s'", id);
    const int ret = mlflow_post(p, "runs/search",
                                json_pack("{s:[s], s:s, s:i}", "experiment_ids",
                                          p->experiment_id, "filter", filter,
                                          "max_results", 1),
                                reply, e);

    *run = json_array_get(json_object_get(*reply, "runs"), 0);
    return ret;
}

/* Did a push of our run create it?  The cursor comes with the store, and could
 * name any run of the user. */
static bool is_ours(const struct mlflow *p, json_t *run)
{
    json_t *tags = json_object_get(json_object_get(run, "data"), "tags"), *tag;
    size_t i;

    json_array_foreach(tags, i,
                       tag) if (push_is(tag, "key", "gtrack.run_id") &&
                                push_is(tag, "value", p->run->id)) return true;
    return false;
}

/* Find the run that an earlier push created, by the cursor or by its tag. */
static int find_run(struct mlflow *p, struct err *e)
{
    const char *known = push_get(p->cursor, "run_id");
    json_t *reply = NULL, *run;
    int ret;

    if (known && get_run(p, known, &reply, e) == 0) {
        const bool ours = is_ours(p, json_object_get(reply, "run"));

        if (ours)
            set_run(p, json_object_get(reply, "run"));
        json_decref(reply);
        reply = NULL;
        if (ours)
            return 0;
        err_set(e, ERR_MISSING, "it is another run");
    }
    if (known && e->kind != ERR_MISSING)
        return -1;
    if (known) {
        log_warn("%s was pushed to %s before, but is not there as %s; it is "
                 "pushed again",
                 p->run->name, p->login.url, known);
        *e = (struct err){ 0 };
        json_object_clear(p->cursor);
    }
    if (p->conf->new_run)
        return 0;
    ret = find_by_tag(p, p->run->id, &reply, &run, e);
    if (run) {
        set_run(p, run);
        p->unsure = true;
    }
    json_decref(reply);
    return ret;
}

static int create_run(struct mlflow *p, struct err *e)
{
    json_auto_t *reply = NULL;
    json_t *request = json_pack(
        "{s:s, s:o, s:o, s:I, s:[{s:s, s:s}, {s:s, s:o}]}", "experiment_id",
        p->experiment_id, "user_id", push_text(p->run->user), "run_name",
        push_text(p->run->name), "start_time", (json_int_t)p->run->start_ms,
        "tags", "key", "gtrack.run_id", "value", p->run->id, "key",
        "mlflow.runName", "value", push_text(p->run->name));

    if (mlflow_post(p, "runs/create", request, &reply, e) < 0)
        return -1;
    set_run(p, json_object_get(reply, "run"));
    return p->id ? 0
                 : err_set(e, ERR_REMOTE, "the server did not create the run");
}

/* A run that was created although no reply came is found by its tag. */
static int open_run(struct mlflow *p, struct err *e)
{
    for (int n = 1;; n++) {
        *e = (struct err){ 0 };
        if (find_run(p, e) < 0)
            return -1;
        if (p->id || create_run(p, e) == 0)
            return 0;
        if (e->sys != EAGAIN || n == p->conf->tries || p->conf->new_run ||
            !push_again(p->conf, n, e))
            return -1;
    }
}

/* -- its content ----------------------------------------------------------- */

/* Send parameters or tags, unless the cursor has a hash of just these. */
static int send_pairs(struct mlflow *p, const char *kind,
                      const struct pair *pair, size_t n, struct err *e)
{
    enum { MAX_PAIRS = 100 }; /* in a log-batch */
    AUTO(buf_clear) struct buf all = BUF_INIT;
    char hash[33];
    int ret = 0;

    for (size_t i = 0; i < n; i++)
        buf_printf(&all, "%s=%s\n", pair[i].key, pair[i].value);
    md5_hex(all.s, all.len, hash);
    if (push_is(p->cursor, kind, hash))
        return 0;
    for (size_t i = 0; i < n && ret == 0; i += MAX_PAIRS) {
        json_t *list = json_array();

        for (size_t k = i; k < n && k < i + MAX_PAIRS; k++)
            json_array_append_new(
                list, json_pack("{s:o, s:o}", "key", push_text(pair[k].key),
                                "value", push_text(pair[k].value)));
        ret = mlflow_post(p, "runs/log-batch",
                          json_pack("{s:s, s:o}", "run_id", p->id, kind, list),
                          NULL, e);
    }
    if (ret == 0)
        json_object_set_new(p->cursor, kind, json_string(hash));
    return ret;
}

/* The tags and the reason of a failure.  One of the tags is the id that the
 * parent has on the server.  A parent that was not pushed is left out: with the
 * id of our run, the child would be a child of nothing. */
static int send_tags(struct mlflow *p, struct err *e)
{
    const char *reason = p->run->state_reason;
    AUTO_FREE struct pair *tag = xcalloc(p->run->n_tags + 1, sizeof *tag);
    json_t *reply = NULL, *parent;
    size_t n = 0;
    int ret = 0;

    for (size_t i = 0; i < p->run->n_tags && ret == 0; i++) {
        tag[n] = p->run->tags[i];
        if (strcmp(tag[n].key, "mlflow.parentRunId") == 0 &&
            store_is_id(tag[n].value)) {
            ret = find_by_tag(p, tag[n].value, &reply, &parent, e);
            tag[n].value = push_get(json_object_get(parent, "info"), "run_id");
        }
        n += tag[n].value != NULL;
    }
    if (reason && !run_info_tag(p->run, "gtrack.reason"))
        tag[n++] = (struct pair){ "gtrack.reason", reason };
    if (ret == 0)
        ret = send_pairs(p, "tags", tag, n, e);
    json_decref(reply);
    return ret;
}

static json_t *json_of_input(const struct run_dataset *d)
{
    /* the server requires the first four */
    json_t *dataset =
        json_pack("{s:o, s:o, s:o, s:o}", "name", push_text(d->name), "digest",
                  push_text(d->digest ? d->digest : ""), "source",
                  push_text(d->source ? d->source : "{}"), "source_type",
                  push_text(d->source_type ? d->source_type : "local"));
    json_t *tags = json_array();

    if (d->schema)
        json_object_set_new(dataset, "schema", push_text(d->schema));
    if (d->profile)
        json_object_set_new(dataset, "profile", push_text(d->profile));
    if (d->context)
        json_array_append_new(tags, json_pack("{s:s, s:o}", "key",
                                              "mlflow.data.context", "value",
                                              push_text(d->context)));
    return json_pack("{s:o, s:o}", "dataset", dataset, "tags", tags);
}

/* Send the datasets that the run read; the server ignores those it has. */
static int send_inputs(struct mlflow *p, struct err *e)
{
    json_auto_t *list = json_array();
    char hash[33];
    int ret = 0;

    for (size_t i = 0; i < p->run->n_inputs; i++)
        if (p->run->inputs[i].name)
            json_array_append_new(list, json_of_input(&p->run->inputs[i]));
    push_hash(list, hash);
    if (json_array_size(list) && !push_is(p->cursor, "inputs", hash)) {
        ret = mlflow_post(
            p, "runs/log-inputs",
            json_pack("{s:s, s:O}", "run_id", p->id, "datasets", list), NULL,
            e);
        if (ret == 0)
            json_object_set_new(p->cursor, "inputs", json_string(hash));
    }
    return ret;
}

/* A value of the wrong type makes the server drop the rest of a request and
 * answer 200, so check that it has all metrics. */
static int verify_metrics(struct mlflow *p, struct err *e)
{
    json_t *reply = NULL, *data;
    size_t there;

    if (get_run(p, p->id, &reply, e) < 0)
        return -1;
    data = json_object_get(json_object_get(reply, "run"), "data");
    there = json_array_size(json_object_get(data, "metrics"));
    json_decref(reply);
    if (there >= p->run->n_metrics)
        return 0;
    return err_set(e, ERR_REMOTE,
                   "the server has only %zu of %zu metrics; push again", there,
                   p->run->n_metrics);
}

static int send_status(struct mlflow *p, struct err *e)
{
    /* MLflow does not have all of our statuses */
    const char *status = run_status_word(
        p->run->status == RUN_STALE ? RUN_FAILED
                                    : run_status_mlflow(p->run->status));
    AUTO_FREE char *state =
        xasprintf("%s %" PRId64 " %s", status, p->run->end_ms, p->run->name);
    int ret = 0;

    if (!push_is(p->cursor, "state", state)) {
        json_t *request =
            json_pack("{s:s, s:s, s:o}", "run_id", p->id, "status", status,
                      "run_name", push_text(p->run->name));

        if (p->run->end_ms)
            json_object_set_new(request, "end_time",
                                json_integer(p->run->end_ms));
        ret = mlflow_post(p, "runs/update", request, NULL, e);
        if (ret == 0)
            json_object_set_new(p->cursor, "state", json_string(state));
    }
    return ret;
}

static int send_run(struct mlflow *p, struct err *e)
{
    p->unsure = p->unsure || json_is_true(json_object_get(p->cursor, "open"));
    json_object_set_new(p->cursor, "open", json_true());
    if (mlflow_save_cursor(p, e) < 0)
        return -1;
    if (send_pairs(p, "params", p->run->params, p->run->n_params, e) < 0 ||
        send_tags(p, e) < 0 || mlflow_send_metrics(p, e) < 0 ||
        mlflow_send_artifacts(p, e) < 0 || send_status(p, e) < 0 ||
        verify_metrics(p, e) < 0 || send_inputs(p, e) < 0)
        return -1;
    json_object_del(p->cursor, "open");
    p->unsure = false;
    return mlflow_save_cursor(p, e);
}

static int follow_run(struct mlflow *p, struct err *e)
{
    while (p->run->status == RUN_RUNNING) {
        if (push_reload(p->conf, &p->runs, &p->run, e) < 0 ||
            (send_run(p, e) < 0 && !push_goes_on(p->run, e)))
            return -1;
    }
    return 0;
}

/* The push fails at its end if some files were refused. */
static int check_refused(const struct mlflow *p, struct err *e)
{
    const size_t n = json_object_size(p->refused);

    if (n == 0)
        return 0;
    return err_set(e, ERR_REMOTE,
                   "%zu of the artifacts could not be sent, such as %s; the "
                   "rest of the run was pushed",
                   n, json_object_iter_key(json_object_iter(p->refused)));
}

static void print_dry_run(struct mlflow *p)
{
    json_t *metrics = push_cursor_object(p->cursor, "metrics");
    int64_t points = 0, sent = 0;
    struct push_totals left = { 0 };
    const int files = push_count_left(p->conf, p->run, &left, ERR_IGNORED);

    for (size_t j = 0; j < p->run->n_metrics; j++) {
        const struct metric_sum *m = &p->run->metrics[j];

        points += m->count;
        sent += json_integer_value(
            json_object_get(json_object_get(metrics, m->key), "points"));
    }
    push_print('\n',
               "%s: would send to %s, experiment %s: %zu parameters, %zu tags, "
               "%" PRId64 " points (%" PRId64 " were sent), %d files",
               p->run->name, p->login.url, p->experiment, p->run->n_params,
               p->run->n_tags, points, sent, files > 0 ? files : 0);
}

static int push_run(struct mlflow *p, struct err *e)
{
    p->http = push_open(p->conf, &p->login, e);
    if (!p->http || open_experiment(p, e) < 0 || open_run(p, e) < 0 ||
        send_run(p, e) < 0 || (p->conf->follow && follow_run(p, e) < 0) ||
        check_refused(p, e) < 0)
        return -1;
    push_print('\t', "%s", p->run->name);
    push_print('\n', "%s/#/experiments/%s/runs/%s", p->login.url,
               p->experiment_id, p->id);
    return 0;
}

int push_mlflow(const struct push_conf *c, const struct run_info *r,
                struct push_totals *totals, struct err *e)
{
    struct mlflow p = { .conf = c, .run = r, .totals = totals };
    int ret = 0;

    if (login_mlflow(&p.login, c->url, e) < 0)
        return -1;
    p.experiment = c->project        ? c->project
                   : p.login.project ? p.login.project
                                     : r->experiment;
    p.refused = json_object();
    p.destination = xasprintf("mlflow %s %s", p.login.url, p.experiment);
    p.cursor = push_cursor_load(r, p.destination);
    if (c->new_run)
        json_object_clear(p.cursor);
    if (c->dry_run)
        print_dry_run(&p);
    else
        ret = push_run(&p, e);
    http_close(p.http);
    login_clear(&p.login);
    json_decref(p.cursor);
    json_decref(p.refused);
    FREE(p.destination, p.experiment_id, p.id, p.artifact_uri);
    runs_free(&p.runs);
    return ret;
}
