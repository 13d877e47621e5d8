/*
 * reply - the answers of a server to gtrack push; the first byte says whose
 *
 * with: src/track/push
 * with: src/track/runs/file_tree.c
 *
 * A byte above 0xF0, which JSON in UTF-8 rarely has, ends an answer and gives
 * the status of the next.  After the last one the server answers no more.  HTTP
 * itself is the target http.
 */
#include "config.h"
#include "common/http/http.h"

#include <limits.h>
#include <string.h>

#include "common/log.h"
#include "common/path.h"
#include "store/write/run.h"
#include "t/fuzz/fuzz.h"
#include "track/push/push.h"
#include "track/runs/track.h"

/* ---- instead of common/http/http.c --------------------------------------- */

static const uint8_t *left;
static size_t n_left;

struct http *http_open(const struct http_conf *conf, struct err *e)
{
    static char one;

    (void)conf;
    (void)e;
    return (struct http *)(void *)&one;
}

void http_close(struct http *http)
{
    (void)http;
}

int http_do(struct http *http, const struct http_call *call,
            struct http_reply *r, struct err *e)
{
    static const long statuses[] = { 200, 200, 200, 201, 400, 404, 500 };
    size_t n = 0;

    (void)http;
    http_reply_clear(r);
    if (n_left == 0)
        return err_set(e, ERR_REMOTE, "%s: no answer", call->url);
    r->status =
        statuses[left[0] > 0xF0 ? left[0] % (sizeof statuses / sizeof *statuses)
                                : 0];
    n = left[0] > 0xF0;
    while (n < n_left && left[n] <= 0xF0)
        n++;
    buf_add(&r->body, left + (left[0] > 0xF0), n - (left[0] > 0xF0));
    left += n;
    n_left -= n;
    return r->status / 100 == 2
               ? 0
               : err_set(e, ERR_REMOTE, "%s: status %ld", call->url, r->status);
}

void http_reply_clear(struct http_reply *r)
{
    buf_clear(&r->body);
    *r = HTTP_REPLY_INIT;
}

/* ---- instead of track/runs/track.c ------------------------------------- */

char *run_facts_output(const struct run_info *r)
{
    (void)r;
    return NULL;
}

int track_select_one(struct runs *runs, const char *word, int flags,
                     struct err *e)
{
    (void)runs;
    (void)flags;
    return err_set(e, ERR_MISSING, "there is no run %s", word);
}

/* ---- the run that is pushed --------------------------------------------- */

static char root[PATH_MAX];

static void remove_store(void)
{
    path_remove(root, &(struct err){ 0 });
}

static const struct run_info *make_run(void)
{
    static struct runs runs;
    const struct run_conf conf = { .root = root, .name = "run" };
    struct err e = { 0 };
    struct run *run;

    log_setup("fuzz", LOG_ERROR);
    FUZZ_CHECK(freopen("/dev/null", "w", stdout));
    snprintf(root, sizeof root, "/dev/shm/fuzz-reply-%d", (int)getpid());
    atexit(remove_store);
    setenv("MLFLOW_TRACKING_TOKEN", "key", 1);
    setenv("WANDB_API_KEY", "0123456789012345678901234567890123456789", 1);
    FUZZ_CHECK(run_begin(&run, &conf, &e) == 0);
    run_param(run, "lr", "0.1");
    run_tag(run, "kind", "fuzz");
    for (int i = 0; i < 3; i++)
        run_metric(run, "loss", i, 1.0 / (i + 1));
    FUZZ_CHECK(run_end(run, RUN_FINISHED, &e) == 0 &&
               runs_load(&runs, root, LOAD_NO_INDEX, &e) == 0 && runs.n == 1);
    return &runs.run[0];
}

static void forget_pushes(const struct run_info *run)
{
    char *folder = xasprintf("%s/.gtrack", run->folder);
    struct path_list names;
    struct err e = { 0 };

    path_list(&names, folder, &e);
    for (size_t i = 0; i < names.n; i++)
        if (strncmp(names.name[i], "push", 4) == 0) {
            char *path = path_join(folder, names.name[i]);

            unlink(path);
            free(path);
        }
    path_list_clear(&names);
    free(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct run_info *run;
    const struct push_conf conf = {
        .url = "http://127.0.0.1",
        .entity = data && n && (data[0] & 2) ? "me" : NULL,
        .tries = 1,
    };
    struct push_totals totals = { 0 };
    struct err e = { 0 };

    if (n == 0)
        return 0;
    if (!run)
        run = make_run();
    left = data + 1;
    n_left = n - 1;
    if ((data[0] & 1 ? push_wandb : push_mlflow)(&conf, run, &totals, &e) < 0)
        FUZZ_CHECK(e.kind != ERR_NONE && e.text[0]);
    forget_pushes(run);
    return 0;
}
