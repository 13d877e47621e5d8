/*
 * gtrack where - print how to open the store in other tools
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "common/path.h"
#include "store/format/store.h"
#include "track/runs/track.h"

static const struct opt where_opts[] = { TRACK_OPT_ROOT, { 0 } };

/* A line for a shell, with the path of the store in it. */
static void print_line(const char *before, const char *path, const char *after)
{
    struct buf b = BUF_INIT;

    buf_shell_word(&b, path);
    pager_print(ERR_IGNORED, "    %s%s%s\n", before, b.s, after);
    buf_clear(&b);
}

static int print_store(struct err *e)
{
    char *path;

    if (!path_is_folder(track_store()))
        return err_set(e, ERR_MISSING, "there is no store %s", track_store());
    path = store_absolute(track_store());
    if (pager_print(e,
                    "The store is %s, in the layout of MLflow's file "
                    "store.\n\n",
                    path) < 0)
        return -1;
    puts("To view it in MLflow's user interface:");
    print_line("MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri ",
               path, "");
    puts("(MLflow 3.13 and later refuse a file store without that variable; "
         "older\nversions ignore it.  The table of runs is at\n"
         "http://localhost:5000/#/experiments/EXPERIMENT-ID/runs.)\n");
    puts("To convert it to a database of MLflow, once (MLflow 3.10 and "
         "later):");
    print_line("mlflow migrate-filestore --source ", path,
               " --target sqlite:///mlflow.db");
    puts("    mlflow ui --backend-store-uri sqlite:///mlflow.db\n");
    puts("To send runs to an MLflow server of any version, also while they "
         "are running:");
    print_line("gtrack push --root ", path, " --to mlflow http://HOST:5000");
    puts("\nTo send them to Weights & Biases:");
    print_line("gtrack push --root ", path, " --to wandb");
    free(path);
    return 0;
}

static int where_main(int argc, char **argv, struct err *e)
{
    struct runs runs = { 0 };
    int ret;

    if (track_check_args(argc, argv, 0, 1, e) < 0)
        return -1;
    if (argc == 0)
        return print_store(e);
    if (track_select_one(&runs, argv[0], LOAD_NO_METRICS | LOAD_DELETED, e) < 0)
        return -1;
    ret = pager_print(e, "%s\n", runs.run[0].folder);
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_where = {
    .name = "where",
    .args = "[RUN]",
    .help = "print how to open the store in other tools",
    .opts = where_opts,
    .confine = track_confine_reader,
    .run = where_main,
};
