/*
 * gtrack tail - print the last steps of a run, and follow it
 */
#include "config.h"
#include "track/cmds.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/num.h"
#include "common/sig.h"
#include "track/runs/auto_columns.h"
#include "track/runs/column.h"
#include "track/runs/column_parse.h"
#include "track/runs/track.h"

static bool follow, show_log;
static int lines = 10;
static double every = 1;

static const struct opt tail_opts[] = {
    TRACK_OPT_ROOT,
    { 'f', "follow", NULL, OPT_FLAG, &follow,
      "keep printing new steps until the run ends" },
    { 'n', "lines", "count", OPT_INT, &lines,
      "start with the last COUNT lines (default: 10)" },
    { 'l', "log", NULL, OPT_FLAG, &show_log,
      "print what the program printed instead of metrics" },
    { 0, "every", "time", OPT_SECS, &every,
      "with --follow, look for new steps at this interval (default: 1s)" },
    { 0 }
};

/* A point of a metric; the points of a step make a line. */
struct tail_point {
    int64_t step;
    size_t column;
    double value;
};

struct tail_points {
    struct tail_point *item;
    size_t n, room;
};

static int by_step(const void *a, const void *b)
{
    const struct tail_point *x = a, *y = b;

    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

/* The metrics that words name, or the default ones. */
static int select_metrics(struct columns *c, const struct runs *runs,
                          char **words, int n, struct err *e)
{
    for (int i = 0; i < n; i++)
        if (columns_parse(c, words[i], runs, e) < 0)
            return -1;
    if (n == 0)
        auto_columns_metrics(c, runs, false);
    for (size_t i = 0; i < c->n; i++)
        if (c->item[i].kind != COLUMN_METRIC)
            return err_set(e, ERR_USAGE, "%s is not a metric",
                           c->item[i].title);
    return 0;
}

/* Print the lines of steps after *last, at most `most` of them. */
static void print_new(const struct run_info *r, const struct columns *c,
                      int64_t *last, size_t most)
{
    struct tail_points all = { NULL, 0, 0 };
    size_t from = 0, steps = 0;

    for (size_t j = 0; j < c->n; j++) {
        struct series s;
        struct err ignored = ERR_INIT;

        if (series_load(&s, r, c->item[j].key, 0, &ignored) < 0)
            continue;
        for (size_t i = 0; i < s.n; i++) {
            if (s.step[i] <= *last)
                continue;
            GROW(all.item, all.n, all.room);
            all.item[all.n++] = (struct tail_point){ s.step[i], j, s.value[i] };
        }
        series_free(&s);
    }
    if (all.n)
        qsort(all.item, all.n, sizeof *all.item, by_step);
    for (size_t i = all.n; i-- > 0;) {
        steps += i + 1 == all.n || all.item[i].step != all.item[i + 1].step;
        if (steps > most)
            break;
        from = i;
    }
    for (size_t i = from; i < all.n; i++) {
        const struct tail_point *x = &all.item[i];
        char text[NUM_TEXT];

        if (i == from || x->step != x[-1].step)
            printf("%sstep=%lld", i == from ? "" : "\n", (long long)x->step);
        num_shortest(text, x->value);
        printf(" %s=%s", c->item[x->column].key, text);
        *last = x->step;
    }
    if (all.n > from)
        putchar('\n');
    fflush(stdout);
    free(all.item);
}

/* -- the output of the run ----------------------------------------------- */

static FILE *open_output(const struct run_info *r, struct err *e)
{
    char *path = track_output_path(r);
    FILE *fp = path ? fopen(path, "re") : NULL;

    if (!path)
        err_set(e, ERR_MISSING, "run %s has no record of its output", r->name);
    else if (!fp)
        err_open(e, "cannot read %s", path);
    free(path);
    return fp;
}

/* Seek to the beginning of the last n lines. */
static void skip_to_last(FILE *fp, int n)
{
    char chunk[8192];
    int64_t end, at;
    int found = 0;

    fseeko(fp, 0, SEEK_END);
    end = at = ftello(fp);
    while (at > 0 && found <= n) {
        const int64_t size =
            at < (int64_t)sizeof chunk ? at : (int64_t)sizeof chunk;

        at -= size;
        fseeko(fp, at, SEEK_SET);
        if (fread(chunk, 1, (size_t)size, fp) != (size_t)size)
            break;
        for (int64_t i = size; i-- > 0;) {
            found += chunk[i] == '\n' && at + i + 1 != end;
            if (found == n) {
                fseeko(fp, at + i + 1, SEEK_SET);
                return;
            }
        }
    }
    fseeko(fp, 0, SEEK_SET);
}

static void copy_rest(FILE *fp)
{
    char chunk[8192];
    size_t n;

    clearerr(fp);
    while ((n = fread(chunk, 1, sizeof chunk, fp)) > 0)
        fwrite(chunk, 1, n, stdout);
    fflush(stdout);
}

static enum run_status load_status(const char *id, struct err *e)
{
    struct runs one = RUNS_INIT;
    enum run_status status = RUN_FAILED;

    if (track_select_one(&one, id, LOAD_NO_METRICS, e) == 0)
        status = one.run[0].status;
    runs_free(&one);
    return status;
}

/* Print what is new after each pause, and once more after the run has ended. */
static int follow_run(const struct run_info *r, const struct columns *c,
                      int64_t *last, FILE *log, struct err *e)
{
    bool running = r->status == RUN_RUNNING;

    while (running && !sig_caught()) {
        struct err gone = ERR_INIT;

        poll(NULL, 0, (int)(every * 1000));
        running = load_status(r->id, &gone) == RUN_RUNNING;
        if (gone.kind == ERR_MISSING)
            return err_set(e, ERR_MISSING, "run %s was removed", r->name);
        if (log)
            copy_rest(log);
        else
            print_new(r, c, last, SIZE_MAX);
    }
    return 0;
}

static int tail_main(int argc, char **argv, struct err *e)
{
    struct runs runs = RUNS_INIT;
    struct columns c = COLUMNS_INIT;
    FILE *log = NULL;
    int64_t last = INT64_MIN;
    int ret = -1;

    if (lines < 0)
        return err_set(e, ERR_USAGE, "--lines expects 0 or more, not %d",
                       lines);
    if (every < 0.05)
        return err_set(e, ERR_USAGE, "--every expects 50ms or more, not %gs",
                       every);
    if (track_select_one(&runs, argv[0], 0, e) < 0)
        return -1;
    sig_watch();
    if (show_log) {
        log = open_output(&runs.run[0], e);
        if (!log)
            goto out;
        skip_to_last(log, lines);
        copy_rest(log);
    } else {
        if (select_metrics(&c, &runs, argv + 1, argc ? argc - 1 : 0, e) < 0)
            goto out;
        print_new(&runs.run[0], &c, &last, (size_t)lines);
    }
    ret = follow ? follow_run(&runs.run[0], &c, &last, log, e) : 0;

out:
    if (log)
        fclose(log);
    columns_clear(&c);
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_tail = {
    .name = "tail",
    .args = "[RUN [METRIC]...]",
    .help = "print the last steps of a run, and follow it",
    .opts = tail_opts,
    .run = tail_main,
};
