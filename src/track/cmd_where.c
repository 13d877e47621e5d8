#include "config.h"
#include "track/cmds.h"
#include "track/runs/track.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/path.h"
#include "store/store.h"
#include "track/runs/file_tree.h"

static const struct opt where_opts[] = { TRACK_OPTS, { 0 } };

/* A command for a shell, with the store's path in its place. */
static void line(const char *before, const char *path, const char *after)
{
    struct buf b = BUF_INIT;

    buf_shell_word(&b, path);
    printf("    %s%s%s\n", before, b.s, after);
    buf_clear(&b);
}

static int where_run(const char *word, struct err *e)
{
    struct runs runs = RUNS_INIT;

    if (track_one(&runs, word, LOAD_NO_METRICS | LOAD_DELETED, e) < 0)
        return -1;
    puts(runs.run[0].folder);
    runs_free(&runs);
    return 0;
}

static int where_main(int argc, char **argv, struct err *e)
{
    char *path;

    if (track_words(argc, 0, 1, "where [RUN]", e) < 0)
        return -1;
    if (argc)
        return where_run(argv[0], e);
    if (!path_is_folder(track_store()))
        return err_set(e, ERR_MISSING, "there is no store %s", track_store());
    path = store_absolute(track_store());
    printf("The store is %s, in the layout of MLflow's file store.\n\n", path);
    puts("To look at it in MLflow's user interface:");
    line("MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri ", path,
         "");
    puts("(MLflow 3.13 and later refuse a file store without that variable; "
         "older\nones do not mind it.  A table of runs is at "
         "http://localhost:5000/\n#/experiments/EXPERIMENT-ID/runs.)\n");
    puts("To convert it into a database of MLflow's, once (MLflow 3.10 and "
         "later):");
    line("mlflow migrate-filestore --source ", path,
         " --target sqlite:///mlflow.db");
    puts("    mlflow ui --backend-store-uri sqlite:///mlflow.db\n");
    puts("To send runs to an MLflow server, any version, also while they "
         "run:");
    line("gtrack push --root ", path, " --to mlflow http://HOST:5000");
    puts("\nTo send them to Weights & Biases:");
    line("gtrack push --root ", path, " --to wandb");
    free(path);
    return 0;
}

/* ---- du ---- */

static struct table_style style;
static bool by_run;

static const struct opt du_opts[] = {
    TRACK_OPTS,
    { 0, "runs", NULL, OPT_FLAG, &by_run,
      "print one row per run, the largest first" },
    TABLE_OPTS(style),
    { 0 }
};

struct use {
    const char *name, *id;
    int64_t runs, files, metrics, artifacts, other;
};

static int64_t use_bytes(const struct use *u)
{
    return u->metrics + u->artifacts + u->other;
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = use_bytes(a), y = use_bytes(b);

    return (x < y) - (x > y);
}

static int measure(const struct run_info *r, struct use *u, struct err *e)
{
    struct files f;

    if (files_list(&f, r->folder, e) < 0)
        return -1;
    for (size_t i = 0; i < f.n; i++) {
        const struct files_item *x = &f.item[i];

        u->files++;
        if (strncmp(x->path, "metrics/", 8) == 0)
            u->metrics += x->size;
        else if (strncmp(x->path, "artifacts/", 10) == 0)
            u->artifacts += x->size;
        else
            u->other += x->size;
    }
    u->runs++;
    files_clear(&f);
    return 0;
}

static void put_use(struct table *t, const struct use *u)
{
    table_text(t, u->name);
    table_text(t, u->id);
    if (!by_run)
        table_int(t, u->runs);
    table_int(t, u->files);
    table_bytes(t, u->metrics);
    table_bytes(t, u->artifacts);
    table_bytes(t, u->other);
    table_bytes(t, use_bytes(u));
}

static int du_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.du/1");
    struct runs runs = RUNS_INIT;
    struct use *use = NULL;
    size_t n = 0;
    int ret = -1;

    if (table_form(&style, e) < 0)
        return -1;
    if ((argc ? runs_select(&runs, track_store(), argv, argc,
                            LOAD_DELETED | LOAD_NO_METRICS, e)
              : runs_load(&runs, track_store(), LOAD_DELETED | LOAD_NO_METRICS,
                          e)) < 0)
        return -1;
    use = xcalloc(runs.n, sizeof *use);
    for (size_t i = 0; i < runs.n; i++) {
        const struct run_info *r = &runs.run[i];
        const char *id = by_run ? r->id : r->experiment_id;
        size_t at = 0;

        while (at < n && strcmp(use[at].id, id) != 0)
            at++;
        if (at == n)
            use[n++] = (struct use){
                by_run ? r->name : r->experiment, id, 0, 0, 0, 0, 0
            };
        if (measure(r, &use[at], e) < 0)
            goto out;
    }
    if (n)
        qsort(use, n, sizeof *use, by_size);
    t.schema = by_run ? "gtrack.du-runs/1" : "gtrack.du/1";
    table_column(&t, by_run ? "run" : "experiment");
    table_column(&t, "id");
    if (!by_run)
        table_column(&t, "runs");
    table_column(&t, "files");
    table_column(&t, "metrics");
    table_column(&t, "artifacts");
    table_column(&t, "other");
    table_column(&t, "bytes");
    for (size_t i = 0; i < n; i++)
        put_use(&t, &use[i]);
    ret = table_print(&t, &style, e);

out:
    free(use);
    table_clear(&t);
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_du = {
    .name = "du",
    .args = "[RUN|FILTER]...",
    .help = "print how much disk space runs take",
    .opts = du_opts,
    .run = du_main,
};

const struct cmd cmd_where = {
    .name = "where",
    .args = "[RUN]",
    .help = "print how to open the store in other tools",
    .opts = where_opts,
    .run = where_main,
};
