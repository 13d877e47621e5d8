/*
 * gtrack rm - mark runs as deleted
 *
 * Their files stay: `gtrack restore` brings the runs back until `gtrack gc`
 * removes them.
 */
#include "config.h"

#include "common/log.h"
#include "common/opt.h"
#include "store/write/edit.h"
#include "track/runs/track.h"

static bool dry_run;

static const struct opt rm_opts[] = { TRACK_OPT_ROOT,
                                      TRACK_OPT_DRY_RUN(dry_run),
                                      { 0 } };

static int delete_run(const struct run_info *r, void *unused, struct err *e)
{
    (void)unused;
    if (!dry_run && edit_delete(r, e) < 0)
        return -1;
    log_info("%s %s (%s)", dry_run ? "would delete" : "deleted", r->name,
             r->id);
    return 0;
}

static int rm_main(int argc, char **argv, struct err *e)
{
    if (track_check_args(argc, argv, 1, -1, e) < 0 ||
        track_each(argc, argv, LOAD_ONE_NAMED | (dry_run ? 0 : LOAD_AWAIT),
                   delete_run, NULL, e) < 0)
        return -1;
    if (!dry_run)
        log_info("use 'gtrack restore' to bring deleted runs back, and "
                 "'gtrack gc' to remove their files");
    return 0;
}

const struct cmd cmd_rm = {
    .name = "rm",
    .args = "RUN|FILTER...",
    .help = "mark runs as deleted",
    .opts = rm_opts,
    .confine = track_confine_writer,
    .run = rm_main,
};
