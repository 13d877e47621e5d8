/*
 * store - measure how fast runs are written, listed and read
 *
 * usage: store make DIR RUNS POINTS    RUNS runs of 10 parameters and 10
 *                                      metrics of POINTS points
 *        store log DIR CALLS           log 10 metrics per call
 *        store list DIR TIMES          load all runs, filter and sort
 *        store stat DIR TIMES          look at the folder of each run
 *        store read DIR TIMES          read the longest history of the last run
 *
 * Prints lines of "WHAT<tab>NUMBER<tab>UNIT" for scripts.
 */
#include "config.h"
#include "common/clock.h"
#include "common/num.h"
#include "store/query/filter.h"
#include "store/read/runs.h"
#include "store/write/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { METRICS = 10, PARAMS = 10 };

static const char *const names[METRICS] = {
    "train/loss",   "train/grad_norm", "train/lr", "train/tokens", "valid/loss",
    "perf/step_ms", "perf/tokens_ps",  "perf/mfu", "gpu/memory",   "gpu/power",
};

static int fail(const struct err *e)
{
    fprintf(stderr, "%s\n", e->text);
    return 1;
}

static void fill(struct run_point p[METRICS], int64_t run, int64_t step)
{
    for (int i = 0; i < METRICS; i++)
        p[i] = (struct run_point){
            names[i],
            (double)(float)(4.0 / (1 + 0.001 * (double)(step + i)) +
                            0.01 * (double)run),
        };
}

static int make_one(const char *root, int64_t i, int64_t points, struct err *e)
{
    struct run_conf c = { .root = root,
                          .experiment = "bench",
                          .no_provenance = true,
                          .flush_secs = 60 };
    struct run_point p[METRICS];
    struct run *run;

    if (run_begin(&run, &c, e) < 0)
        return -1;
    for (int k = 0; k < PARAMS; k++) {
        char key[32];

        snprintf(key, sizeof key, "optim.param%d", k);
        run_paramf(run, key, "%" PRId64, i * (k + 1) % 7);
    }
    for (int64_t step = 0; step < points; step++) {
        fill(p, i, step);
        run_metrics(run, step, p, METRICS);
    }
    return run_end(run, RUN_FINISHED, e);
}

static int make(const char *root, int64_t runs, int64_t points, struct err *e)
{
    for (int64_t i = 0; i < runs; i++)
        if (make_one(root, i, points, e) < 0)
            return -1;
    return 0;
}

static int by_double(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The caller's time of each call, and the time until all points are written. */
static int log_calls(const char *root, int64_t calls, struct err *e)
{
    struct run_conf c = { .root = root,
                          .experiment = "bench",
                          .no_provenance = true };
    double *took = calloc((size_t)calls, sizeof *took);
    struct run_point p[METRICS];
    double start, end;
    struct run *run;

    if (!took || run_begin(&run, &c, e) < 0)
        return -1;
    fill(p, 0, 0);
    start = clock_mono();
    for (int64_t i = 0; i < calls; i++) {
        const double from = clock_mono();

        p[i % METRICS].value = (double)(float)(1.0 / (double)(i + 1));
        run_metrics(run, i, p, METRICS);
        took[i] = clock_mono() - from;
    }
    end = clock_mono();
    if (run_end(run, RUN_FINISHED, e) < 0)
        return -1;
    printf("log, all calls\t%.3f\tus/call\n",
           (end - start) / (double)calls * 1e6);
    qsort(took, (size_t)calls, sizeof *took, by_double);
    printf("log, median\t%.3f\tus/call\n", took[calls / 2] * 1e6);
    printf("log, p99\t%.3f\tus/call\n", took[calls * 99 / 100] * 1e6);
    printf("log, to disk\t%.0f\tpoints/s\n",
           (double)(calls * METRICS) / (clock_mono() - start));
    free(took);
    return 0;
}

static int by_loss(const void *a, const void *b)
{
    const struct metric_sum *x = run_info_metric(a, "valid/loss");
    const struct metric_sum *y = run_info_metric(b, "valid/loss");
    const double u = x ? x->last : 0, v = y ? y->last : 0;

    return (u > v) - (u < v);
}

static int list(const char *root, int64_t times, struct err *e)
{
    for (int64_t i = 0; i < times; i++) {
        const double from = clock_mono();
        struct runs runs;
        struct filter *f = filter_parse(
            "metrics.train/loss < 1000 and params.optim.param3 >= 0", e);
        size_t n = 0;

        if (!f || runs_load(&runs, root, 0, e) < 0)
            return -1;
        for (size_t r = 0; r < runs.n; r++)
            n += filter_match(f, &runs.run[r], e) > 0;
        qsort(runs.run, runs.n, sizeof *runs.run, by_loss);
        printf("list %zu of %zu runs\t%.1f\tms\n", n, runs.n,
               (clock_mono() - from) * 1e3);
        runs_free(&runs);
        filter_free(f);
    }
    return 0;
}

/* What the system takes for one of the calls of which a list is made. */
static int stat_folders(const char *root, int64_t times, struct err *e)
{
    struct runs runs;
    struct stat st;

    if (runs_load(&runs, root, 0, e) < 0)
        return -1;
    for (int64_t i = 0; i < times; i++) {
        const double from = clock_mono();

        for (size_t r = 0; r < runs.n; r++)
            stat(runs.run[r].folder, &st);
        printf("stat of %zu folders\t%.2f\tus\n", runs.n,
               (clock_mono() - from) / (double)(runs.n ? runs.n : 1) * 1e6);
    }
    runs_free(&runs);
    return 0;
}

static int read_history(const char *root, int64_t times, struct err *e)
{
    struct runs runs;
    char word[] = "@latest";
    char *words[] = { word };

    if (runs_select(&runs, root, words, 1, LOAD_NO_METRICS, e) < 0)
        return -1;
    for (int64_t i = 0; i < times; i++) {
        const double from = clock_mono();
        struct series s;

        if (series_load(&s, &runs.run[0], names[0], 0, e) < 0)
            return -1;
        printf("read %zu points\t%.1f\tms\n", s.n, (clock_mono() - from) * 1e3);
        series_free(&s);
    }
    runs_free(&runs);
    return 0;
}

int main(int argc, char **argv)
{
    struct err e = { 0 };
    int64_t a = 0, b = 0;
    int ret = -1;

    if (argc < 4 || !num_int(argv[3], &a) ||
        (argc > 4 && !num_int(argv[4], &b))) {
        fprintf(stderr, "usage: store "
                        "make|log|list|stat|read DIR N [POINTS]\n");
        return 2;
    }
    if (strcmp(argv[1], "make") == 0)
        ret = make(argv[2], a, b, &e);
    else if (strcmp(argv[1], "log") == 0)
        ret = log_calls(argv[2], a, &e);
    else if (strcmp(argv[1], "list") == 0)
        ret = list(argv[2], a, &e);
    else if (strcmp(argv[1], "stat") == 0)
        ret = stat_folders(argv[2], a, &e);
    else if (strcmp(argv[1], "read") == 0)
        ret = read_history(argv[2], a, &e);
    return ret < 0 ? fail(&e) : 0;
}
