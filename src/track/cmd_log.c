/*
 * gtrack log - record a run from standard input
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/opt.h"
#include "common/sig.h"
#include "store/write/run.h"
#include "track/runs/value_line.h"
#include "track/runs/track.h"

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

static void log_values(struct run *run, const struct value_line *v,
                       int64_t step)
{
    for (size_t i = 0; i < v->n; i++) {
        char *key = xasprintf("%s%s", prefix, v->item[i].key);

        run_metric(run, key, step, v->item[i].value);
        free(key);
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
    struct value_line v = VALUE_LINE_INIT;
    char *line = NULL;
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
        log_values(run, &v, next++);
        *values += v.n;
    }
    if (ferror(in) && !sig_caught())
        ret = err_sys(e, "cannot read standard input after line %zu", *lines);
    free(line);
    value_line_clear(&v);
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
        return err_set(e, ERR_USAGE, "--steal needs --resume");
    if (resume && !argc)
        return err_set(e, ERR_USAGE,
                       "--resume expects the run to resume as an argument");
    if (resume) {
        struct runs one = { 0 };

        if (track_select_one(&one, argv[0], 0, e) < 0)
            return -1;
        ret = run_facts_next_step(&one.run[0], &next, e);
        runs_free(&one);
        if (ret < 0)
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
