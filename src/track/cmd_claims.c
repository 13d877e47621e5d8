/*
 * gtrack claims - check a report against the runs
 */
#include "config.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/sig.h"
#include "track/proof/claims.h"
#include "track/runs/track.h"

static bool fill, unbound;
static struct table_style style;

static const struct opt claims_opts[] = {
    TRACK_OPT_ROOT,
    { 0, "fill", NULL, OPT_FLAG, &fill,
      "write the values of the runs into the files" },
    { 0, "unbound", NULL, OPT_FLAG, &unbound,
      "list the numbers with a point that no claim states" },
    TABLE_OPTS(style),
    { 0 }
};

/* Reports are written beside themselves, and figures drawn again elsewhere. */
static void confine_claims(int n, char **file)
{
    AUTO(path_list_clear) struct path_list folders = { 0 };

    for (int i = 0; fill && i < n; i++)
        path_list_add(&folders, path_of_output(file[i]));
    path_list_add(&folders, xstrdup(path_temp()));
    track_confine_folders(&folders, false);
}

static int claims_main(int argc, char **argv, struct err *e)
{
    struct claims_check k;
    AUTO(buf_clear) struct buf words = BUF_INIT;
    int ret = 0;

    if (table_form(&style, e) < 0 || track_check_args(argc, argv, 1, -1, e) < 0)
        return -1;
    setenv("GTRACK_ROOT", track_store(), 1); /* for the commands of figures */
    sig_watch();
    confine_claims(argc, argv);
    claims_check_init(&k, &track_program);
    k.fill = fill;
    k.unbound = unbound;
    for (int i = 0; i < argc && ret == 0; i++)
        ret = claims_check_file(&k, argv[i], e);
    if (table_rows(&k.table) > 0 && ret == 0)
        ret = table_print(&k.table, &style, e);
    if (ret == 0)
        ret = claims_check_judge(&k, &words, e);
    if (ret == 0)
        (table_rows(&k.table) ? log_info : log_warn)("%s", words.s);
    table_clear(&k.table);
    return ret;
}

const struct cmd cmd_claims = {
    .name = "claims",
    .args = "FILE...",
    .help = "check the numbers and figures of a report against the runs",
    .opts = claims_opts,
    .run = claims_main,
};
