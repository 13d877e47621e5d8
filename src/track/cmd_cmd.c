/*
 * gtrack cmd - print a shell command that repeats a run
 */
#include "config.h"

#include <strings.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "track/runs/track.h"

static const struct opt cmd_opts[] = { TRACK_OPT_ROOT, { 0 } };

static int print_command(const struct run_info *r, struct err *e)
{
    const char *dirty = run_info_tag(r, "mlflow.source.git.dirty");
    struct buf b = BUF_INIT;
    int ret;

    if (!run_facts_command(&b, r))
        return err_set(e, ERR_MISSING, "run %s has no record of its command",
                       r->name);
    buf_char(&b, '\n');
    ret = pager_data(b.s, b.len, e);
    buf_clear(&b);
    if (ret == 0 && dirty && strcasecmp(dirty, "true") == 0)
        log_info("the work tree had uncommitted changes, which are in the tag "
                 "mlflow.source.git.diff of the run");
    return ret;
}

static int cmd_main(int argc, char **argv, struct err *e)
{
    struct runs runs = { 0 };
    int ret;

    if (track_check_args(argc, argv, 0, 1, e) < 0 ||
        track_select_one(&runs, argv[0], LOAD_NO_METRICS | LOAD_DELETED, e) < 0)
        return -1;
    ret = print_command(runs.run, e);
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_cmd = {
    .name = "cmd",
    .args = "[RUN]",
    .help = "print a shell command that repeats a run",
    .opts = cmd_opts,
    .confine = track_confine_reader,
    .run = cmd_main,
};
