#include "config.h"
#include "store/write/watcher.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/path.h"
#include "common/spawn.h"

/* A run is in ROOT/EXPERIMENT/RUN. */
static int start_alert(const char *program, const char *folder, const char *id,
                       struct err *e)
{
    char *experiment = path_parent(folder), *root = path_parent(experiment);
    const char *const argv[] = { program,  "alert", "--quiet", "--detach",
                                 "--root", root,    id,        NULL };
    struct buf out = BUF_INIT, words = BUF_INIT;
    struct spawn s = { .out = &out, .words = &words, .secs = 10 };
    const int ret = spawn_run(argv, &s, e);

    buf_clear(&out);
    buf_clear(&words);
    free(root);
    free(experiment);
    return ret;
}

void watcher_start(const char *folder, const char *id)
{
    const char *file = getenv("GTRACK_ALERTS");
    struct err e = ERR_INIT;
    char *program;

    if (!file || !*file)
        return;
    program = spawn_find("gtrack", &e);
    if (!program || start_alert(program, folder, id, &e) < 0)
        log_warn("no alerts are raised for this run: %s", e.text);
    free(program);
}
