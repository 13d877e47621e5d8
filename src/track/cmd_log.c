/*
 * gtrack run, log - record a run by calls or from standard input
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/sig.h"
#include "store/format/meta.h"
#include "store/write/new_run.h"
#include "store/write/run.h"
#include "track/runs/track.h"
#include "track/runs/value_line.h"

/* ---- run ----------------------------------------------------------------- */

static const char *experiment, *name, *parent;
static int status = RUN_FINISHED - RUN_FINISHED;
static struct opt_list params, tags;
static int64_t step = INT64_MIN;

/* The statuses that end a run, from RUN_FINISHED on. */
static const char *const status_words[] = {
    [RUN_FINISHED - RUN_FINISHED] = "finished",
    [RUN_FAILED - RUN_FINISHED] = "failed",
    [RUN_KILLED - RUN_FINISHED] = "killed",
    [RUN_PREEMPTED - RUN_FINISHED] = "preempted",
    [RUN_STOPPED - RUN_FINISHED] = "stopped",
    [RUN_STOPPED - RUN_FINISHED + 1] = NULL,
};

static const struct opt run_opts[] = {
    TRACK_OPT_ROOT,
    { 'e', "experiment", "name", OPT_STRING, &experiment,
      "start: create the run in this experiment (default: Default)" },
    { 0, "name", "name", OPT_STRING, &name,
      "start: give the run this name (default: run1, run2, ...)" },
    { 0, "parent", "run", OPT_STRING, &parent,
      "start: make the new run a child of RUN" },
    { 'p', "param", "key=value", OPT_LIST, &params,
      "start, log: set a parameter; may be given many times" },
    { 't', "tag", "key=value", OPT_LIST, &tags,
      "start, log, end: set a tag; may be given many times" },
    { 's', "step", "number", OPT_LONG, &step,
      "log: log the values at this step (default: the next one)" },
    { 0, "status", "word", OPT_WORD, &status,
      "end: set the status to %s (default: finished)", status_words },
    { 0 }
};

typedef int set_pair_fn(struct stored_run *, const char *, const char *,
                        struct err *);

static int set_pairs(struct stored_run *b, const char *const *words, size_t n,
                     set_pair_fn *set, struct err *e)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    const struct pair *p = track_parse_pairs(&mem, words, n, e);
    int ret = p ? 0 : -1;

    for (; ret == 0 && p->key; p++)
        ret = set(b, p->key, p->value, e);
    return ret;
}

/* Open the run that was prepared for this script, or a new one. */
static int begin_run(struct stored_run *b, const struct run_conf *c,
                     struct err *e)
{
    const char *sweep = getenv("GTRACK_SWEEP_PID");
    struct run_conf handed = { .parent = c->parent };
    AUTO(runs_free) struct runs one = { 0 };

    if (!run_take_handed(&handed))
        return stored_run_create(b, c, e);
    if (track_select_one(&one, handed.resume, LOAD_NO_METRICS, e) < 0 ||
        stored_run_open(b, one.run[0].folder, e) < 0)
        return -1;
    if (sweep)
        num_int(sweep, &b->keeper);
    return 0;
}

static int start_run(struct err *e)
{
    struct run_conf c = { .root = track_store(),
                          .experiment = experiment,
                          .name = name,
                          .source = "gtrack run" };
    AUTO(runs_free) struct runs one = { 0 };
    struct stored_run b;
    AUTO_FREE char *id = NULL;
    int ret = 0;

    if (parent && track_select_one(&one, parent, LOAD_NO_METRICS, e) < 0)
        return -1;
    if (parent)
        c.parent = one.run[0].id;
    if (begin_run(&b, &c, e) < 0)
        return -1;
    id = xstrdup(b.meta.id);
    if (set_pairs(&b, params.item, params.n, stored_run_param, e) < 0 ||
        set_pairs(&b, tags.item, tags.n, stored_run_tag, e) < 0)
        ret = -1;
    ret = stored_run_end(&b, RUN_RUNNING, 0, ret, e);
    if (ret == 0)
        puts(id); /* style: own */
    return ret;
}

/* *next becomes the step after the last one of the run. */
static int open_run(struct stored_run *b, const char *word, int64_t *next,
                    struct err *e)
{
    AUTO(runs_free) struct runs one = { 0 };

    if (track_select_one(&one, word, next ? 0 : LOAD_NO_METRICS, e) < 0 ||
        (next && run_facts_next_step(&one.run[0], next, e) < 0))
        return -1;
    return stored_run_open(b, one.run[0].folder, e);
}

static int log_value(struct stored_run *b, const char *key, const char *value,
                     struct err *e)
{
    struct metric_point point = { clock_wall_ms(), step, 0 };

    if (!num_real(value, &point.value))
        return err_usage(e,
                         "%s expects a number, not '%s'; use --param or --tag "
                         "for text",
                         key, value);
    return stored_run_points(b, key, &point, 1, e);
}

static int log_values(int argc, char **argv, struct err *e)
{
    struct stored_run b;
    int ret = 0;

    if (open_run(&b, argv[0], step == INT64_MIN ? &step : NULL, e) < 0)
        return -1;
    if (set_pairs(&b, (const char *const *)argv + 1, (size_t)argc - 1,
                  log_value, e) < 0 ||
        set_pairs(&b, params.item, params.n, stored_run_param, e) < 0 ||
        set_pairs(&b, tags.item, tags.n, stored_run_tag, e) < 0 ||
        (b.meta.status == RUN_RUNNING && stored_run_beat(&b, e) < 0))
        ret = -1;
    stored_run_close(&b);
    return ret;
}

static int end_run(const char *word, struct err *e)
{
    struct stored_run b;

    if (open_run(&b, word, NULL, e) < 0)
        return -1;
    return stored_run_end(
        &b, (enum run_status)(RUN_FINISHED + status), clock_wall_ms(),
        set_pairs(&b, tags.item, tags.n, stored_run_tag, e), e);
}

static int run_main(int argc, char **argv, struct err *e)
{
    const char *verb = argc ? argv[0] : "";

    if (strcmp(verb, "start") == 0 && argc == 1)
        return start_run(e);
    if (strcmp(verb, "log") == 0 && argc >= 2)
        return log_values(argc - 1, argv + 1, e);
    if (strcmp(verb, "end") == 0 && argc == 2)
        return end_run(argv[1], e);
    return err_usage(e,
                     "usage: gtrack run start, "
                     "gtrack run log RUN KEY=VALUE..., or gtrack run end RUN");
}

const struct cmd cmd_run = {
    .name = "run",
    .args = "start|log|end ...",
    .help = "record a run from a shell script",
    .opts = run_opts,
    .run = run_main,
};

/* ---- log ----------------------------------------------------------------- */

static struct track_new_run new_run;
static const char *prefix = "";
static bool resume, steal;

static const struct opt log_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPTS_NEW_RUN(new_run),
    { 0, "prefix", "text", OPT_STRING, &prefix,
      "put TEXT, such as train/, before the name of each metric" },
    { 0, "resume", NULL, OPT_FLAG, &resume, "resume the existing run RUN" },
    { 0, "steal", NULL, OPT_FLAG, &steal,
      "resume RUN even if another process writes it" },
    { 0 }
};

static void add_values(struct run *run, const struct value_line *v, int64_t at)
{
    for (size_t i = 0; i < v->n; i++) {
        AUTO_FREE char *key = xasprintf("%s%s", prefix, v->item[i].key);

        run_metric(run, key, at, v->item[i].value);
    }
}

/*
 * Read until the end of the input or a signal.  A line without a step is one
 * step after the line before it.  If a resumed run continues from an earlier
 * step, the points from that step on are retracted.
 */
static int read_lines(struct run *run, int64_t next, FILE *in, size_t *lines,
                      size_t *values, struct err *e)
{
    AUTO(value_line_clear) struct value_line v = VALUE_LINE_INIT;
    AUTO_FREE char *line = NULL;
    size_t room = 0;
    int64_t last = next - 1;
    int ret = 0;

    while (!sig_caught() && !run_is_lost(run) &&
           getline(&line, &room, in) >= 0 && !ferror(in)) {
        ++*lines;
        if (!value_line_parse(&v, line))
            continue;
        if (v.step >= 0)
            next = v.step;
        if (next <= last)
            run_rewind(run, next - 1);
        last = -1;
        add_values(run, &v, next++);
        *values += v.n;
    }
    if (ferror(in) && !sig_caught())
        ret = err_sys(e, "cannot read standard input after line %zu", *lines);
    return ret;
}

static int log_main(int argc, char **argv, struct err *e)
{
    struct run_conf c = { .command = "gtrack log" };
    struct run *run;
    size_t lines = 0, values = 0;
    int64_t next = 0;
    int ret;

    if (track_check_args(argc, argv, 0, 1, e) < 0)
        return -1;
    if (steal && !resume)
        return err_usage(e, "--steal needs --resume");
    if (resume && !argc)
        return err_usage(e,
                         "--resume expects the run to resume as an argument");
    if (resume) {
        AUTO(runs_free) struct runs one = { 0 };

        if (track_select_one(&one, argv[0], 0, e) < 0)
            return -1;
        if (run_facts_next_step(&one.run[0], &next, e) < 0)
            return -1;
        c.resume = argv[0];
        c.steal = steal;
    } else {
        c.name = argv[0];
    }
    if (track_begin_run(&run, &c, &new_run, e) < 0)
        return -1;
    log_info("run %s, %s", run_name(run), run_folder(run));
    sig_watch();
    ret = read_lines(run, next, stdin, &lines, &values, e);
    if (ret == 0 && lines && !values)
        log_warn(
            "no line had a value; lines of JSON or key=value are expected");
    if (run_end(run,
                sig_caught() ? RUN_KILLED
                : ret < 0    ? RUN_FAILED
                             : RUN_FINISHED,
                ret < 0 ? ERR_IGNORED : e) < 0 ||
        ret < 0)
        return -1;
    if (sig_caught())
        return err_set(e, ERR_INTERRUPTED, "stopped by a signal");
    return 0;
}

const struct cmd cmd_log = {
    .name = "log",
    .args = "[RUN]",
    .help = "record a run from standard input",
    .opts = log_opts,
    .run = log_main,
};
