/*
 * store - what is written is what is read
 */
#include "config.h"
#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "store/format/metric.h"
#include "store/read/runs.h"
#include "store/write/run.h"
#include "t/lib/tap.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *root;

static struct run *begin(const char *experiment, const char *resume)
{
    struct run_conf c = { .root = root,
                          .experiment = experiment,
                          .resume = resume,
                          .command = "prog --flag",
                          .no_provenance = true };
    struct err e = { 0 };
    struct run *run = NULL;

    if (run_begin(&run, &c, &e) < 0)
        diag("%s", e.text);
    return run;
}

static void end(struct run *run, enum run_status status)
{
    struct err e = { 0 };

    if (!ok(run_end(run, status, &e) == 0, "the run ends"))
        diag("%s", e.text);
}

static bool is(const char *got, const char *want)
{
    if (got && strcmp(got, want) == 0)
        return true;
    diag("got %s, want %s", got ? got : "nothing", want);
    return false;
}

static void write_and_read(void)
{
    struct run *run = begin("c4", NULL);
    struct runs runs = { 0 };
    struct series s;
    struct err e = { 0 };
    const struct metric_sum *m;
    const struct run_info *r;
    char word[] = "@latest";
    char *words[] = { word };

    if (!ok(run != NULL, "a run begins"))
        return;
    run_param(run, "optim.lr", "0.0006");
    run_paramf(run, "optim.steps", "%d", 100);
    run_tag(run, "note", "first try\nof two lines");
    for (int step = 1; step <= 1000; step++) {
        const struct run_point points[] = {
            { "train/loss", 10.0 / step },
            { "lr", 0.1 * step },
        };

        run_metrics(run, step, points, 2);
    }
    run_metric(run, "odd", 5, (double)NAN);
    run_metric(run, "odd", 6, -(double)INFINITY);
    run_metric(run, "steps", INT64_MAX, 1);
    run_metric(run, "steps", INT64_MIN, 1);
    end(run, RUN_FINISHED);

    if (!ok(runs_select(&runs, root, words, 1, 0, &e) == 0 && runs.n == 1,
            "the latest run is selected")) {
        diag("%s", e.text);
        return;
    }
    r = &runs.run[0];
    ok(is(r->name, "run1"), "the first run is named run1");
    ok(is(r->experiment, "c4"), "the run belongs to its experiment");
    ok(r->status == RUN_FINISHED && r->end_ms >= r->start_ms && r->start_ms,
       "the run has finished");
    ok(r->damage == NULL, "nothing is damaged: %s", r->damage ? r->damage : "");
    ok(is(run_info_param(r, "optim.lr"), "0.0006") &&
           is(run_info_param(r, "optim.steps"), "100") && r->n_params == 2,
       "the run has its parameters");
    ok(is(run_info_tag(r, "note"), "first try\nof two lines"),
       "the run has its tag");
    ok(is(run_info_tag(r, "mlflow.source.name"), "prog --flag"),
       "the run has its command");
    m = run_info_metric(r, "train/loss");
    ok(m && m->count == 1000 && m->last == 10.0 / 1000 && m->min == m->last &&
           m->max == 10.0 && m->max_step == 1 && m->min_step == 1000 &&
           m->first_step == 1 && m->last_step == 1000,
       "a metric is summarized in one line");
    m = run_info_metric(r, "odd");
    ok(m && m->count == 2 && isinf(m->last) && isinf(m->min) &&
           m->nonfinite == 2,
       "infinite values are summed up and counted");
    m = run_info_metric(r, "steps");
    ok(m && m->count == 2 && m->first_step == INT64_MIN &&
           m->last_step == INT64_MAX,
       "the least and the largest step are read");
    ok(series_load(&s, r, "lr", 0, &e) == 0 && s.n == 1000 &&
           s.step[999] == 1000 && s.value[499] == 0.1 * 500,
       "a series has every step and value");
    series_free(&s);
    ok(series_load(&s, r, "none", 0, &e) < 0 && e.kind == ERR_MISSING,
       "a missing metric is an error: %s", e.text);
    runs_free(&runs);
}

static bool series_is(const struct series *s, int64_t first, size_t n)
{
    bool good = s->n == n;

    for (size_t i = 0; i < s->n; i++)
        good = good && s->step[i] == first + (int64_t)i &&
               s->value[i] == (double)s->step[i];
    return good;
}

/* A part of a long history, whose points come in no order. */
static void load_parts(void)
{
    enum { STEPS = 1 << 17, LITTLE = 1 << 16 };
    static const struct {
        struct series_part part;
        int64_t first;
        size_t n;
        const char *what;
    } cases[] = {
        { { INT64_MIN, INT64_MAX, 3 }, STEPS - 3, 3, "the last steps" },
        { { INT64_MIN, 1000, 2 }, 999, 2, "the last steps before one" },
        { { 70, 72, 0 }, 70, 3, "a range of steps" },
        { { 70, 72, 9 }, 70, 3, "the last steps of a short range" },
        { { STEPS, INT64_MAX, 5 }, 0, 0, "no step" },
    };
    struct run *run = begin("parts", NULL);
    struct runs runs = { 0 };
    struct err e = { 0 };
    char id[33];
    char *words[] = { id };

    snprintf(id, sizeof id, "%s", run_id(run));
    for (int i = 0; i < STEPS; i++)
        run_metric(run, "x", i ^ 0x155, i ^ 0x155);
    end(run, RUN_FINISHED);
    if (!ok(runs_select(&runs, root, words, 1, 0, &e) == 0 && runs.n == 1,
            "a long history is written"))
        return;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct series s;
        const int ret =
            series_load_part(&s, &runs.run[0], "x", &cases[i].part, 0, &e);

        ok(ret == 0 && series_is(&s, cases[i].first, cases[i].n),
           "a part of a history has %s", cases[i].what);
        ok(malloc_usable_size(s.step) <= LITTLE,
           "a part of a history with %s is loaded in little memory",
           cases[i].what);
        series_free(&s);
    }
    runs_free(&runs);
}

/* Does the run count so many points of a metric, and so many retracted ones? */
static bool counts(const struct run_info *r, const char *key, int64_t points,
                   int64_t retracted)
{
    for (size_t i = 0; i < r->n_metrics; i++)
        if (strcmp(r->metrics[i].key, key) == 0)
            return r->metrics[i].count == points &&
                   r->metrics[i].retracted == retracted;
    return false;
}

static void resume(void)
{
    struct run *run = begin("c4", NULL);
    struct runs runs = { 0 };
    struct series s;
    struct err e = { 0 };
    char id[33];
    char *words[] = { id };
    bool good = true;

    snprintf(id, sizeof id, "%s", run_id(run));
    run_metric(run, "system/x", 500, 1);
    for (int step = 1; step <= 212; step++)
        run_metric(run, "loss", step, 1000 + step);
    end(run, RUN_PREEMPTED);
    run = begin("c4", id);
    if (!ok(run && is(run_id(run), id), "a run continues in another attempt"))
        return;
    run_rewind(run, 200);
    for (int step = 201; step <= 210; step++)
        run_metric(run, "loss", step, 2000 + step);
    run_rewind(run, 205);
    run_metric(run, "loss", 206, 3206);
    end(run, RUN_FINISHED);
    ok(runs_select(&runs, root, words, 1, 0, &e) == 0 && runs.n == 1 &&
           runs.run[0].attempts == 2,
       "a continued run has two attempts");
    ok(series_load(&s, &runs.run[0], "loss", 0, &e) == 0 && s.n == 206,
       "a series of two attempts has each step once");
    for (size_t i = 0; i < s.n; i++)
        good = good && s.step[i] == (int64_t)i + 1 &&
               s.value[i] == (double)s.step[i] + (i < 200   ? 1000
                                                  : i < 205 ? 2000
                                                            : 3000);
    ok(good, "the newest attempt of a step wins");
    series_free(&s);
    ok(series_load(&s, &runs.run[0], "loss", LOAD_ALL_ATTEMPTS, &e) == 0 &&
           s.n == 223,
       "a series of all attempts has all points");
    series_free(&s);
    ok(counts(&runs.run[0], "loss", 206, 17),
       "points that were retracted are counted apart");
    ok(series_load(&s, &runs.run[0], "system/x", 0, &e) == 0 && s.n == 1,
       "system metrics have steps of their own");
    series_free(&s);
    runs_free(&runs);
}

static char *metric_file(const char *id, const char *key)
{
    struct runs runs = { 0 };
    struct err e = { 0 };
    char *word = xstrdup(id), *path = NULL;

    if (runs_select(&runs, root, &word, 1, LOAD_NO_METRICS, &e) == 0)
        path = xasprintf("%s/metrics/%s", runs.run[0].folder, key);
    runs_free(&runs);
    free(word);
    return path;
}

/* No line crosses the end of a page, whatever its length; and each is as
 * Python would print it, but for the zeros that widen one. */
static void pages(void)
{
    struct run *run = begin("c4", NULL);
    struct buf b = BUF_INIT;
    struct err e = { 0 };
    char *id = xstrdup(run_id(run)), *path, *next;
    bool whole = true, same = true;
    int64_t step = 0, wide = 0;

    for (int i = 0; i < 6000; i++)
        run_metric(run, "x", i * i * 7, i % 9 ? 1.0 / i : i);
    end(run, RUN_FINISHED);
    path = metric_file(id, "x");
    ok(path && buf_read_file(&b, path, 1 << 24, &e) == 0 && b.len > 40 * 4096,
       "a long metric file is opened");
    for (size_t at = 4096; at < b.len; at += 4096)
        whole = whole && b.s[at - 1] == '\n';
    ok(whole, "every block of a long file ends with a line");
    for (char *line = b.s; *line; line = next, step++) {
        char want[64], repr[NUM_TEXT];

        next = strchr(line, '\n') + 1;
        next[-1] = '\0';
        num_shortest(repr, step % 9 ? 1.0 / (double)step : (double)step);
        snprintf(want, sizeof want, " %s %lld", repr,
                 (long long)(step * step * 7));
        same = same && strlen(line) > strlen(want) &&
               strcmp(strchr(line, ' '), want) == 0;
        wide += line[0] == '0';
    }
    ok(same && step == 6000, "every line of a long file is as written: %lld",
       (long long)step);
    ok(wide > 0 && wide < step / 50,
       "few lines of a long file are widened: %lld", (long long)wide);
    buf_clear(&b);
    free(path);
    free(id);
}

/* What a writer that knew no better left: half a line. */
static void torn(void)
{
    struct run *run = begin("c4", NULL);
    struct runs runs = { 0 };
    struct err e = { 0 };
    char *id = xstrdup(run_id(run)), *word = id, *path;
    FILE *f;

    run_metric(run, "loss", 1, 1.5);
    end(run, RUN_FAILED);
    path = metric_file(id, "loss");
    f = fopen(path, "a");
    fputs("1700000000000 0.2", f);
    fclose(f);
    ok(runs_select(&runs, root, &word, 1, 0, &e) == 0 &&
           run_info_metric(&runs.run[0], "loss")->count == 1 &&
           runs.run[0].damage && strstr(runs.run[0].damage, "torn"),
       "a partial line is no point and is reported: %s",
       runs.n ? runs.run[0].damage : e.text);
    runs_free(&runs);
    run = begin("c4", id);
    run_metric(run, "loss", 2, 2.5);
    end(run, RUN_FINISHED);
    ok(runs_select(&runs, root, &word, 1, 0, &e) == 0 &&
           run_info_metric(&runs.run[0], "loss")->count == 2 &&
           !runs.run[0].damage,
       "the next writer completes a partial line");
    runs_free(&runs);
    free(path);
    free(id);
}

static void count_warning(void *arg, enum log_level level, const char *line)
{
    (void)line;
    *(int *)arg += level == LOG_WARN;
}

/* How far apart neighbours are at most, or -1 if they are out of order. */
/* Nothing else makes this writer write: it would do so in eleven days. */
static void prompt(void)
{
    enum { TRIES = 30000 };
    const struct run_conf c = { .root = root,
                                .experiment = "prompt",
                                .no_provenance = true,
                                .flush_secs = 1e6 };
    const struct run_point p = { "loss", 1 };
    struct err e = { 0 };
    struct run *run = NULL;
    char *path;
    int i = 0;

    if (!ok(run_begin(&run, &c, &e) == 0, "a run that writes rarely begins"))
        return;
    path = path_join(run_folder(run), "metrics/loss");
    run_metrics(run, 1, &p, 1);
    while (access(path, F_OK) < 0 && i++ < TRIES)
        usleep(1000);
    ok(i < TRIES, "the first point after a pause is written at once");
    ok(run_end(run, RUN_FINISHED, &e) == 0, "that run ends: %s", e.text);
    free(path);
}

static int64_t widest_gap(const struct series *s)
{
    int64_t widest = 0;

    for (size_t i = 1; i < s->n; i++) {
        const int64_t gap = s->step[i] - s->step[i - 1];

        if (gap <= 0)
            return -1;
        if (gap > widest)
            widest = gap;
    }
    return widest;
}

/* The store goes away, as a file system may, and comes back in the end. */
static void bounded(void)
{
    enum { STEPS = 300000, MEMORY = 1 << 20 };
    const struct run_conf c = { .root = root,
                                .experiment = "gone",
                                .no_provenance = true,
                                .flush_secs = 0.01,
                                .memory = MEMORY };
    const char *const keys[] = { "a", "b" };
    struct err e = { 0 };
    struct runs runs = { 0 };
    struct run *run = NULL;
    char word[] = "@latest", *words[] = { word };
    char *folder, *away;
    size_t left[2] = { 0, 0 };
    int64_t dropped = 0;
    const char *tag;
    int warnings = 0;

    if (!ok(run_begin(&run, &c, &e) == 0, "a run with little memory begins"))
        return;
    folder = path_join(run_folder(run), "metrics");
    away = path_join(run_folder(run), "away");
    ok(rename(folder, away) == 0 && symlink("/proc/none", folder) == 0,
       "the folder of a run is moved away");
    log_sink(count_warning, &warnings);
    for (int step = 0; step < STEPS; step++) {
        const struct run_point p[] = { { "a", step }, { "b", -step } };

        run_metrics(run, step, p, 2);
        if (step == STEPS / 2)
            run_rewind(run, STEPS);
    }
    ok(run_flush(run, &e) < 0, "flushing a run whose folder is gone fails: %s",
       e.text);
    ok(warnings == 2, "a run whose folder is gone gives two warnings: %d",
       warnings);
    log_sink(NULL, NULL);
    ok(unlink(folder) == 0 && rename(away, folder) == 0,
       "the folder of a run is moved back");
    ok(run_end(run, RUN_FINISHED, &e) < 0 && strstr(e.text, "points"),
       "the end of a run reports what was lost: %s", e.text);
    ok(runs_select(&runs, root, words, 1, 0, &e) == 0 && runs.n == 1,
       "the run with little memory is listed");
    for (int i = 0; i < 2; i++) {
        struct series s = { 0 };

        const int64_t most = STEPS / 1000;

        ok(series_load(&s, &runs.run[0], keys[i], 0, &e) == 0 && s.n > 2,
           "some points of %s were kept", keys[i]);
        ok(s.step[0] < most && s.step[s.n - 1] > STEPS - most,
           "steps from %lld to %lld were kept", (long long)s.step[0],
           (long long)s.step[s.n - 1]);
        ok(widest_gap(&s) > 1 && widest_gap(&s) < most,
           "no gap has more than %lld steps", (long long)widest_gap(&s));
        left[i] = s.n;
        series_free(&s);
    }
    ok((left[0] + left[1]) * sizeof(struct metric_point) < MEMORY,
       "no more points were kept than memory allowed");
    tag = run_info_tag(&runs.run[0], "gtrack.points_dropped");
    ok(tag && num_int(tag, &dropped) &&
           (size_t)dropped + left[0] + left[1] == (size_t)2 * STEPS,
       "the run says how many were given up: %s", tag ? tag : "nothing");
    runs_free(&runs);
    free(away);
    free(folder);
}

/* A run that neither is running nor has ended lasts until its last point. */
static void seconds(void)
{
    struct metric_sum m[] = { { .key = "a", .last_ms = 3000 },
                              { .key = "b", .last_ms = 9000 } };
    const struct run_info r = {
        .start_ms = 1000, .status = RUN_KILLED, .metrics = m, .n_metrics = 2
    };

    ok(run_info_seconds(&r) == 8,
       "the time of a run without an end is that of its last point");
}

int main(void)
{
    char folder[] = "/tmp/gtrack-store.XXXXXX";
    struct err e = { 0 };

    if (!mkdtemp(folder))
        return 1;
    root = path_join(folder, "mlruns");
    write_and_read();
    load_parts();
    resume();
    pages();
    torn();
    prompt();
    bounded();
    seconds();
    path_remove(folder, &e);
    free(root);
    return done_testing();
}
