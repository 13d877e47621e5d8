/*
 * gtrack import - import runs from other tools
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "store/format/store.h"
#include "track/import/import.h"
#include "track/runs/file_tree.h"
#include "track/runs/track.h"

/* clang-format off */
enum import_format {
    MLFLOW, SQLITE, TENSORBOARD, WANDB, CSV, JSONL, LLMC, NANOGPT
};

static const char *const format_words[] = {
    [MLFLOW] = "mlflow",           [SQLITE] = "sqlite",
    [TENSORBOARD] = "tensorboard", [WANDB] = "wandb",
    [CSV] = "csv",                 [JSONL] = "jsonl",
    [LLMC] = "llmc",               [NANOGPT] = "nanogpt",
    [NANOGPT + 1] = NULL,
};

static import_fn *const readers[] = {
    [MLFLOW] = import_mlflow,           [SQLITE] = import_sqlite,
    [TENSORBOARD] = import_tensorboard, [WANDB] = import_wandb,
    [CSV] = import_csv,                 [JSONL] = import_jsonl,
    [LLMC] = import_llmc,               [NANOGPT] = import_nanogpt,
};
/* clang-format on */

static int from = -1;
static const char *experiment, *name;

static const struct opt import_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    { 'f', "from", "format", OPT_WORD, &from,
      "read %s (default: recognised from the file)", format_words },
    { 'e', "experiment", "name", OPT_STRING, &experiment,
      "import the runs into this experiment" },
    { 0, "name", "name", OPT_STRING, &name, "give the run this name" },
    { 0 }
};

/* The format of a folder, from the names of its files; -1 if it is unknown. */
static int recognize_folder(const char *folder, struct err *e)
{
    static const struct {
        const char *part;
        enum import_format format;
    } names[] = { { ".wandb", WANDB },
                  { "tfevents", TENSORBOARD },
                  { STORE_META, MLFLOW } };
    AUTO(file_tree_clear) struct file_tree f = { 0 };
    int found = -1;

    if (file_tree_list(&f, folder, NULL, e) < 0)
        return -1;
    for (size_t k = 0; k < 3 && found < 0; k++)
        for (size_t i = 0; i < f.n && found < 0; i++)
            if (strstr(path_name(f.file[i].path), names[k].part))
                found = (int)names[k].format;
    return found;
}

static int recognize_line(const char *line)
{
    long long step;
    char word[16];

    if (strcmp(line, "SQLite format 3") == 0)
        return SQLITE;
    if (strncmp(line, "s:", 2) == 0 &&
        (strstr(line, " tel:") || strstr(line, " trl:") ||
         strstr(line, " hel:") || strstr(line, " eval:")))
        return LLMC;
    if (sscanf(line, "iter %lld: loss", &step) == 1 ||
        ((sscanf(line, "step %lld", &step) == 1 ||
          sscanf(line, "step: %lld", &step) == 1) &&
         strstr(line, "loss")) ||
        (sscanf(line, "%lld %15s", &step, word) == 2 &&
         (strcmp(word, "train") == 0 || strcmp(word, "val") == 0 ||
          strcmp(word, "hella") == 0)))
        return NANOGPT;
    return line[0] == '{' ? JSONL : -1;
}

/* The format of a log, from one of its first lines; -1 if it is unknown. */
static int recognize_log(const char *path, struct err *e)
{
    AUTO(path_fclose) FILE *fp = fopen(path, "re");
    char line[4096];
    int found = -1;

    for (int i = 0; fp && found < 0 && i < 1000; i++) {
        if (!fgets(line, sizeof line, fp))
            break;
        found = recognize_line(line);
    }
    if (!fp || ferror(fp))
        err_sys(e, "cannot read %s", path);
    return found;
}

static int recognize_path(const char *path, struct err *e)
{
    if (path_is_folder(path))
        return recognize_folder(path, e);
    if (str_ends(path, ".wandb"))
        return WANDB;
    if (strstr(path_name(path), "tfevents"))
        return TENSORBOARD;
    if (str_ends(path, ".csv") || str_ends(path, ".tsv"))
        return CSV;
    if (str_ends(path, ".jsonl"))
        return JSONL;
    return recognize_log(path, e);
}

static int import_path(const char *path, struct import *import, struct err *e)
{
    struct stat st;
    int format;

    import->path = path;
    if (stat(path, &st) < 0)
        return errno == ENOENT
                   ? err_set(e, ERR_MISSING, "%s does not exist", path)
                   : err_sys(e, "cannot read %s", path);
    format = from >= 0 ? from : recognize_path(path, e);
    if (e->kind != ERR_NONE)
        return -1;
    if (format < 0)
        return err_input(e, "cannot recognise the format of %s; use --from",
                         path);
    return readers[format](import, e);
}

static int import_main(int argc, char **argv, struct err *e)
{
    struct import import = { .root = track_store(),
                             .experiment = experiment,
                             .name = name,
                             .flags = track_links() };
    char runs[NUM_TEXT], points[NUM_TEXT];
    int ret = 0;

    if (track_check_args(argc, argv, 1, -1, e) < 0)
        return -1;
    for (int i = 0; i < argc && ret == 0; i++)
        ret = import_path(argv[i], &import, e);
    if (import_close(&import, ret < 0 ? ERR_IGNORED : e) < 0)
        ret = -1;
    if (import.runs || import.existing)
        log_info("%s with %s imported, %zu already existed",
                 num_count(runs, (int64_t)import.runs, "run"),
                 num_count(points, (int64_t)import.points, "point"),
                 import.existing);
    return ret;
}

const struct cmd cmd_import = {
    .name = "import",
    .args = "FILE|FOLDER...",
    .help = "import runs from other tools",
    .opts = import_opts,
    .confine = track_confine_writer,
    .run = import_main,
};
