#include "config.h"
#include "track/cmds.h"
#include "track/runs/track.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/num.h"
#include "store/bulk.h"
#include "store/meta.h"

static const char *experiment, *name, *parent, *status_word = "finished";
static struct opt_list params, tags;
static int64_t step = INT64_MIN;

static const struct opt run_opts[] = {
    TRACK_OPTS,
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
    { 0, "status", "word", OPT_STRING, &status_word,
      "end: set the status to finished, failed, killed or preempted (default: "
      "finished)" },
    { 0 }
};

typedef int put_pair_fn(struct bulk *, const char *, const char *,
                        struct err *);

static int put_pairs(struct bulk *p, const struct opt_list *l, put_pair_fn *put,
                     struct err *e)
{
    for (size_t i = 0; i < l->n; i++) {
        const char *value;
        char *key;
        int ret;

        if (track_apart(l->item[i], &key, &value, e) < 0)
            return -1;
        ret = put(p, key, value, e);
        free(key);
        if (ret < 0)
            return -1;
    }
    return 0;
}

static int start(struct err *e)
{
    struct bulk_conf c = { .root = track_store(),
                           .experiment = experiment,
                           .name = name,
                           .source = "gtrack run",
                           .running = true };
    struct runs one = RUNS_INIT;
    struct bulk p;
    char *id;
    int ret;

    if (parent && track_one(&one, parent, LOAD_NO_METRICS, e) < 0)
        return -1;
    if (parent)
        c.parent = one.run[0].id;
    ret = bulk_new(&p, &c, e);
    runs_free(&one);
    if (ret < 0)
        return -1;
    id = xstrdup(p.id);
    if (put_pairs(&p, &params, bulk_param, e) < 0 ||
        put_pairs(&p, &tags, bulk_tag, e) < 0)
        ret = -1;
    ret = bulk_end(&p, RUN_RUNNING, 0, ret, e);
    if (ret == 0)
        puts(id);
    free(id);
    return ret;
}

/* *next is the step after the last that the run has. */
static int open_run(struct bulk *p, const char *word, int64_t *next,
                    struct err *e)
{
    struct runs one = RUNS_INIT;
    int ret;

    if (track_one(&one, word, next ? 0 : LOAD_NO_METRICS, e) < 0)
        return -1;
    if (next)
        *next = track_last_step(&one.run[0]) + 1;
    ret = bulk_open(p, one.run[0].folder, e);
    runs_free(&one);
    return ret;
}

static int log_values(int argc, char **argv, struct err *e)
{
    const bool given = step != INT64_MIN;
    struct bulk p;
    int64_t next = step;
    int ret = 0;

    if (open_run(&p, argv[0], given ? NULL : &next, e) < 0)
        return -1;
    for (int i = 1; i < argc && ret == 0; i++) {
        struct point point = { clock_wall_ms(), next, 0 };
        const char *value;
        char *key;

        ret = track_apart(argv[i], &key, &value, e);
        if (ret < 0)
            break;
        if (!num_real(value, &point.value))
            ret = err_set(e, ERR_USAGE,
                          "'%s' is no number, so %s is no "
                          "metric; --param and --tag keep texts",
                          value, key);
        else
            ret = bulk_points(&p, key, &point, 1, e);
        free(key);
    }
    if (ret == 0 && (put_pairs(&p, &params, bulk_param, e) < 0 ||
                     put_pairs(&p, &tags, bulk_tag, e) < 0 ||
                     (p.meta->status == RUN_RUNNING && bulk_beat(&p, e) < 0)))
        ret = -1;
    bulk_close(&p);
    return ret;
}

static int end(const char *word, struct err *e)
{
    static const enum run_status ends[] = { RUN_FINISHED, RUN_FAILED,
                                            RUN_KILLED, RUN_PREEMPTED };
    struct bulk p;
    int status = 0;

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (strcasecmp(status_word, run_status_word(ends[i])) == 0)
            status = (int)ends[i];
    if (!status)
        return err_set(e, ERR_USAGE,
                       "--status wants finished, failed, killed "
                       "or preempted, not '%s'",
                       status_word);
    if (open_run(&p, word, NULL, e) < 0)
        return -1;
    return bulk_end(&p, (enum run_status)status, clock_wall_ms(),
                    put_pairs(&p, &tags, bulk_tag, e), e);
}

static int run_main(int argc, char **argv, struct err *e)
{
    const char *verb = argc ? argv[0] : "";

    if (strcmp(verb, "start") == 0 && argc == 1)
        return start(e);
    if (strcmp(verb, "log") == 0 && argc >= 2)
        return log_values(argc - 1, argv + 1, e);
    if (strcmp(verb, "end") == 0 && argc == 2)
        return end(argv[1], e);
    return err_set(e, ERR_USAGE,
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
