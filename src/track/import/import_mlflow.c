/*
 * import_mlflow - copy runs from a store of MLflow or gtrack
 */
#include "config.h"
#include "track/import/import.h"

#include "common/log.h"
#include "common/path.h"
#include "store/read/runs.h"
#include "track/runs/file_tree.h"

static size_t count_entries(const char *folder, const char *name)
{
    AUTO_FREE char *path = path_join(folder, name);
    AUTO(path_list_clear) struct path_list l = { 0 };

    path_list(&l, path, ERR_IGNORED);
    return l.n;
}

/* Models are in the folder of an experiment, or in that of the store. */
static void report_models(const char *root)
{
    AUTO(path_list_clear) struct path_list l = { 0 };
    const size_t registered = count_entries(root, "models");
    size_t logged = 0;

    path_list(&l, root, ERR_IGNORED);
    for (size_t i = 0; i < l.n; i++)
        logged += count_entries(path_listed(&l, i), "models");
    if (logged || registered)
        log_warn("%s: left out: logged model (%zu), registered model (%zu)",
                 root, logged, registered);
}

int import_mlflow(struct import *import, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    struct copies c;
    size_t deleted = 0;
    int ret;

    if (!path_is_folder(import->path))
        return import_sqlite(import, e);
    ret = runs_load(&runs, import->path, import->flags | LOAD_DELETED, e);

    for (size_t i = 0; i < runs.n; i++) {
        deleted += runs.run[i].deleted;
        if (import->experiment)
            runs.run[i].experiment = import->experiment;
    }
    if (deleted)
        log_info("%s: deleted runs (%zu) stay deleted; ls -d lists them",
                 import->path, deleted);
    if (ret == 0) {
        ret = copy_runs(&runs, import->root, &c, e);
        import->runs += c.runs;
        import->existing += c.existing;
        import->points += c.points;
        report_models(import->path);
    }
    return ret;
}
