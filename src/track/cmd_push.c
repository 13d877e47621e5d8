#include "config.h"
#include "track/cmds.h"
#include "track/runs/track.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "common/num.h"
#include "common/sig.h"
#include "track/push/push.h"

static struct track_choice choice;
static const char *to;
static struct push_conf conf = {
    .every = 15,
    .retry_wait = 2,
    .tries = 8,
    .request = 10 << 20,
};
static int jobs = 1;

static const struct opt push_opts[] = {
    TRACK_OPTS,
    { 't', "to", "service", OPT_STRING, &to, "push to wandb or mlflow" },
    { 'w', "where", "filter", OPT_STRING, &choice.where,
      "select only runs for which FILTER is true" },
    { 'e', "experiment", "name", OPT_STRING, &choice.experiment,
      "select only runs of this experiment" },
    { 0, "since", "time", OPT_STRING, &choice.since,
      "select only runs started since TIME, as in 2h, 3d or 2026-11-21" },
    { 0, "url", "url", OPT_STRING, &conf.url,
      "push to the server at this address" },
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
      "with --follow, push at this interval (default: 15s)" },
    { 0, "dry-run", NULL, OPT_FLAG, &conf.dry,
      "print what would be sent, and send nothing" },
    { 0, "no-files", NULL, OPT_FLAG, &conf.no_files, "do not send artifacts" },
    { 0, "checkpoints", NULL, OPT_FLAG, &conf.artifacts,
      "also send checkpoints and files of more than 64 MiB" },
    { 0, "new-run", NULL, OPT_FLAG, &conf.new_run,
      "push to a new run, even if it has been pushed before" },
    { 'j', "jobs", "count", OPT_INT, &jobs,
      "push COUNT runs at the same time (default: 1)" },
    { 0, "request-size", "size", OPT_SIZE, &conf.request,
      "wandb: send at most SIZE in one request (default: 10MiB)" },
    { 0, "part-size", "size", OPT_SIZE, &conf.part,
      "wandb: send checkpoints of more than SIZE in parts of SIZE (default: "
      "parts of 100MiB, from 2GiB on)" },
    { 0, "tries", "count", OPT_INT, &conf.tries,
      "give up after a request has failed COUNT times (default: 8)" },
    { 0, "retry-wait", "time", OPT_SECS, &conf.retry_wait,
      "wait TIME before the first retry, and twice as long before each "
      "following one (default: 2s)" },
    { 0 }
};

typedef int push_fn(const struct push_conf *, const struct run_info *,
                    struct push_sum *, struct err *);

/* Every jobs-th run, from the first-th on.  One that fails keeps none of the
 * others back; the first error is the one that is told at the end. */
static int push_some(push_fn *push, const struct runs *runs, size_t first,
                     struct err *e)
{
    int ret = 0;

    for (size_t i = first; i < runs->n; i += (size_t)jobs) {
        const struct run_info *r = &runs->run[i];
        struct push_sum sum = { 0 };
        struct err why = ERR_INIT;
        char size[NUM_TEXT];

        if (push(&conf, r, &sum, &why) == 0) {
            fflush(stdout);
            if (!conf.dry)
                log_info("%s: %" PRId64 " lines, %" PRId64 " points, %" PRId64
                         " files sent, %s",
                         r->name, sum.lines, sum.points, sum.files,
                         num_bytes(size, (double)sum.bytes));
            continue;
        }
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

/* The exit status of a share; a signal that came to us alone is passed on. */
static int wait_share(pid_t pid)
{
    enum { LOOK_MS = 20 };
    pid_t ended;
    int how;

    while ((ended = waitpid(pid, &how, WNOHANG)) == 0) {
        if (sig_caught())
            kill(pid, SIGTERM);
        poll(NULL, 0, LOOK_MS);
    }
    return ended == pid && WIFEXITED(how) ? WEXITSTATUS(how) : 1;
}

/* Several processes, each with a share of the runs. */
static int push_parallel(push_fn *push, const struct runs *runs, struct err *e)
{
    const pid_t parent = getpid();
    pid_t *pid = xcalloc((size_t)jobs, sizeof *pid);
    int failed = 0;

    fflush(stdout);
    for (int k = 0; k < jobs; k++) {
        pid[k] = fork();
        if (pid[k] == 0) {
            struct err own = ERR_INIT;
            int ret;

            prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (getppid() != parent)
                _exit(1);
            ret = push_some(push, runs, (size_t)k, &own);
            if (ret < 0)
                log_error("%s", own.text);
            fflush(stdout);
            _exit(ret < 0 ? err_status(own.kind) : 0);
        }
        if (pid[k] < 0)
            failed = err_status(ERR_SYSTEM);
    }
    for (int k = 0; k < jobs; k++) {
        const int status = pid[k] > 0 ? wait_share(pid[k]) : 0;

        failed = status ? status : failed;
    }
    free(pid);
    if (!failed)
        return 0;
    return err_set(e,
                   failed == err_status(ERR_INTERRUPTED) ? ERR_INTERRUPTED
                   : failed == err_status(ERR_REMOTE)    ? ERR_REMOTE
                                                         : ERR_SYSTEM,
                   "not all runs were pushed");
}

static int push_main(int argc, char **argv, struct err *e)
{
    struct runs runs = RUNS_INIT;
    push_fn *push;
    int ret = -1;

    if (!to)
        return err_set(e, ERR_USAGE, "--to says where: wandb or mlflow");
    if (strcmp(to, "wandb") == 0)
        push = push_wandb;
    else if (strcmp(to, "mlflow") == 0)
        push = push_mlflow;
    else
        return err_set(e, ERR_USAGE, "--to wants wandb or mlflow, not '%s'",
                       to);
    if (jobs < 1 || jobs > 64 || conf.tries < 1 || conf.every < 0.05)
        return err_set(e, ERR_USAGE,
                       "--jobs wants 1 to 64, --tries 1 or "
                       "more, --every 50ms or more");
    /* the address may stand alone: push --to mlflow http://HOST:5000 */
    if (argc && !conf.url &&
        (strncmp(argv[0], "http://", 7) == 0 ||
         strncmp(argv[0], "https://", 8) == 0)) {
        conf.url = argv[0];
        argc--;
        argv++;
    }
    sig_watch();
    if (track_choose(&runs, &choice, argv, argc, 0, e) < 0)
        goto out;
    if (jobs > (int)runs.n)
        jobs = runs.n ? (int)runs.n : 1;
    if (runs.n == 0)
        log_info("no run in %s to push", track_store());
    ret =
        jobs > 1 ? push_parallel(push, &runs, e) : push_some(push, &runs, 0, e);

out:
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_push = {
    .name = "push",
    .args = "[URL] [RUN|FILTER]...",
    .help = "send runs to a server of W&B or MLflow",
    .opts = push_opts,
    .run = push_main,
};
