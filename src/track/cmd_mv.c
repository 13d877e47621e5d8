/*
 * gtrack mv - rename a run, or move runs to another experiment
 */
#include "config.h"

#include <string.h>

#include "common/log.h"
#include "common/opt.h"
#include "common/save.h"
#include "store/format/meta.h"
#include "store/write/edit.h"
#include "store/write/new_run.h"
#include "track/runs/track.h"

static const char *experiment;

static const struct opt mv_opts[] = { TRACK_OPT_ROOT,
                                      { 'e', "experiment", "name", OPT_STRING,
                                        &experiment,
                                        "move the runs to this experiment" },
                                      { 0 } };

static int move_run(const struct run_info *r, void *unused, struct err *e)
{
    struct stored_run b;
    int ret;

    (void)unused;
    if (strcmp(r->experiment, experiment) == 0)
        return r->status == RUN_RUNNING ? 0
                                        : meta_change(r->folder, NULL, NULL, e);
    if (r->status == RUN_RUNNING)
        return err_set(e, ERR_USAGE,
                       "a run cannot be moved while it is running");
    if (stored_run_open(&b, r->folder, e) < 0)
        return -1;
    ret = stored_run_move(&b, track_store(), experiment, e);
    stored_run_close(&b);
    return ret;
}

/* Several runs may have one name, but then it does not name one of them. */
static void warn_if_shared(const struct runs *all, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++)
        n += strcmp(all->run[i].name, name) == 0;
    if (n > 1)
        log_warn("%zu runs are named %s now", n, name);
}

static int rename_run(char *word, const char *name, struct err *e)
{
    struct runs runs = { 0 }, all = { 0 };
    int ret;

    if (!*name)
        return err_set(e, ERR_USAGE, "the name of a run cannot be empty");
    if (track_select_one(&runs, word, LOAD_NO_METRICS, e) < 0)
        return -1;
    ret = edit_name(&runs.run[0], name, e);
    if (ret < 0)
        err_wrap(e, "run %s", runs.run[0].name);
    runs_free(&runs);
    if (ret == 0 && track_load(&all, 0, NULL, LOAD_NO_METRICS, e) == 0)
        warn_if_shared(&all, name);
    runs_free(&all);
    return ret;
}

static int mv_main(int argc, char **argv, struct err *e)
{
    if (experiment)
        return track_check_args(argc, argv, 1, -1, e) < 0 ||
                       track_each(argc, argv, LOAD_ONE_NAMED | LOAD_AWAIT,
                                  move_run, NULL, e) < 0
                   ? -1
                   : save_sync_all(track_store(), e);
    return track_check_args(argc, argv, 2, 2, e) < 0
               ? -1
               : rename_run(argv[0], argv[1], e);
}

const struct cmd cmd_mv = {
    .name = "mv",
    .args = "RUN NAME | -e EXPERIMENT RUN|FILTER...",
    .help = "rename a run, or move runs to another experiment",
    .opts = mv_opts,
    .confine = track_confine_writer,
    .run = mv_main,
};
