/*
 * import_mlflow - copy runs from a store of MLflow or gtrack
 */
#include "config.h"
#include "track/import/import.h"

#include "store/load.h"
#include "track/runs/copy.h"

int import_mlflow(struct import *import, struct err *e)
{
    struct runs runs = RUNS_INIT;
    struct copies c;
    int ret = runs_load(&runs, import->path, 0, e);

    for (size_t i = 0; i < runs.n && import->experiment; i++)
        runs.run[i].experiment = import->experiment;
    if (ret == 0) {
        ret = copy_runs(&runs, import->root, &c, e);
        import->runs += c.runs;
        import->existing += c.existing;
        import->points += c.points;
    }
    runs_free(&runs);
    return ret;
}
