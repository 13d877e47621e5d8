/*
 * wandb - requests to a server of Weights & Biases
 */
#include "config.h"
#include "track/push/wandb_push.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"

/* Replace a text by that of a member, if there is one. */
static void update_text(char **to, json_t *object, const char *key)
{
    const char *s = push_get(object, key);

    if (s)
        xreplace(to, s);
}

/* The message of an error, wherever the server put it. */
static const char *message_of(json_t *reply)
{
    json_t *errors = json_object_get(reply, "errors");
    json_t *error = json_object_get(reply, "error");
    const char *message = push_get(json_array_get(errors, 0), "message");

    if (!message)
        message = json_string_value(error);
    if (!message)
        message = push_get(error, "message");
    return message;
}

int wandb_graphql(struct wandb *w, const char *name, const char *query,
                  json_t *variables, json_t **data, struct err *e)
{
    AUTO_FREE char *url = xasprintf("%s/graphql", w->login.url);
    json_auto_t *request =
        json_pack("{s:s, s:s, s:o*}", "query", query, "operationName", name,
                  "variables", variables);
    AUTO_FREE char *body = json_dumps(request, JSON_COMPACT);
    AUTO(http_reply_clear) struct http_reply r = HTTP_REPLY_INIT;
    json_auto_t *reply = NULL;
    int ret = push_call(w->http, &w->login,
                        &(struct push_request){ "POST", url, body, false }, &r,
                        &reply, e);

    if (data)
        *data = NULL;
    if (ret < 0 && r.status == 401)
        ret = err_set(e, ERR_REMOTE, "%s rejected the key", w->login.url);
    else if (ret < 0 && reply && message_of(reply))
        ret = err_set(e, ERR_REMOTE, "%s (%s, status %ld)", message_of(reply),
                      name, r.status);
    else if (ret == 0 && !reply)
        ret = err_set(e, ERR_REMOTE, "%s: the reply to %s is not JSON", url,
                      name);
    else if (ret == 0 && json_array_size(json_object_get(reply, "errors")))
        ret = err_set(e, ERR_REMOTE, "%s (%s)",
                      message_of(reply) ? message_of(reply)
                                        : "the server gave an error",
                      name);
    else if (ret == 0 && !json_is_object(json_object_get(reply, "data")))
        ret = err_set(e, ERR_REMOTE, "%s: the reply to %s has no data", url,
                      name);
    else if (ret == 0 && data)
        *data = json_incref(json_object_get(reply, "data"));
    if (ret < 0 && r.status == 409)
        e->sys = EBUSY; /* for wandb_upsert() */
    return ret;
}

/* The _step of the last line that the server has.  The tail is the JSON text of
 * an array of lines, which are not JSON where they have a bare NaN. */
static int64_t tail_step(const char *tail)
{
    json_auto_t *lines = tail ? json_loads(tail, 0, NULL) : NULL;
    const size_t n = json_array_size(lines);
    const char *last =
        n ? json_string_value(json_array_get(lines, n - 1)) : NULL;
    const char *at = last ? strstr(last, "\"_step\"") : NULL;
    int64_t step = INT64_MIN;

    if (at) {
        at += strlen("\"_step\"");
        at += strspn(at, " :");
        step = strtoll(at, NULL, 10);
    }
    return step;
}

static void set_run(struct wandb *w, json_t *bucket)
{
    json_t *project = json_object_get(bucket, "project");

    update_text(&w->storage_id, bucket, "id");
    update_text(&w->run, bucket, "name");
    update_text(&w->project, project, "name");
    update_text(&w->entity, json_object_get(project, "entity"), "name");
}

int wandb_status(struct wandb *w, struct err *e)
{
    static const char query[] =
        "query RunResumeStatus($project:String,$entity:String,$name:String!){"
        "model(name:$project,entityName:$entity){id name entity{id name}"
        "bucket(name:$name,missingOk:true){id name displayName "
        "historyLineCount eventsLineCount logLineCount historyTail eventsTail "
        "summaryMetrics config tags notes wandbConfig(keys:[\"t\"])}}}";
    static const char *const counts[] = { [WANDB_HISTORY] = "historyLineCount",
                                          [WANDB_EVENTS] = "eventsLineCount",
                                          [WANDB_OUTPUT] = "logLineCount" };
    json_t *data, *model, *bucket;

    if (wandb_graphql(w, "RunResumeStatus", query,
                      json_pack("{s:s, s:s?, s:s}", "project", w->project,
                                "entity", w->entity, "name", w->run),
                      &data, e) < 0)
        return -1;
    model = json_object_get(data, "model");
    bucket = json_object_get(model, "bucket");
    update_text(&w->project, model, "name");
    update_text(&w->entity, json_object_get(model, "entity"), "name");
    set_run(w, bucket);
    json_decref(w->tags);
    w->tags = json_incref(json_object_get(bucket, "tags"));
    w->tail_step = tail_step(push_get(bucket, "historyTail"));
    for (int i = 0; i < WANDB_STREAMS; i++) {
        const json_int_t n =
            json_integer_value(json_object_get(bucket, counts[i]));

        w->lines[i] = n > 0 ? n : 0;
    }
    json_decref(data);
    return 0;
}

int wandb_upsert(struct wandb *w, json_t *variables, struct err *e)
{
    static const char query[] =
        "mutation UpsertBucket($id:String,$name:String,$project:String,"
        "$entity:String,$groupName:String,$description:String,"
        "$displayName:String,$notes:String,$commit:String,"
        "$config:JSONString,$host:String,$debug:Boolean,$program:String,"
        "$repo:String,$jobType:String,$state:String,$sweep:String,"
        "$tags:[String!],$summaryMetrics:JSONString){upsertBucket(input:{"
        "id:$id,name:$name,groupName:$groupName,modelName:$project,"
        "entityName:$entity,description:$description,"
        "displayName:$displayName,notes:$notes,config:$config,"
        "commit:$commit,host:$host,debug:$debug,jobProgram:$program,"
        "jobRepo:$repo,jobType:$jobType,state:$state,sweep:$sweep,"
        "tags:$tags,summaryMetrics:$summaryMetrics}){bucket{id name "
        "displayName sweepName project{name entity{name}} historyLineCount}"
        "inserted}}";
    json_t *data = NULL, *bucket;
    int ret = -1;

    /* 409 is a race with another request for the run, and passes */
    for (double wait = 0.1; ret < 0; wait *= 2) {
        *e = (struct err){ 0 };
        ret = wandb_graphql(w, "UpsertBucket", query, json_incref(variables),
                            &data, e);
        if (e->sys != EBUSY || wait > 10 || !push_pause(wait))
            break;
    }
    json_decref(variables);
    if (ret < 0)
        return -1;
    bucket = json_object_get(json_object_get(data, "upsertBucket"), "bucket");
    if (json_is_object(bucket)) {
        set_run(w, bucket);
        ret = w->entity ? 0
                        : err_set(e, ERR_REMOTE,
                                  "the server does not name "
                                  "the owner of the run; use --entity");
    } else {
        ret = err_set(e, ERR_REMOTE, "the server did not create the run");
    }
    json_decref(data);
    return ret;
}

int wandb_rewind(struct wandb *w, int64_t step, int64_t *lines, struct err *e)
{
    static const char query[] =
        "mutation RewindRun($runName:String!,$entity:String,$project:String,"
        "$metricName:String!,$metricValue:Float!){rewindRun(input:{"
        "runName:$runName,entityName:$entity,projectName:$project,"
        "metricName:$metricName,metricValue:$metricValue}){rewoundRun{id name "
        "historyLineCount config}}}";
    json_t *data, *run, *count;
    int ret = 0;

    if (wandb_graphql(w, "RewindRun", query,
                      json_pack("{s:s, s:s, s:s, s:s, s:f}", "runName", w->run,
                                "entity", w->entity, "project", w->project,
                                "metricName", "_step", "metricValue",
                                (double)step),
                      &data, e) < 0)
        return -1;
    run = json_object_get(json_object_get(data, "rewindRun"), "rewoundRun");
    count = json_object_get(run, "historyLineCount");
    if (json_is_integer(count))
        *lines = json_integer_value(count);
    else
        ret = err_set(e, ERR_REMOTE, "the server did not rewind the run");
    json_decref(data);
    return ret;
}

static void add_url_part(struct buf *b, const char *s)
{
    buf_char(b, '/');
    percent_add(b, s, PERCENT_PART);
}

/* The server says how many requests it accepts in which time.  They are spread
 * over that time; if none is left, we wait until it is over. */
static void set_quiet_time(struct wandb *w, const struct http_reply *r)
{
    enum { MAX_WAIT = 300 };
    double secs;

    if (r->rate_left < 0 || r->rate_reset <= 0)
        return;
    secs = r->rate_left < 1 ? r->rate_reset : r->rate_reset / r->rate_left;
    w->quiet_until = clock_mono() + fmin(secs, MAX_WAIT);
}

static int wait_quiet_time(const struct wandb *w, struct err *e)
{
    const double secs = w->quiet_until - clock_mono();

    if (secs <= 0)
        return 0;
    log_debug("waiting %.3g s for the rate limit of the server", secs);
    return push_pause(secs)
               ? 0
               : err_set(e, ERR_INTERRUPTED, "stopped by a signal");
}

int wandb_stream(struct wandb *w, const char *body, struct err *e)
{
    AUTO(buf_clear) struct buf url = BUF_INIT;
    AUTO(http_reply_clear) struct http_reply r = HTTP_REPLY_INIT;
    json_auto_t *reply = NULL;
    int ret;

    if (wait_quiet_time(w, e) < 0)
        return -1;
    buf_printf(&url, "%s/files", w->login.url);
    add_url_part(&url, w->entity);
    add_url_part(&url, w->project);
    add_url_part(&url, w->run);
    buf_str(&url, "/file_stream");
    ret = push_call(w->http, &w->login,
                    &(struct push_request){ "POST", url.s, body, false }, &r,
                    &reply, e);
    if (ret == 0 && !reply)
        ret = err_set(e, ERR_REMOTE,
                      "%s: the reply is not JSON; is this a server of W&B?",
                      url.s);
    if (ret == 0)
        set_quiet_time(w, &r);
    if (ret == 0 && json_is_true(json_object_get(reply, "stopped")))
        w->stopped = true;
    if (ret < 0 && reply && message_of(reply))
        err_wrap(e, "%s", message_of(reply));
    return ret;
}

char *wandb_page(const struct wandb *w)
{
    const char *app = getenv("WANDB_APP_URL");
    const char *url = w->login.url, *api = strstr(url, "://api.");
    struct buf b = BUF_INIT;

    if (app && *app)
        buf_str(&b, app);
    else if (strstr(url, "://api.forge.coreweave.com"))
        buf_str(&b, "https://forge.coreweave.com/wandb");
    else if (api && strncmp(api, "://api.wandb.", 13) == 0)
        buf_printf(&b, "%.*s://%s", (int)(api - url), url, api + 7);
    else if (api)
        buf_printf(&b, "%.*s://app.%s", (int)(api - url), url, api + 7);
    else
        buf_str(&b, url);
    add_url_part(&b, w->entity);
    add_url_part(&b, w->project);
    buf_str(&b, "/runs");
    add_url_part(&b, w->run);
    return buf_detach(&b);
}

/* ---- files --------------------------------------------------------------- */

int wandb_map(const struct wandb_file *f, void **data, int64_t *size,
              struct err *e)
{
    const int fd = path_open_inside(f->path, f->inside, e);
    struct stat st = { 0 };
    const int ret = path_map(data, &st, fd, f->path, e);

    *size = (int64_t)st.st_size;
    return ret;
}

void wandb_unmap(void *data, int64_t size)
{
    if (data)
        munmap(data, (size_t)size);
}

/* The headers that the server asks for, "Name:value" each. */
static const char **headers_of(json_t *list, struct arena *mem)
{
    const size_t n = json_array_size(list);
    const char **out = arena_alloc(mem, (n + 2) * sizeof *out);
    size_t kept = 0;

    /* keep libcurl from adding a type */
    out[kept++] = "Content-Type:";
    for (size_t i = 0; i < n; i++) {
        const char *s = json_string_value(json_array_get(list, i));
        const char *colon = s ? strchr(s, ':') : NULL;

        if (!colon || strpbrk(s, "\r\n"))
            continue;
        colon++;
        out[kept++] = arena_printf(mem, "%.*s %s", (int)(colon - s), s,
                                   colon + strspn(colon, " "));
    }
    return out;
}

static int put_file(struct wandb *w, const struct wandb_file *f,
                    const char *url, const char **headers, struct http_reply *r,
                    struct err *e)
{
    AUTO(buf_clear) struct buf where = BUF_INIT;
    struct http_call call = { .header = headers };
    int ret;

    percent_add(&where, url, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
    call.url = where.s;
    if (f->path) {
        ret = push_put_file(w->http, &call, f->path, f->inside, r, e);
    } else {
        call.body = f->text;
        call.len = strlen(f->text);
        ret = push_put(w->http, &call, r, e);
    }
    return ret;
}

int wandb_upload(struct wandb *w, const struct wandb_file *f, const char *url,
                 json_t *headers, struct err *e)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    AUTO(http_reply_clear) struct http_reply r = HTTP_REPLY_INIT;

    return put_file(w, f, url, headers_of(headers, &mem), &r, e);
}

/* Ask for the URLs of the files that are not sent, and send them.  A URL that
 * has expired (403) is not reported unless this is the last try. */
static int try_upload(struct wandb *w, struct wandb_file *f, size_t n,
                      bool last_try, struct err *e)
{
    static const char query[] =
        "mutation CreateRunFiles($entity:String!,$project:String!,"
        "$run:String!,$files:[String!]!){createRunFiles(input:{"
        "entityName:$entity,projectName:$project,runName:$run,files:$files})"
        "{runID uploadHeaders files{name uploadUrl}}}";
    AUTO(arena_clear) struct arena mem = { 0 };
    json_t *names = json_array(), *data, *created, *list;
    const char **headers;
    int ret = 0;

    for (size_t i = 0; i < n; i++)
        if (!f[i].sent)
            json_array_append_new(names, json_string(f[i].name));
    if (wandb_graphql(w, "CreateRunFiles", query,
                      json_pack("{s:s, s:s, s:s, s:o}", "entity", w->entity,
                                "project", w->project, "run", w->run, "files",
                                names),
                      &data, e) < 0)
        return -1;
    created = json_object_get(data, "createRunFiles");
    headers = headers_of(json_object_get(created, "uploadHeaders"), &mem);
    list = json_object_get(created, "files");
    for (size_t k = 0; ret == 0 && k < json_array_size(list); k++) {
        const char *name = push_get(json_array_get(list, k), "name");
        const char *url = push_get(json_array_get(list, k), "uploadUrl");
        size_t i = 0;
        AUTO(http_reply_clear) struct http_reply r = HTTP_REPLY_INIT;

        while (name && i < n && strcmp(f[i].name, name) != 0)
            i++;
        if (!name || i == n || f[i].sent)
            continue;
        if (!url) {
            f[i].sent = true; /* the server does not need it */
            continue;
        }
        if (put_file(w, &f[i], url, headers, &r, e) == 0) {
            f[i].sent = true;
        } else if (e->kind == ERR_INTERRUPTED) {
            ret = -1;
        } else if (last_try || r.status != 403) {
            log_warn("cannot send %s: %s", name, e->text);
        }
    }
    json_decref(data);
    return ret;
}

int wandb_upload_files(struct wandb *w, struct wandb_file *f, size_t n,
                       struct err *e)
{
    size_t left = n;

    for (int try = 0; try < 2 && left; try++) {
        if (try_upload(w, f, n, try == 1, e) < 0)
            return -1;
        left = 0;
        for (size_t i = 0; i < n; i++)
            left += !f[i].sent;
    }
    return left ? err_set(e, ERR_REMOTE, "the server refused %zu of %zu files",
                          left, n)
                : 0;
}
