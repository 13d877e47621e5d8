#include "config.h"
#include "track/cmds.h"
#include "track/runs/track.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/path.h"
#include "store/store.h"
#include "track/import/import.h"
#include "track/runs/copy.h"
#include "track/runs/file_tree.h"

static const char *format, *experiment, *name;

static const struct opt import_opts[] = {
    TRACK_OPTS,
    { 'f', "from", "format", OPT_STRING, &format,
      "read mlflow, tensorboard, wandb, csv, jsonl, llmc or nanogpt "
      "(default: recognised from the file)" },
    { 'e', "experiment", "name", OPT_STRING, &experiment,
      "import the runs into this experiment" },
    { 0, "name", "name", OPT_STRING, &name, "give the run this name" },
    { 0 }
};

/* ---- MLflow's file store: runs as they are ---- */

int import_mlflow(struct import_job *job, struct err *e)
{
    struct runs runs = RUNS_INIT;
    struct copies c;
    int ret = runs_load(&runs, job->path, 0, e);

    for (size_t i = 0; i < runs.n && job->experiment; i++)
        runs.run[i].experiment = job->experiment;
    if (ret == 0) {
        ret = copy_runs(&runs, job->root, &c, e);
        job->runs += c.runs;
        job->there += c.there;
        job->points += c.points;
    }
    runs_free(&runs);
    return ret;
}

/* ---- which is it? ---- */

static bool has_file_like(const char *folder, const char *part)
{
    struct files f;
    struct err ignored = ERR_INIT;
    bool found = false;

    if (files_list(&f, folder, &ignored) < 0)
        return false;
    for (size_t i = 0; i < f.n && !found; i++)
        found = strstr(path_name(f.item[i].path), part) != NULL;
    files_clear(&f);
    return found;
}

/* A log tells by one of its first lines whose it is. */
static const char *sniff(const char *path)
{
    FILE *fp = fopen(path, "re");
    const char *found = NULL;
    char line[4096];

    for (int i = 0; fp && !found && i < 1000; i++) {
        long long step;
        char word[16];

        if (!fgets(line, sizeof line, fp))
            break;
        if (strncmp(line, "s:", 2) == 0 &&
            (strstr(line, " tel:") || strstr(line, " trl:") ||
             strstr(line, " hel:")))
            found = "llmc";
        else if (sscanf(line, "iter %lld: loss", &step) == 1 ||
                 (sscanf(line, "step %lld", &step) == 1 &&
                  strstr(line, "loss")) ||
                 (sscanf(line, "%lld %15s", &step, word) == 2 &&
                  (strcmp(word, "train") == 0 || strcmp(word, "val") == 0 ||
                   strcmp(word, "hella") == 0)))
            found = "nanogpt";
        else if (line[0] == '{')
            found = "jsonl";
    }
    if (fp)
        fclose(fp);
    return found;
}

static const char *kind_of(const char *path)
{
    if (path_is_folder(path))
        return has_file_like(path, "tfevents")   ? "tensorboard"
               : has_file_like(path, STORE_META) ? "mlflow"
                                                 : NULL;
    if (str_ends(path, ".wandb"))
        return "wandb";
    if (strstr(path_name(path), "tfevents"))
        return "tensorboard";
    if (str_ends(path, ".csv") || str_ends(path, ".tsv"))
        return "csv";
    if (str_ends(path, ".jsonl"))
        return "jsonl";
    return sniff(path);
}

static int import_one(const char *path, struct import_job *job, struct err *e)
{
    static const struct {
        const char *name;
        import_fn *fn;
    } formats[] = {
        { "mlflow", import_mlflow },   { "tensorboard", import_tensorboard },
        { "wandb", import_wandb },     { "csv", import_csv },
        { "jsonl", import_jsonl },     { "llmc", import_llmc },
        { "nanogpt", import_nanogpt },
    };
    const char *kind = format ? format : kind_of(path);

    job->path = path;
    if (!path_exists(path))
        return err_set(e, ERR_MISSING, "there is no %s", path);
    if (!kind)
        return err_set(e, ERR_INPUT,
                       "%s: cannot tell what it is; --from says "
                       "it",
                       path);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(kind, formats[i].name) == 0)
            return formats[i].fn(job, e);
    return err_set(e, ERR_USAGE,
                   "--from wants mlflow, tensorboard, wandb, "
                   "csv, jsonl, llmc or nanogpt, not '%s'",
                   kind);
}

static int import_main(int argc, char **argv, struct err *e)
{
    struct import_job job = { .root = track_store(),
                              .experiment = experiment,
                              .name = name };
    int ret = 0;

    if (track_words(argc, 1, -1, "import FILE|FOLDER...", e) < 0)
        return -1;
    for (int i = 0; i < argc && ret == 0; i++)
        ret = import_one(argv[i], &job, e);
    if (job.runs || job.there)
        log_info("%zu runs with %zu points imported, %zu were there", job.runs,
                 job.points, job.there);
    return ret;
}

const struct cmd cmd_import = {
    .name = "import",
    .args = "FILE|FOLDER...",
    .help = "import runs from other tools",
    .opts = import_opts,
    .run = import_main,
};
