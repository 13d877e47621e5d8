#include "config.h"
#include "track/cmds.h"
#include "track/runs/track.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "store/edit.h"
#include "store/fsck.h"

static struct table_style style;
static bool repair, moved;

static const struct opt fsck_opts[] = {
    TRACK_OPTS,
    { 0, "repair", NULL, OPT_FLAG, &repair,
      "repair the problems that can be repaired" },
    { 0, "moved", NULL, OPT_FLAG, &moved,
      "with --repair, also update the paths of artifacts after the store has "
      "been moved" },
    TABLE_OPTS(style),
    { 0 }
};

struct report {
    struct table table;
    int64_t found, left;
};

static void note(void *arg, const struct fsck_finding *f)
{
    struct report *p = arg;

    table_text(&p->table, f->name);
    table_text(&p->table, f->id);
    table_text(&p->table, f->file);
    table_text(&p->table, f->what);
    table_text(&p->table, f->repaired ? "yes" : "no");
    table_mark(&p->table, f->repaired ? MARK_GOOD : MARK_BAD);
    p->found++;
    p->left += !f->repaired;
}

static int fsck_main(int argc, char **argv, struct err *e)
{
    struct report p = { .table = TABLE_INIT("gtrack.fsck/1") };
    const int flags = LOAD_DELETED | LOAD_NO_METRICS;
    struct runs runs = RUNS_INIT;
    int ret = 0;

    if (table_form(&style, e) < 0)
        return -1;
    table_column(&p.table, "run");
    table_column(&p.table, "id");
    table_column(&p.table, "file");
    table_column(&p.table, "problem");
    table_column(&p.table, "repaired");
    if (argc == 0)
        ret = fsck_store(track_store(), repair, note, &p, e);
    if (ret == 0)
        ret = argc ? runs_select(&runs, track_store(), argv, argc, flags, e)
                   : runs_load(&runs, track_store(), flags, e);
    for (size_t i = 0; ret == 0 && i < runs.n; i++) {
        if (fsck_run(&runs.run[i], repair, note, &p, e) < 0) {
            const struct run_info *r = &runs.run[i];
            const struct fsck_finding f = { r->name, r->id, "-", e->text,
                                            false };

            note(&p, &f); /* and on to the next */
            *e = (struct err)ERR_INIT;
        }
    }
    if (ret == 0 && moved && repair) {
        int64_t count = 0;

        ret = edit_uris(track_store(), &count, e);
        log_info("%" PRId64 " paths of artifacts written anew", count);
    }
    if (ret == 0 && p.found)
        ret = table_print(&p.table, &style, e);
    if (ret == 0 && p.left)
        ret = err_set(
            e, ERR_INPUT, "%" PRId64 " of %" PRId64 " problems are left%s",
            p.left, p.found, repair ? "" : "; --repair puts right what can be");
    else if (ret == 0)
        log_info("%zu runs, %" PRId64 " problems%s", runs.n, p.found,
                 p.found ? ", all repaired" : "");
    table_clear(&p.table);
    runs_free(&runs);
    return ret;
}

const struct cmd cmd_fsck = {
    .name = "fsck",
    .args = "[RUN|FILTER]...",
    .help = "check the store for damage, and repair it",
    .opts = fsck_opts,
    .run = fsck_main,
};
