/*
 * gtrack diff - print the differences between two runs
 */
#include "config.h"

#include "common/log.h"
#include "common/opt.h"
#include "track/runs/compare_table.h"
#include "track/runs/track.h"

static struct table_style style;
static bool all;

static const struct opt diff_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    { 'a', "all", NULL, OPT_FLAG, &all,
      "print long values in full, and include tags that differ between any two "
      "runs" },
    TABLE_OPTS(style),
    { 0 }
};

static int diff_main(int argc, char **argv, struct err *e)
{
    AUTO(table_clear) struct table t = TABLE_INIT("gtrack.diff/1");
    AUTO(runs_free) struct runs a = { 0 }, b = { 0 };
    const int flags = LOAD_NO_METRICS | LOAD_DELETED;
    int ret = -1;

    if (table_form(&style, e) < 0 || track_check_args(argc, argv, 2, 2, e) < 0)
        return -1;
    if (track_select_one(&a, argv[0], flags, e) == 0 &&
        track_select_one(&b, argv[1], flags, e) == 0) {
        diff_table_fill(&t, a.run, b.run, all ? DIFF_ALL : DIFF_SHORT);
        if (t.n_cells == 0)
            log_info("the runs do not differ");
        ret = table_print(&t, &style, e);
    }
    return ret;
}

const struct cmd cmd_diff = {
    .name = "diff",
    .args = "RUN RUN",
    .help = "print the differences between two runs",
    .opts = diff_opts,
    .confine = track_confine_reader,
    .run = diff_main,
};
