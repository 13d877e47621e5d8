/*
 * gtrack cmd - print a shell command that repeats a run
 */
#include "config.h"
#include "track/cmds.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/pager.h"
#include "store/attempt.h"
#include "track/runs/track.h"

static const struct opt cmd_opts[] = { TRACK_OPT_ROOT, { 0 } };

static int print_command(const struct run_info *r, struct err *e)
{
    const char *command = r->attempt && r->attempt->command
                              ? r->attempt->command
                              : run_info_tag(r, "mlflow.source.name");
    const char *folder = run_info_tag(r, "gtrack.folder");
    const char *commit = run_info_tag(r, "mlflow.source.git.commit");
    const char *dirty = run_info_tag(r, "mlflow.source.git.dirty");
    struct buf b = BUF_INIT;

    if (!command)
        return err_set(e, ERR_MISSING, "run %s has no record of its command",
                       r->name);
    if (folder) {
        buf_str(&b, "cd ");
        buf_shell_word(&b, folder);
        buf_str(&b, " && ");
    }
    if (commit && commit[0] &&
        strspn(commit, "0123456789abcdef") == strlen(commit))
        buf_printf(&b, "git checkout %s && ", commit);
    buf_printf(&b, "%s\n", command);
    if (pager_data(b.s, b.len, e) < 0) {
        buf_clear(&b);
        return -1;
    }
    if (dirty && strcasecmp(dirty, "true") == 0)
        log_info("the work tree had uncommitted changes, which are in the tag "
                 "mlflow.source.git.diff of the run");
    buf_clear(&b);
    return 0;
}

static int cmd_main(int argc, char **argv, struct err *e)
{
    struct runs runs = RUNS_INIT;
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
    .run = cmd_main,
};
