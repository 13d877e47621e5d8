/*
 * gtrack push - send runs to a server of W&B or MLflow
 */
#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/sig.h"
#include "track/push/push.h"
#include "track/runs/track.h"

static struct track_selection selection = TRACK_SELECTION_INIT;
static int to = -1;
static struct push_conf conf = {
    .every = 15,
    .retry_wait = 2,
    .tries = 8,
    .request = 10 << 20,
};
static int jobs = 1;

enum { WANDB, MLFLOW };

static const char *const service_words[] = {
    [WANDB] = "wandb",
    [MLFLOW] = "mlflow",
    [MLFLOW + 1] = NULL,
};

static push_fn *const push_functions[] = {
    [WANDB] = push_wandb,
    [MLFLOW] = push_mlflow,
};

static const struct opt push_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    { 't', "to", "service", OPT_WORD, &to, "push to %s", service_words },
    TRACK_OPT_WHERE(selection),
    TRACK_OPT_EXPERIMENT(selection),
    TRACK_OPT_SINCE(selection),
    { 0, "url", "url", OPT_SECRET, &conf.url,
      "push to the server at this address" },
    { 0, "plain-http", NULL, OPT_FLAG, &conf.plain_http,
      "send a key or password also to an http:// address of another machine" },
    { 0, "entity", "name", OPT_STRING, &conf.entity,
      "wandb: push to this user or team" },
    { 'p', "project", "name", OPT_STRING, &conf.project,
      "push to this project of W&B or experiment of MLflow (default: the run's "
      "experiment)" },
    { 0, "group", "name", OPT_STRING, &conf.group,
      "wandb: put the run in this group" },
    { 'f', "follow", NULL, OPT_FLAG, &conf.follow,
      "keep pushing runs that are running until they end" },
    { 0, "every", "time", OPT_SECS, &conf.every,
      "with --follow, push at this interval (default: 15s)",
      .range = OPT_FROM(0.05) },
    { 0, "dry-run", NULL, OPT_FLAG, &conf.dry_run,
      "print what would be sent, and send nothing" },
    { 0, "no-files", NULL, OPT_FLAG, &conf.no_files, "do not send artifacts" },
    { 0, "checkpoints", NULL, OPT_FLAG, &conf.checkpoints,
      "also send checkpoints and files of more than 64 MiB" },
    { 0, "new-run", NULL, OPT_FLAG, &conf.new_run,
      "push to a new run, even if it has been pushed before" },
    { 'j', "jobs", "count", OPT_INT, &jobs,
      "push COUNT runs at the same time (default: 1)", .range = { 1, 64 } },
    { 0, "request-size", "size", OPT_SIZE, &conf.request,
      "wandb: send at most SIZE in one request (default: 10MiB)" },
    { 0, "tries", "count", OPT_INT, &conf.tries,
      "give up after a request has failed COUNT times (default: 8)",
      .range = OPT_FROM(1) },
    { 0, "retry-wait", "time", OPT_SECS, &conf.retry_wait,
      "wait TIME before the first retry, and twice as long before each "
      "following one (default: 2s)" },
    { 0 }
};

/* Push a run, and say what was sent and what was left out. */
static int push_one(const struct run_info *r, struct err *e)
{
    struct push_totals sum = { 0 };
    char size[NUM_TEXT];

    if (push_functions[to](&conf, r, &sum, e) < 0 ||
        push_count_left(&conf, r, &sum, e) < 0)
        return -1;
    fflush(stdout);
    if (!conf.dry_run)
        log_info("%s: %" PRId64 " lines, %" PRId64 " points, %" PRId64
                 " files sent, %s",
                 r->name, sum.lines, sum.points, sum.files,
                 num_bytes(size, (double)sum.bytes));
    if (sum.left)
        log_info("%s: %" PRId64 " file%s left out (%s); use --checkpoints to "
                 "send all files",
                 r->name, sum.left, sum.left == 1 ? "" : "s",
                 num_bytes(size, (double)sum.left_bytes));
    if (sum.left_links)
        log_info("%s: %" PRId64 " link%s out of the run left out; use "
                 "--follow-links to send the files",
                 r->name, sum.left_links, sum.left_links == 1 ? "" : "s");
    return 0;
}

/* Push every jobs-th run from `first` on.  When one fails the others are still
 * pushed; *e is the first error. */
static int push_share(const struct runs *runs, size_t first, struct err *e)
{
    int ret = 0;

    for (size_t i = first; i < runs->n; i += (size_t)jobs) {
        const struct run_info *r = &runs->run[i];
        struct err why = { 0 };

        if (push_one(r, &why) == 0)
            continue;
        err_wrap(&why, "pushing %s", r->name);
        if (ret == 0)
            *e = why;
        else
            log_error("%s", why.text);
        ret = -1;
        if (why.kind == ERR_INTERRUPTED)
            break;
    }
    return ret;
}

/* The exit status of a process; a signal that only we received is forwarded. */
static int wait_for_share(pid_t pid)
{
    pid_t ended;
    int how;

    while ((ended = waitpid(pid, &how, WNOHANG)) == 0) {
        if (sig_caught())
            kill(pid, SIGTERM);
        clock_pause(0.02);
    }
    return ended == pid && WIFEXITED(how) ? WEXITSTATUS(how) : 1;
}

/* Push by several processes, each with a share of the runs. */
static int push_parallel(const struct runs *runs, struct err *e)
{
    const pid_t parent = getpid();
    AUTO_FREE pid_t *pid = xcalloc((size_t)jobs, sizeof *pid);
    int failed = 0;

    fflush(stdout);
    for (int k = 0; k < jobs; k++) {
        pid[k] = fork();
        if (pid[k] == 0) {
            struct err own = { 0 };
            int ret;

            prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (getppid() != parent)
                _exit(1);
            ret = push_share(runs, (size_t)k, &own);
            if (ret < 0)
                log_error("%s", own.text);
            fflush(stdout);
            _exit(ret < 0 ? err_status(own.kind) : 0);
        }
        if (pid[k] < 0)
            failed = err_status(ERR_SYSTEM);
    }
    for (int k = 0; k < jobs; k++) {
        const int status = pid[k] > 0 ? wait_for_share(pid[k]) : 0;

        failed = status ? status : failed;
    }
    if (!failed)
        return 0;
    return err_set(e,
                   failed == err_status(ERR_INTERRUPTED) ? ERR_INTERRUPTED
                   : failed == err_status(ERR_REMOTE)    ? ERR_REMOTE
                                                         : ERR_SYSTEM,
                   "some of the runs were not pushed");
}

static int push_main(int argc, char **argv, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };

    if (to < 0)
        return err_usage(e, "push needs --to wandb or --to mlflow");
    /* the URL may be an argument: push --to mlflow http://HOST:5000 */
    if (argc && !conf.url && login_is_url(argv[0])) {
        conf.url = argv[0];
        argc--;
        argv++;
    }
    sig_watch();
    if (track_select(&runs, &selection, argc, argv, e) < 0)
        return -1;
    runs_warn_damage(&runs);
    runs_warn_secrets(&runs);
    if (jobs > (int)runs.n)
        jobs = runs.n ? (int)runs.n : 1;
    if (runs.n == 0)
        log_info("there are no runs to push in %s", track_store());
    return jobs > 1 ? push_parallel(&runs, e) : push_share(&runs, 0, e);
}

const struct cmd cmd_push = {
    .name = "push",
    .args = "[URL] [RUN|FILTER]...",
    .help = "send runs to a server of W&B or MLflow",
    .opts = push_opts,
    .confine = track_confine_push,
    .run = push_main,
};
