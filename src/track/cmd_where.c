/*
 * gtrack cmd, where - how to repeat a run, and how to open it elsewhere
 */
#include "config.h"

#include <strings.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "common/path.h"
#include "store/format/store.h"
#include "track/runs/track.h"

/* ---- cmd ----------------------------------------------------------------- */

static const struct opt cmd_opts[] = { TRACK_OPT_ROOT, { 0 } };

static int print_command(const struct run_info *r, struct err *e)
{
    const char *dirty = run_info_tag(r, "mlflow.source.git.dirty");
    AUTO(buf_clear) struct buf b = BUF_INIT;
    int ret;

    if (!run_facts_command(&b, r))
        return err_set(e, ERR_MISSING, "run %s has no record of its command",
                       r->name);
    buf_char(&b, '\n');
    ret = pager_data(b.s, b.len, e);
    if (ret == 0 && dirty && strcasecmp(dirty, "true") == 0)
        log_info("the work tree had uncommitted changes, which are in the tag "
                 "mlflow.source.git.diff of the run");
    return ret;
}

static int cmd_main(int argc, char **argv, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };

    if (track_check_args(argc, argv, 0, 1, e) < 0 ||
        track_select_one(&runs, argv[0], LOAD_NO_METRICS | LOAD_DELETED, e) < 0)
        return -1;
    return print_command(runs.run, e);
}

const struct cmd cmd_cmd = {
    .name = "cmd",
    .args = "[RUN]",
    .help = "print a shell command that repeats a run",
    .opts = cmd_opts,
    .confine = track_confine_reader,
    .run = cmd_main,
};

/* ---- where --------------------------------------------------------------- */

static const struct opt where_opts[] = { TRACK_OPT_ROOT, { 0 } };

static int print_store(struct err *e)
{
    AUTO(buf_clear) struct buf word = BUF_INIT; /* the path for a shell */
    AUTO_FREE char *path = NULL;

    if (!path_is_folder(track_store()))
        return err_set(e, ERR_MISSING, "there is no store %s", track_store());
    path = store_absolute(track_store());
    buf_shell_word(&word, path);
    return pager_print(
        e,
        "The store is %s, in the layout of MLflow's file store.\n\n"
        "To view it in MLflow's user interface:\n"
        "    MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri %s\n"
        "(MLflow 3.13 and later refuse a file store without that variable; "
        "older\nversions ignore it.  The table of runs is at\n"
        "http://localhost:5000/#/experiments/EXPERIMENT-ID/runs.)\n\n"
        "To convert it to a database of MLflow, once (MLflow 3.10 and later):\n"
        "    mlflow migrate-filestore --source %s --target "
        "sqlite:///mlflow.db\n"
        "    mlflow ui --backend-store-uri sqlite:///mlflow.db\n\n"
        "To send runs to an MLflow server of any version, also while they are "
        "running:\n    gtrack push --root %s --to mlflow http://HOST:5000\n\n"
        "To send them to Weights & Biases:\n    gtrack push --root %s --to "
        "wandb\n",
        path, word.s, word.s, word.s, word.s);
}

static int where_main(int argc, char **argv, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };

    if (track_check_args(argc, argv, 0, 1, e) < 0)
        return -1;
    if (argc == 0)
        return print_store(e);
    if (track_select_one(&runs, argv[0], LOAD_NO_METRICS | LOAD_DELETED, e) < 0)
        return -1;
    return pager_print(e, "%s\n", runs.run[0].folder);
}

const struct cmd cmd_where = {
    .name = "where",
    .args = "[RUN]",
    .help = "print how to open the store in other tools",
    .opts = where_opts,
    .confine = track_confine_reader,
    .run = where_main,
};
