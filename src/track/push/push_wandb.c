/*
 * push_wandb - push a run to a server of W&B
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/utf8.h"
#include "store/format/attempt.h"
#include "track/push/push.h"
#include "track/push/wandb_push.h"

/* ---- the description of a run -------------------------------------------- */

/* "model.n_layer" becomes {"model": {"n_layer": ...}}, unless a part of it is
 * a value already. */
static void add_nested(json_t *top, const char *key, json_t *value)
{
    const char *dot = strchr(key, '.');
    json_t *inner;
    AUTO_FREE char *head = NULL;

    if (!dot || dot == key || !dot[1]) {
        if (json_object_get(top, key))
            json_decref(value);
        else
            json_object_set_new(top, key, value);
        return;
    }
    head = xstrndup(key, (size_t)(dot - key));
    inner = json_object_get(top, head);
    if (!inner) {
        inner = json_object();
        json_object_set_new(top, head, inner);
    }
    if (json_is_object(inner))
        add_nested(inner, dot + 1, value);
    else
        json_object_set_new(top, key, value);
}

json_t *wandb_config(const struct run_info *r)
{
    json_t *plain = json_object(), *config = json_object(), *value;
    const char *key;

    for (size_t i = 0; i < r->n_params; i++)
        add_nested(plain, r->params[i].key, push_value(r->params[i].value));
    json_object_foreach(plain, key, value)
        json_object_set_new(config, key, json_pack("{s:O}", "value", value));
    /* W&B treats a run without "t" as one that never started */
    json_object_set_new(config, "_wandb",
                        json_pack("{s:{s:{s:s, s:s}, s:[]}}", "value", "t", "5",
                                  "gtrack-" PACKAGE_VERSION, "13",
                                  "linux-x86_64", "m"));
    json_decref(plain);
    return config;
}

/* The value of a tag, NULL if it is empty. */
static const char *find_tag(const struct run_info *r, const char *key)
{
    const char *s = run_info_tag(r, key);

    return s && *s ? s : NULL;
}

/* The tags of the user, each as "key" or "key=value"; null if there are
 * none. */
static json_t *list_tags(const struct run_info *r)
{
    json_t *tags = json_null();

    for (size_t i = 0; i < r->n_tags; i++) {
        const char *key = r->tags[i].key, *value = r->tags[i].value;
        AUTO_FREE char *text = NULL;

        if (run_info_is_own_tag(key) || strncmp(key, "wandb.", 6) == 0)
            continue;
        text = *value ? xasprintf("%s=%s", key, value) : xstrdup(key);
        if (json_is_null(tags))
            tags = json_array();
        json_array_append_new(tags, push_text(text));
    }
    return tags;
}

char *wandb_metadata(const struct run_info *r)
{
    const struct attempt *a = r->attempt;
    json_auto_t *o = json_pack(
        "{s:s, s:s, s:o, s:o, s:o}", "os", "Linux", "executable", "gtrack",
        "program", push_text(find_tag(r, "mlflow.source.name")), "host",
        push_text(a ? a->host : NULL), "username", push_text(r->user));
    const char *commit = find_tag(r, "mlflow.source.git.commit");

    if (a && a->cpus > 0)
        json_object_set_new(o, "cpu_count", json_integer(a->cpus));
    if (a && a->gpus > 0)
        json_object_set_new(o, "gpu_count", json_integer(a->gpus));
    if (a && a->job)
        json_object_set_new(o, "slurm",
                            json_pack("{s:o}", "job_id", push_text(a->job)));
    if (commit)
        json_object_set_new(
            o, "git",
            json_pack("{s:o, s:o}", "commit", push_text(commit), "remote",
                      push_text(find_tag(r, "mlflow.source.git.repoURL"))));
    return json_dumps(o, JSON_INDENT(2) | JSON_SORT_KEYS);
}

/* The exit status of a run that has ended. */
static int exit_code(const struct run_info *r)
{
    const char *said = find_tag(r, "gtrack.exit_status");
    int64_t code;

    switch (r->status) {
    case RUN_FINISHED:
        return 0;
    case RUN_KILLED:
    case RUN_STOPPED:
        return 255;
    default:
        return said && num_int(said, &code) && code ? (int)code : 1;
    }
}

/* ---- pushing ------------------------------------------------------------- */

int wandb_push_save_cursor(struct wandb_push *p, struct err *e)
{
    json_object_set_new(p->cursor, "run_id", json_string(p->w.run));
    json_object_set_new(p->cursor, "entity", json_string(p->w.entity));
    json_object_set_new(p->cursor, "project", json_string(p->w.project));
    if (p->w.storage_id)
        json_object_set_new(p->cursor, "storage_id",
                            json_string(p->w.storage_id));
    return push_cursor_save(p->run, p->destination, p->cursor, e);
}

int wandb_push_stream(struct wandb_push *p, json_t *request, struct err *e)
{
    AUTO_FREE char *body = NULL;
    int ret;

    if (json_array_size(p->uploaded))
        json_object_set(request, "uploaded", p->uploaded);
    body = json_dumps(request, JSON_COMPACT);
    ret = wandb_stream(&p->w, body, e);
    if (ret == 0) {
        p->totals->bytes += (int64_t)strlen(body);
        json_array_clear(p->uploaded);
    }
    json_decref(request);
    return ret;
}

static json_t *list_variables(const struct wandb_push *p, const char *config)
{
    const struct run_info *r = p->run;
    const char *group =
        p->conf->group ? p->conf->group : find_tag(r, "wandb.group");

    /* clang-format off */
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:n, s:n, s:n, s:n, s:n}",
        "name", p->w.run,
        "project", p->w.project,
        "config", config,
        "displayName", push_text(r->name),
        "groupName", push_text(group ? group : r->parent),
        "notes", push_text(find_tag(r, "mlflow.note.content")),
        "commit", push_text(find_tag(r, "mlflow.source.git.commit")),
        "repo", push_text(find_tag(r, "mlflow.source.git.repoURL")),
        "host", push_text(r->attempt ? r->attempt->host : NULL),
        "program", push_text(find_tag(r, "mlflow.source.name")),
        "jobType", push_text(find_tag(r, "wandb.job_type")),
        "tags", list_tags(r),
        "description", "debug", "state", "summaryMetrics", "sweep");
    /* clang-format on */
}

static bool has_text(json_t *list, json_t *text)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), text))
            return true;
    return false;
}

/* The tags that the run shall have: ours, unless they are too long, and those
 * that someone has added at the server. */
static json_t *merge_tags(const struct wandb_push *p, json_t *ours)
{
    enum { MAX_TAG = 64 };
    json_t *before = json_object_get(p->cursor, "tags");
    json_t *all = json_array();

    for (size_t i = 0; i < json_array_size(ours); i++) {
        json_t *tag = json_array_get(ours, i);

        if (utf8_count(json_string_value(tag)) <= MAX_TAG)
            json_array_append(all, tag);
        else
            log_warn("%s: the tag '%s' is not sent: W&B accepts at most %d "
                     "characters",
                     p->run->name, json_string_value(tag), MAX_TAG);
    }
    for (size_t i = 0; i < json_array_size(p->w.tags); i++) {
        json_t *tag = json_array_get(p->w.tags, i);

        if (!has_text(all, tag) && !has_text(before, tag))
            json_array_append(all, tag);
    }
    return all;
}

/* Create or update the run, unless nothing has changed: users may have edited
 * what the server shows. */
static int upsert_run(struct wandb_push *p, struct err *e)
{
    json_auto_t *config = wandb_config(p->run);
    AUTO_FREE char *text =
        json_dumps(config, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_t *variables = list_variables(p, text);
    json_auto_t *tags = json_incref(json_object_get(variables, "tags"));
    char hash[33];
    int ret = 0;

    push_hash(variables, hash);
    json_object_set_new(variables, "id", push_text(p->w.storage_id));
    json_object_set_new(variables, "entity", push_text(p->w.entity));
    if (p->w.storage_id && push_is(p->cursor, "said", hash)) {
        json_decref(variables);
    } else {
        if (json_array_size(tags) ||
            json_array_size(json_object_get(p->cursor, "tags")))
            json_object_set_new(variables, "tags", merge_tags(p, tags));
        ret = wandb_upsert(&p->w, variables, e);
        if (ret == 0) {
            json_object_set_new(p->cursor, "said", json_string(hash));
            json_object_set(p->cursor, "tags", tags);
        }
    }
    return ret;
}

static int send_end(struct wandb_push *p, struct err *e)
{
    json_auto_t *end = p->run->status == RUN_PREEMPTED
                           ? json_pack("{s:b}", "preempting", 1)
                           : json_pack("{s:b, s:i}", "complete", 1, "exitcode",
                                       exit_code(p->run));
    AUTO_FREE char *text = json_dumps(end, JSON_COMPACT);
    /* the cursor has it without the braces */
    AUTO_FREE char *state = xstrndup(text + 1, strlen(text) - 2);
    int ret = 0;

    if (!push_is(p->cursor, "complete", state) ||
        json_array_size(p->uploaded)) {
        ret = wandb_push_stream(p, json_incref(end), e);
        json_object_set_new(p->cursor, "complete", json_string(state));
        if (ret == 0)
            ret = wandb_push_save_cursor(p, e);
    }
    return ret;
}

/* A file that is refused does not keep the rest from being sent. */
static int send_run(struct wandb_push *p, struct err *e)
{
    const bool ended = p->run->status != RUN_RUNNING;
    struct err files = { 0 };
    int ret = 0;

    if (wandb_lines_read(p, e) < 0 || upsert_run(p, e) < 0)
        return -1;
    ret = wandb_files_send(p, &files);
    if (files.kind != ERR_INTERRUPTED &&
        (wandb_lines_send(p, e) < 0 || (ended && send_end(p, e) < 0) ||
         wandb_push_save_cursor(p, e) < 0))
        return -1;
    if (ret < 0)
        *e = files;
    return ret;
}

/* Push again and again until the run has ended; an empty request tells the
 * server that it is still running. */
static int follow_run(struct wandb_push *p, struct err *e)
{
    enum { HEARTBEAT_SECS = 30 };
    double idle = 0;

    while (p->run->status == RUN_RUNNING) {
        const int64_t before = p->totals->lines;

        if (p->w.stopped) {
            log_warn("%s: someone has pressed Stop on its page", p->run->name);
            p->w.stopped = false;
        }
        idle += p->conf->every;
        if (push_reload(p->conf, &p->runs, &p->run, e) < 0 ||
            (send_run(p, e) < 0 && !push_goes_on(p->run, e)))
            return -1;
        if (p->totals->lines != before)
            idle = 0;
        if (idle >= HEARTBEAT_SECS && p->run->status == RUN_RUNNING) {
            idle = 0;
            if (wandb_stream(&p->w, "{}", e) < 0 && !push_goes_on(p->run, e))
                return -1;
        }
    }
    return 0;
}

/* The name of the project, without the characters that W&B does not allow. */
static char *choose_project(const struct push_conf *c, const struct login *l,
                            const struct run_info *r)
{
    const char *from = c->project                              ? c->project
                       : l->project                            ? l->project
                       : strcmp(r->experiment, "Default") == 0 ? "uncategorized"
                                                               : r->experiment;
    char *name = xstrdup(from);

    for (char *s = name; *s; s++)
        if (strchr("/\\#?%:", *s))
            *s = '_';
    if (strlen(name) > 128)
        name[128] = '\0';
    return name;
}

static int print_dry_run(struct wandb_push *p, struct err *e)
{
    if (wandb_lines_read(p, e) < 0)
        return -1;
    push_print('\n',
               "%s: would send to %s, project %s, run %s: %zu lines of history "
               "(%zu were sent), %zu of system metrics, %zu of output, %zu "
               "files",
               p->run->name, p->w.login.url, p->w.project, p->w.run,
               p->rows[WANDB_HISTORY].n, wandb_lines_sent(p),
               p->rows[WANDB_EVENTS].n, p->rows[WANDB_OUTPUT].n,
               wandb_files_count(p));
    return 0;
}

/* The id of the run at the server: our id, with a number after it for a new
 * run.  The cursor comes with the store, and cannot choose another run. */
static bool is_ours(const struct wandb_push *p, const char *id)
{
    const size_t n = strlen(p->run->id);

    return strncmp(id, p->run->id, n) == 0 &&
           (!id[n] || (id[n] == '-' && id[n + 1] &&
                       !id[n + 1 + strspn(id + n + 1, "0123456789")]));
}

static char *choose_id(struct wandb_push *p)
{
    const char *was = push_get(p->cursor, "run_id");
    int64_t tries = json_integer_value(json_object_get(p->cursor, "new_runs"));

    if (was && !is_ours(p, was)) {
        log_warn("%s: the store says that it is the run %s at the server, "
                 "which is not believed",
                 p->run->name, was);
        json_object_clear(p->cursor);
        was = NULL;
    }
    if (!p->conf->new_run)
        return xstrdup(was ? was : p->run->id);
    tries++;
    json_object_clear(p->cursor);
    json_object_set_new(p->cursor, "new_runs", json_integer(tries));
    return xasprintf("%s-%" PRId64, p->run->id, tries + 1);
}

/* Forget what was sent if the run is not on the server. */
static void check_cursor(struct wandb_push *p)
{
    json_t *new_runs;

    if (p->w.storage_id || !json_object_get(p->cursor, "storage_id"))
        return;
    log_warn("%s was pushed to %s before, but is not there; it is pushed again",
             p->run->name, p->w.login.url);
    new_runs = json_incref(json_object_get(p->cursor, "new_runs"));
    json_object_clear(p->cursor);
    if (new_runs)
        json_object_set_new(p->cursor, "new_runs", new_runs);
}

static int push_run(struct wandb_push *p, struct err *e)
{
    int ret;

    if (!p->w.login.password)
        return err_set(e, ERR_REMOTE,
                       "there is no key for %s; set WANDB_API_KEY, or run "
                       "'wandb login', which writes it to ~/.netrc",
                       p->w.login.url);
    ret = wandb_status(&p->w, e);
    if (ret == 0) {
        check_cursor(p);
        ret = send_run(p, e);
    }
    if (ret == 0 && p->conf->follow)
        ret = follow_run(p, e);
    if (p->w.entity && (ret == 0 || p->w.storage_id)) {
        AUTO_FREE char *page = wandb_page(&p->w);

        push_print('\t', "%s", p->run->name);
        push_print('\n', "%s", page);
    }
    if (ret == 0 && p->run->status == RUN_RUNNING)
        log_info("%s is running: its last step and its files are sent once "
                 "it has ended; unless it is pushed again or --follow is used, "
                 "its page will show it as crashed",
                 p->run->name);
    return ret;
}

static void clear_push(struct wandb_push *p)
{
    for (int i = 0; i < WANDB_STREAMS; i++)
        wandb_rows_clear(&p->rows[i]);
    wandb_media_clear(&p->media);
    json_decref(p->uploaded);
    json_decref(p->cursor);
    free(p->destination);
    http_close(p->w.http);
    login_clear(&p->w.login);
    FREE(p->w.entity, p->w.project, p->w.run, p->w.storage_id);
    json_decref(p->w.tags);
    runs_free(&p->runs);
}

int push_wandb(const struct push_conf *c, const struct run_info *r,
               struct push_totals *totals, struct err *e)
{
    struct wandb_push p = { .conf = c,
                            .run = r,
                            .totals = totals,
                            .rows = { WANDB_ROWS_INIT, WANDB_ROWS_INIT,
                                      WANDB_ROWS_INIT } };
    const char *entity;
    int ret = -1;

    if (login_wandb(&p.w.login, c->url, e) < 0)
        return -1;
    entity = c->entity ? c->entity : p.w.login.entity;
    p.w.entity = entity ? xstrdup(entity) : NULL;
    p.w.project = choose_project(c, &p.w.login, r);
    p.destination = xasprintf("wandb %s %s/%s", p.w.login.url,
                              entity ? entity : "", p.w.project);
    p.cursor = push_cursor_load(r, p.destination);
    p.w.run = choose_id(&p);
    p.uploaded = json_array();
    p.w.http = push_open(c, &p.w.login, e);
    if (p.w.http)
        ret = c->dry_run ? print_dry_run(&p, e) : push_run(&p, e);
    clear_push(&p);
    return ret;
}
