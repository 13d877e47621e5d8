/*
 * gtrack restore - bring deleted runs back
 */
#include "config.h"

#include "common/log.h"
#include "common/opt.h"
#include "store/write/edit.h"
#include "track/runs/track.h"

static bool dry_run;

static const struct opt restore_opts[] = { TRACK_OPT_ROOT,
                                           TRACK_OPT_DRY_RUN(dry_run),
                                           { 0 } };

static int restore_run(const struct run_info *r, void *unused, struct err *e)
{
    (void)unused;
    if (!dry_run && edit_restore(r, e) < 0)
        return -1;
    log_info("%s %s (%s)", dry_run ? "would restore" : "restored", r->name,
             r->id);
    return 0;
}

static int restore_main(int argc, char **argv, struct err *e)
{
    int ret;

    if (track_check_args(argc, argv, 1, -1, e) < 0)
        return -1;
    ret = track_each(argc, argv, LOAD_ONLY_DELETED | LOAD_ONE_NAMED,
                     restore_run, NULL, e);
    if (ret < 0 && e->kind == ERR_MISSING)
        err_wrap(e, "among the deleted runs");
    return ret;
}

const struct cmd cmd_restore = {
    .name = "restore",
    .args = "RUN|FILTER...",
    .help = "restore deleted runs",
    .opts = restore_opts,
    .confine = track_confine_writer,
    .run = restore_main,
};
