/*
 * crash - a writer that is killed at any moment, and 256 that begin at once
 */
#include "config.h"
#include "common/path.h"
#include "store/format/store.h"
#include "store/read/runs.h"
#include "store/write/run.h"
#include "t/lib/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEYS = 3, WRITERS = 256 };

static char *root;

/* Write as fast as can be, until killed. */
static void write_on(void)
{
    static const char *const keys[KEYS] = { "train/loss", "lr", "a" };
    struct run_conf c = { .root = root,
                          .experiment = "kill",
                          .flush_secs = 0.001,
                          .no_provenance = true };
    struct err e = { 0 };
    struct run *run;

    if (run_begin(&run, &c, &e) < 0)
        _exit(1);
    for (int64_t step = 1;; step++) {
        struct run_point p[KEYS];

        for (int i = 0; i < KEYS; i++)
            p[i] = (struct run_point){ keys[i], (double)step / (i + 3) };
        run_metrics(run, step, p, KEYS);
        if (step % 100 == 0) { /* or reading it all takes ever longer */
            run_tag(run, "at", step % 200 ? "odd" : "even, and longer");
            run_flush(run, &e);
        }
    }
}

/* What a reader that knows nothing of us may never see, at any moment. */
static bool is_whole(const char *when)
{
    struct runs runs;
    struct err e = { 0 };
    bool good = true;

    if (runs_load(&runs, root, 0, &e) < 0) {
        good = e.kind == ERR_MISSING;
        if (!good)
            diag("%s: %s", when, e.text);
        return good;
    }
    for (size_t i = 0; i < runs.n; i++) {
        const struct run_info *r = &runs.run[i];

        if (r->damage || r->torn) {
            diag("%s: %s", when, r->damage ? r->damage : r->torn);
            good = false;
        }
    }
    runs_free(&runs);
    return good;
}

/* The steps of each metric are 1, 2, 3, ... as far as they go. */
static bool is_unbroken(int64_t *count)
{
    struct runs runs;
    struct err e = { 0 };
    bool good = true;

    if (runs_load(&runs, root, 0, &e) < 0)
        return e.kind == ERR_MISSING;
    for (size_t i = 0; i < runs.n; i++) {
        for (size_t k = 0; k < runs.run[i].n_metrics; k++) {
            const struct metric_sum *m = &runs.run[i].metrics[k];

            *count += m->count;
            if (m->first_step != 1 || m->last_step != m->count) {
                diag("%s: %lld points, the last is of step %lld", m->key,
                     (long long)m->count, (long long)m->last_step);
                good = false;
            }
        }
    }
    runs_free(&runs);
    return good;
}

/* Has the writer got as far as its first points? */
static bool has_points(void)
{
    struct runs runs;
    struct err e = { 0 };
    bool found = false;

    if (runs_load(&runs, root, 0, &e) < 0)
        return false;
    for (size_t i = 0; i < runs.n; i++)
        found = found || runs.run[i].n_metrics == KEYS;
    runs_free(&runs);
    return found;
}

/* A run whose writer was killed goes on. */
static bool goes_on(void)
{
    struct run_conf c = { .root = root,
                          .resume = "@latest",
                          .no_provenance = true };
    struct runs runs = { 0 };
    struct series s = { 0 };
    struct err e = { 0 };
    char word[] = "@latest";
    char *words[] = { word };
    struct run *run;
    bool good;

    if (run_begin(&run, &c, &e) < 0)
        return e.kind == ERR_MISSING; /* killed before it had begun */
    run_rewind(run, 10);
    for (int step = 11; step <= 20; step++)
        run_metric(run, "lr", step, -1);
    good = run_end(run, RUN_FINISHED, &e) == 0 &&
           runs_select(&runs, root, words, 1, 0, &e) == 0 &&
           series_load(&s, &runs.run[0], "lr", 0, &e) == 0 && s.n >= 10 &&
           s.n <= 20 && s.step[s.n - 1] == 20 && s.value[s.n - 1] < 0 &&
           runs.run[0].attempts == 2 && runs.run[0].status == RUN_FINISHED;
    if (!good)
        diag("%s; %zu points", e.text, s.n);
    series_free(&s);
    runs_free(&runs);
    return good;
}

/* One writer, killed after it was looked at a number of times. */
static bool kill_one(int looks, bool wait_for_points, bool resume,
                     int64_t *count)
{
    const pid_t pid = fork();
    struct err e = { 0 };
    bool good = true;

    if (pid == 0)
        write_on();
    if (pid < 0)
        return false;
    while (wait_for_points && good && !has_points())
        good = waitpid(pid, NULL, WNOHANG) == 0;
    for (int i = 0; i < looks && good; i++)
        good = is_whole("while it writes");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    good = good && is_whole("after the kill") && is_unbroken(count);
    if (resume)
        good = good && goes_on() && is_whole("after it went on");
    path_remove(root, &e);
    return good;
}

static void kills(int times)
{
    unsigned seed = 1;
    int64_t count = 0;
    int good = 0;

    for (int i = 0; i < times; i++) {
        seed = seed * 1103515245u + 12345u;
        good += kill_one((int)(seed >> 16) % 16, i % 5 > 0, i % 3 == 0, &count);
    }
    ok(good == times, "%d kills leave no partial line and no broken run",
       times);
    ok(count > 200 * times, "%lld points were written before the kills",
       (long long)count);
}

static void begin_one(int ready)
{
    struct run_conf c = { .root = root,
                          .experiment = "new",
                          .no_provenance = true };
    struct err e = { 0 };
    struct run *run;
    char c1;

    if (read(ready, &c1, 1) != 0) /* the end of the file is the start */
        _exit(1);
    if (run_begin(&run, &c, &e) < 0) {
        diag("%s", e.text);
        _exit(1);
    }
    run_metric(run, "loss", 1, 0.5);
    if (run_end(run, RUN_FINISHED, &e) < 0) {
        diag("%s", e.text);
        _exit(1);
    }
    _exit(0);
}

static void many(void)
{
    struct runs runs = { 0 };
    struct experiments all = { 0 };
    struct err e = { 0 };
    bool seen[WRITERS + 1] = { false };
    int pipes[2], good = 0, names = 0;

    if (pipe(pipes) < 0)
        return;
    fflush(stdout);
    for (int i = 0; i < WRITERS; i++) {
        if (fork() == 0) {
            close(pipes[1]);
            begin_one(pipes[0]);
        }
    }
    close(pipes[1]);
    close(pipes[0]);
    for (int i = 0; i < WRITERS; i++) {
        int status;

        good += wait(&status) > 0 && status == 0;
    }
    ok(good == WRITERS, "%d writers begin and end at once", good);
    if (runs_load(&runs, root, 0, &e) < 0 ||
        experiments_load(&all, root, PATH_NO_LINKS, &e) < 0)
        diag("%s", e.text);
    ok(runs.n == WRITERS, "all %zu runs of the writers are listed", runs.n);
    ok(all.n == 2, "all runs are in one experiment besides Default (%zu)",
       all.n);
    for (size_t i = 0; i < runs.n; i++) {
        const long n = strtol(runs.run[i].name + 3, NULL, 10);

        if (n >= 1 && n <= WRITERS && !seen[n] && !runs.run[i].damage &&
            strcmp(runs.run[i].experiment, "new") == 0 &&
            runs.run[i].n_metrics == 1) {
            seen[n] = true;
            names++;
        }
    }
    ok(names == WRITERS, "the runs are called run1 to run%d, each once", names);
    experiments_free(&all);
    runs_free(&runs);
}

int main(void)
{
    char folder[] = "/tmp/gtrack-crash.XXXXXX";
    struct err e = { 0 };

    if (!mkdtemp(folder))
        return 1;
    setenv("GTRACK_CACHE", "", 1);
    root = path_join(folder, "mlruns");
    many();
    path_remove(root, &e);
    kills(getenv("GT_LONG") ? 1000 : 50);
    path_remove(folder, &e);
    free(root);
    return done_testing();
}
