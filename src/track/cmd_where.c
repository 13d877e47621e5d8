/*
 * gtrack where - print the folder of a run
 */
#include "config.h"

#include "common/opt.h"
#include "common/output/pager.h"
#include "track/runs/track.h"

static const struct opt where_opts[] = { TRACK_OPT_ROOT, { 0 } };

static int where_main(int argc, char **argv, struct err *e)
{
    struct runs runs = { 0 };
    int ret;

    if (track_check_args(argc, argv, 1, 1, e) < 0 ||
        track_select_one(&runs, argv[0], LOAD_NO_METRICS | LOAD_DELETED, e) < 0)
        return -1;
    ret = pager_print(e, "%s\n", runs.run[0].folder);
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_where = {
    .name = "where",
    .args = "RUN",
    .help = "print the folder of a run",
    .opts = where_opts,
    .confine = track_confine_reader,
    .run = where_main,
};
