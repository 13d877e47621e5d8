/*
 * gtrack tail - print the last steps of a run, and follow it
 */
#include "config.h"

#include <stdio.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "common/sig.h"
#include "common/utf8.h"
#include "track/runs/column.h"
#include "track/runs/track.h"

static bool follow;
static int lines = 10;
static double every = 1;

static const struct opt tail_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    { 'f', "follow", NULL, OPT_FLAG, &follow,
      "keep printing new steps until the run ends" },
    { 'n', "lines", "count", OPT_INT, &lines,
      "start with the last COUNT lines (default: 10)", .range = OPT_FROM(0) },
    { 0, "every", "time", OPT_SECS, &every,
      "with --follow, look for new steps at this interval (default: 1s)",
      .range = OPT_FROM(0.05) },
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

/* The metrics that are printed, and the last step that was printed of each. */
struct tail {
    struct columns shown;
    int64_t *last;
    size_t room;
};

/* Print this metric too, unless it is printed already. */
static void add_metric(struct tail *t, const char *key)
{
    const size_t before = t->shown.n;

    columns_add(&t->shown, COLUMN_METRIC, key);
    if (t->shown.n == before)
        return;
    GROW(t->last, before, t->room);
    t->last[before] = INT64_MIN;
}

/* Parse the name of a metric.  With `may_come`, a metric that the run does not
 * have yet is passed over. */
static int parse_metric(struct columns *c, const char *word,
                        const struct runs *runs, bool may_come, struct err *e)
{
    static const struct runs no_runs = { 0 };
    AUTO(columns_clear) struct columns any = { 0 };
    struct err missing = { 0 };
    int ret = columns_parse(c, word, runs, &missing);

    /* without runs, every name is accepted */
    if (ret < 0 && may_come)
        ret = columns_parse(&any, word, &no_runs, e);
    else if (ret < 0)
        *e = missing;
    return ret;
}

/* Add the metrics that the words name, or the default ones, as far as the run
 * has them now.  While it runs, others may come. */
static int add_metrics(struct tail *t, const struct runs *runs, int n,
                       char **words, struct err *e)
{
    const bool may_come = follow && runs->run[0].status == RUN_RUNNING;
    AUTO(columns_clear) struct columns now = { 0 };
    int ret = 0;

    for (int i = 0; ret == 0 && i < n; i++)
        ret = parse_metric(&now, words[i], runs, may_come, e);
    if (n == 0)
        auto_columns_some(&now, runs);
    for (size_t i = 0; ret == 0 && i < now.n; i++) {
        if (now.item[i].kind != COLUMN_METRIC)
            ret = err_usage(e, "%s is not a metric", now.item[i].title);
        else
            add_metric(t, now.item[i].key);
    }
    return ret;
}

/* Print the lines of new points, at most `most` of them. */
static void print_new(struct tail *t, const struct run_info *r, int64_t most)
{
    struct tail_points all = { NULL, 0, 0 };
    AUTO(buf_clear) struct buf key = BUF_INIT;
    int64_t steps = 0;
    size_t from;

    for (size_t j = 0; j < t->shown.n; j++) {
        const struct series_part part = { t->last[j], INT64_MAX,
                                          most > 0 ? most : 1 };
        AUTO(series_free) struct series s = { 0 };

        if (series_load_part(&s, r, t->shown.item[j].key, &part, 0,
                             ERR_IGNORED) < 0)
            continue;
        for (size_t i = 0; i < s.n; i++) {
            if (s.step[i] <= t->last[j])
                continue;
            APPEND(all.item, all.n, all.room) =
                (struct tail_point){ s.step[i], j, s.value[i] };
        }
        if (s.n && s.step[s.n - 1] > t->last[j])
            t->last[j] = s.step[s.n - 1];
    }
    SORT(all.item, all.n, by_step);
    from = all.n;
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
            pager_print(ERR_IGNORED, "%sstep=%lld", i == from ? "" : "\n",
                        (long long)x->step);
        num_shortest(text, x->value);
        buf_trim(&key, 0);
        utf8_visible(&key, t->shown.item[x->column].key);
        printf(" %s=%s", key.s, text); /* style: own */
    }
    if (all.n > from)
        putchar('\n');
    fflush(stdout);
    free(all.item);
}

/* Load the run again, with what it has recorded by now. */
static int reload_run(struct runs *runs, struct err *e)
{
    AUTO_FREE char *id = xstrdup(runs->run[0].id),
                   *name = xstrdup(runs->run[0].name);
    int ret;

    runs_free(runs);
    ret = track_select_one(runs, id, 0, e);
    if (ret < 0 && e->kind == ERR_MISSING)
        err_set(e, ERR_MISSING, "run %s was removed", name);
    return ret;
}

/* Print the last steps and, with --follow, what is new after each pause, and
 * once more after the run has ended. */
static int tail_metrics(struct runs *runs, int n, char **words, struct err *e)
{
    struct tail t = { { 0 }, NULL, 0 };
    int ret = add_metrics(&t, runs, n, words, e);

    if (ret == 0)
        print_new(&t, &runs->run[0], lines);
    while (ret == 0 && follow && runs->run[0].status == RUN_RUNNING &&
           !sig_caught()) {
        clock_pause(every);
        ret = reload_run(runs, e);
        if (ret == 0)
            ret = add_metrics(&t, runs, n, words, e);
        if (ret == 0)
            print_new(&t, &runs->run[0], INT64_MAX);
    }
    columns_clear(&t.shown);
    free(t.last);
    return ret;
}

static int tail_main(int argc, char **argv, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };

    if (track_select_one(&runs, argv[0], 0, e) < 0)
        return -1;
    sig_watch();
    return tail_metrics(&runs, argc ? argc - 1 : 0, argv + 1, e);
}

const struct cmd cmd_tail = {
    .name = "tail",
    .args = "[RUN [METRIC]...]",
    .help = "print the last steps of a run, and follow it",
    .opts = tail_opts,
    .confine = track_confine_reader,
    .run = tail_main,
};
