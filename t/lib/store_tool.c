/*
 * store_tool - what the shell tests of the store do to it
 *
 * usage: store_tool write ROOT STEPS     a run of three metrics; prints its
 *                                        name once it has begun
 *        store_tool start ROOT NAME      begin a run of experiment NAME at the
 *                                        moment that the file ROOT.go appears
 *        store_tool run ROOT             write points until killed, as fast
 *                                        as can be
 *        store_tool resume ROOT STEPS    go on with the latest run
 *        store_tool capture ROOT         a run with all that is recorded by
 *                                        itself; prints its folder
 *        store_tool check ROOT           complain of all that MLflow would;
 *                                        prints runs, points and attempts
 *        store_tool watch ROOT PID       check again and again until PID ends
 */
#include "config.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "store/read/runs.h"
#include "store/write/run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const names[] = { "train/loss", "lr", "val/acc" };
enum { NAMES = 3 };

static void points(struct run *run, int64_t step)
{
    struct run_point p[NAMES];

    for (int i = 0; i < NAMES; i++)
        p[i] = (struct run_point){ names[i],
                                   (double)(step + i) * 0.1234567890123 };
    run_metrics(run, step, p, NAMES);
}

static int write_run(const char *root, const char *resume, int64_t steps,
                     struct err *e)
{
    struct run_conf c = { .root = root,
                          .experiment = "tool",
                          .resume = resume,
                          .no_provenance = true,
                          .flush_secs = 0.02 };
    struct run *run;

    if (run_begin(&run, &c, e) < 0)
        return -1;
    printf("%s\n", run_name(run));
    fflush(stdout);
    run_param(run, "lr", "0.001");
    run_param(run, "model/width", "64");
    run_tag(run, "note", "of the tool");
    if (resume)
        run_rewind(run, steps / 2);
    for (int64_t step = resume ? steps / 2 + 1 : 1; step <= steps; step++) {
        points(run, step);
        if (step % 100 == 0) {
            struct err ignored = { 0 };

            run_flush(run, &ignored);
        }
    }
    return run_end(run, RUN_FINISHED, e);
}

static int start(const char *root, const char *experiment, struct err *e)
{
    struct run_conf c = { .root = root,
                          .experiment = experiment,
                          .no_provenance = true };
    char *go = xasprintf("%s.go", root);
    const struct timespec pause = { 0, 1000000 };
    struct run *run;

    while (!path_exists(go))
        nanosleep(&pause, NULL);
    free(go);
    if (run_begin(&run, &c, e) < 0)
        return -1;
    run_metric(run, "loss", 1, 1);
    printf("%s %s\n", run_id(run), run_name(run));
    return run_end(run, RUN_FINISHED, e);
}

static int forever(const char *root, struct err *e)
{
    struct run_conf c = { .root = root,
                          .experiment = "tool",
                          .no_provenance = true,
                          .flush_secs = 0.002 };
    struct run *run;

    if (run_begin(&run, &c, e) < 0)
        return -1;
    for (int64_t step = 1;; step++) {
        points(run, step);
        if (step % 20000 == 0)
            run_flush(run, e);
    }
}

static int capture(const char *root, struct err *e)
{
    struct run_conf c = { .root = root,
                          .command = "prog --lr 1e-3",
                          .gpus = 2 };
    struct run *run;

    if (run_begin(&run, &c, e) < 0)
        return -1;
    run_reason(run, "of its own will");
    printf("%s\n", run_folder(run));
    return run_end(run, RUN_FAILED, e);
}

static int check(const char *root, bool print, struct err *e)
{
    struct runs runs;
    int64_t count = 0, attempts = 0;
    int ret = runs_load(&runs, root, LOAD_DELETED, e);

    if (ret < 0)
        return -1;
    for (size_t i = 0; i < runs.n; i++) {
        const struct run_info *r = &runs.run[i];

        attempts += r->attempts;
        for (size_t k = 0; k < r->n_metrics; k++)
            count += r->metrics[k].count + r->metrics[k].retracted;
        if (r->damage || r->torn)
            ret = err_set(e, ERR_INPUT, "run %s: %s", r->name,
                          r->damage ? r->damage : r->torn);
    }
    if (print)
        printf("%zu runs %" PRId64 " points %" PRId64 " attempts\n", runs.n,
               count, attempts);
    runs_free(&runs);
    return ret;
}

static int watch(const char *root, pid_t pid, struct err *e)
{
    int64_t times = 0;

    for (; kill(pid, 0) == 0; times++)
        if (path_exists(root) && check(root, false, e) < 0 &&
            e->kind != ERR_MISSING)
            return -1;
    *e = (struct err){ 0 };
    printf("looked %" PRId64 " times\n", times);
    return 0;
}

int main(int argc, char **argv)
{
    struct err e = { 0 };
    const char *what = argc > 1 ? argv[1] : "";
    int64_t n = 0;
    int ret = -1;

    log_setup("store_tool", LOG_INFO);
    if (argc == 4 && strcmp(what, "start") != 0 && !num_int(argv[3], &n))
        what = "";
    if (strcmp(what, "write") == 0 && argc == 4)
        ret = write_run(argv[2], NULL, n, &e);
    else if (strcmp(what, "resume") == 0 && argc == 4)
        ret = write_run(argv[2], "@latest", n, &e);
    else if (strcmp(what, "start") == 0 && argc == 4)
        ret = start(argv[2], argv[3], &e);
    else if (strcmp(what, "run") == 0 && argc == 3)
        ret = forever(argv[2], &e);
    else if (strcmp(what, "capture") == 0 && argc == 3)
        ret = capture(argv[2], &e);
    else if (strcmp(what, "check") == 0 && argc == 3)
        ret = check(argv[2], true, &e);
    else if (strcmp(what, "watch") == 0 && argc == 4)
        ret = watch(argv[2], (pid_t)n, &e);
    else
        err_set(&e, ERR_USAGE, "see the top of t/lib/store_tool.c");
    if (ret < 0)
        log_error("%s", e.text);
    return ret < 0 ? err_status(e.kind) : 0;
}
