/*
 * gtrack metrics - print the history of metrics
 */
#include "config.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/num.h"
#include "common/opt.h"
#include "store/format/metric.h"
#include "store/read/runs.h"
#include "track/runs/track.h"

static struct table_style style;
static bool attempts, in_rows;
static int64_t from = INT64_MIN, to = INT64_MAX;
static int last;
static const char *at_text;

static const struct opt metrics_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    { 'A', "attempts", NULL, OPT_FLAG, &attempts,
      "include points that a later attempt has retracted" },
    { 'l', "long", NULL, OPT_FLAG, &in_rows,
      "print one row per point: metric, step, time and value" },
    { 0, "from", "step", OPT_LONG, &from,
      "leave out the steps before this one" },
    { 0, "to", "step", OPT_LONG, &to, "leave out the steps after this one" },
    { 'n', "last", "count", OPT_INT, &last, "print only the last COUNT steps",
      .range = OPT_FROM(0) },
    { 0, "at", "steps", OPT_STRING, &at_text,
      "print the values at these steps, or the last ones before them" },
    TABLE_OPTS(style),
    { 0 }
};

/* Columns that no file has: the time of the run until a step, and from the row
 * before. */
static const char *const times[] = { "elapsed", "took", NULL };

struct metric_history {
    const char *key;
    struct series s;
    size_t at; /* the next point of a merge */
    bool is_time;
};

/* What the rows of a table are of. */
struct metric_rows {
    const struct run_info *run;
    double before; /* the time until the last row */
    int64_t after; /* the step of the last row */
};

struct metric_histories {
    struct metric_history *item;
    size_t n, room;
};

/* Load the metrics of a run that a name or a pattern matches. */
static int load_histories(struct metric_histories *h, const struct run_info *r,
                          const char *word, int flags, struct err *e)
{
    const struct series_part part = { from, to, last };
    struct opt_nearest near = { .word = word };
    size_t found = 0;

    if (opt_find_word(times, word) >= 0 && !run_info_metric(r, word)) {
        struct metric_history clock = { .key = word, .is_time = true };

        if (at_text && series_load(&clock.s, r, "train/loss",
                                   flags | LOAD_MAY_LACK, e) < 0)
            return -1;
        APPEND(h->item, h->n, h->room) = clock;
        return 0;
    }
    for (size_t i = 0; i < r->n_metrics; i++) {
        struct metric_history one = { r->metrics[i].key, { 0 }, 0 };

        if (strcmp(word, one.key) != 0 && fnmatch(word, one.key, 0) != 0)
            continue;
        if (series_load_part(&one.s, r, one.key, &part, flags, e) < 0)
            return -1;
        APPEND(h->item, h->n, h->room) = one;
        found++;
    }
    if (found)
        return 0;
    for (size_t i = 0; i < r->n_metrics; i++)
        opt_nearest_try(&near, r->metrics[i].key);
    err_set(e, ERR_MISSING, "run %s has no metric %s", r->name, word);
    return opt_nearest_add(&near, e);
}

/* What is known of all points, or of those that were chosen. */
static int summarise(struct metric_sum *m, double *mean,
                     const struct run_info *r, struct err *e)
{
    const struct series_part part = { from, to, last };
    const bool is_rate = run_rate_is(m->key),
               some = from != INT64_MIN || to != INT64_MAX || last;
    const char *key = m->key;
    struct metric_summing summing;
    AUTO(series_free) struct series s = { 0 };

    *mean = is_rate && !some ? run_rate(r, m->key, e) : m->mean;
    if (!some)
        return e->kind ? -1 : 0;
    if (series_load_part(&s, r, m->key, &part, 0, e) < 0)
        return -1;
    metric_summing_begin(&summing, m);
    m->key = key;
    for (size_t i = 0; i < s.n; i++)
        metric_summing_add(
            &summing, &(struct metric_point){ s.ms[i], s.step[i], s.value[i] });
    metric_summing_end(&summing);
    *mean = is_rate && !isnan(m->mean)
                ? run_rate_between(r, key, m->first_step - 1, m->last_step, e)
                : m->mean;
    return e->kind ? -1 : 0;
}

static int add_summary(struct table *t, const struct run_info *r, struct err *e)
{
    table_columns(t, "metric", "points", "first_step", "last_step", "last",
                  "min", "min_step", "max", "max_step", "mean", "time", NULL);
    for (size_t i = 0; i < r->n_metrics; i++) {
        struct metric_sum sum = r->metrics[i], *m = &sum;
        double mean;

        if (summarise(m, &mean, r, e) < 0)
            return -1;
        if (m->count == 0)
            continue; /* in the chosen steps */
        table_text(t, m->key);
        table_int(t, m->count);
        table_int(t, m->first_step);
        table_int(t, m->last_step);
        table_real(t, m->last);
        table_real(t, m->min);
        table_int(t, m->min_step);
        table_real(t, m->max);
        table_int(t, m->max_step);
        table_real(t, mean);
        table_time(t, m->last_ms);
    }
    return 0;
}

static void add_long_rows(struct table *t, const struct metric_histories *h)
{
    table_columns(t, "metric", "step", "time", "value", NULL);
    for (size_t i = 0; i < h->n; i++) {
        const struct series *s = &h->item[i].s;

        for (size_t k = 0; k < s->n; k++) {
            table_text(t, h->item[i].key);
            table_int(t, s->step[k]);
            table_time(t, s->ms[k]);
            table_real(t, s->value[k]);
        }
    }
}

/* The lowest next step of all histories; false at the end. */
static bool find_next_step(const struct metric_histories *h, int64_t *step)
{
    bool any = false;

    for (size_t i = 0; i < h->n; i++) {
        const struct metric_history *x = &h->item[i];

        if (x->at < x->s.n && (!any || x->s.step[x->at] < *step)) {
            *step = x->s.step[x->at];
            any = true;
        }
    }
    return any;
}

static void pass_step(struct metric_histories *h, int64_t step)
{
    for (struct metric_history *x = h->item; x < h->item + h->n; x++)
        while (x->at < x->s.n && x->s.step[x->at] == step)
            x->at++;
}

/* Pass over the steps that are not among the last ones of all histories: each
 * history has the last ones of its own. */
static void skip_to_last(struct metric_histories *h)
{
    int64_t step = 0, steps = 0;

    while (find_next_step(h, &step)) {
        pass_step(h, step);
        steps++;
    }
    for (size_t i = 0; i < h->n; i++)
        h->item[i].at = 0;
    for (; steps > last && find_next_step(h, &step); steps--)
        pass_step(h, step);
}

/* Add the values of the points that the histories are about to pass, the last
 * one of several, or else those before. */
static void add_values(struct table *t, struct metric_histories *h,
                       struct metric_rows *rows, int64_t step)
{
    struct err e = { 0 };
    int64_t ms = 0;
    double past;

    for (size_t i = 0; i < h->n; i++) {
        struct metric_history *x = &h->item[i];

        while (x->at < x->s.n && x->s.step[x->at] <= step)
            x->at++;
        if (x->at && x->s.ms[x->at - 1] > ms)
            ms = x->s.ms[x->at - 1];
    }
    past = ms ? run_rate_seconds(rows->run, ms) : 0;
    for (size_t i = 0; i < h->n; i++) {
        const struct metric_history *x = &h->item[i];
        const bool here = x->at && (at_text || x->s.step[x->at - 1] == step);

        if (x->is_time && ms)
            table_secs(t, strcmp(x->key, "took") ? past : past - rows->before);
        else if (here && at_text && run_rate_is(x->key))
            table_real(
                t, run_rate_between(rows->run, x->key, rows->after, step, &e));
        else if (here && !x->is_time)
            table_real(t, x->s.value[x->at - 1]);
        else
            table_none(t);
    }
    if (e.kind)
        log_lack(e.text);
    rows->before = past;
    rows->after = step;
}

/* One row for each step of a list. */
static int add_chosen_rows(struct table *t, struct metric_histories *h,
                           struct metric_rows *rows, struct err *e)
{
    for (const char *at = at_text; at;) {
        const size_t n = strcspn(at, ",");
        AUTO_FREE char *text = xstrndup(at, n);
        int64_t step;

        if (!num_int(text, &step))
            return err_usage(e, "--at expects steps, not '%s'", text);
        for (size_t i = 0; i < h->n; i++)
            h->item[i].at = 0;
        table_int(t, step);
        add_values(t, h, rows, step);
        at = at[n] ? at + n + 1 : NULL;
    }
    return 0;
}

/* One row per step. */
static int add_wide_rows(struct table *t, struct metric_histories *h,
                         const struct run_info *run, struct err *e)
{
    struct metric_rows rows = { .run = run, .after = INT64_MIN };
    int64_t step = 0;

    table_column(t, "step");
    for (size_t i = 0; i < h->n; i++)
        table_column(t, h->item[i].key);
    if (at_text)
        return add_chosen_rows(t, h, &rows, e);
    if (last)
        skip_to_last(h);
    while (find_next_step(h, &step)) {
        table_int(t, step);
        add_values(t, h, &rows, step);
    }
    return 0;
}

static int metrics_main(int argc, char **argv, struct err *e)
{
    AUTO(table_clear) struct table t = TABLE_INIT("gtrack.metrics/1");
    AUTO(runs_free) struct runs runs = { 0 };
    struct metric_histories h = { NULL, 0, 0 };
    const int flags = LOAD_DELETED | (attempts ? LOAD_ALL_ATTEMPTS : 0);
    int ret = -1;

    if (table_form(&style, e) < 0 ||
        track_check_args(argc, argv, 0, -1, e) < 0 ||
        track_select_one(&runs, argv[0], flags, e) < 0)
        return -1;
    if (runs.run[0].unread) {
        err_set(e, ERR_SYSTEM, "run %s could not be read: %s", runs.run[0].name,
                runs.run[0].damage);
        goto out;
    }
    for (int i = 1; i < argc; i++)
        if (load_histories(&h, &runs.run[0], argv[i], flags, e) < 0)
            goto out;
    if (argc < 2 && in_rows && runs.run[0].n_metrics &&
        load_histories(&h, &runs.run[0], "*", flags, e) < 0)
        goto out;
    if (argc < 2 && !in_rows) {
        if (add_summary(&t, &runs.run[0], e) < 0)
            goto out;
    } else if (in_rows) {
        t.schema = "gtrack.metrics-long/1";
        add_long_rows(&t, &h);
    } else {
        t.schema = "gtrack.metrics-wide/1";
        if (add_wide_rows(&t, &h, &runs.run[0], e) < 0)
            goto out;
    }
    ret = table_print(&t, &style, e);

out:
    for (size_t i = 0; i < h.n; i++)
        series_free(&h.item[i].s);
    free(h.item);
    return ret;
}

const struct cmd cmd_metrics = {
    .name = "metrics",
    .args = "[RUN [METRIC]...]",
    .help = "print the history of metrics",
    .opts = metrics_opts,
    .confine = track_confine_reader,
    .run = metrics_main,
};
