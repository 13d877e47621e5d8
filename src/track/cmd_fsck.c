/*
 * gtrack fsck - check the store for damage, and repair it
 */
#include "config.h"

#include <inttypes.h>

#include "common/log.h"
#include "common/opt.h"
#include "common/save.h"
#include "store/fsck/fsck.h"
#include "store/write/edit.h"
#include "track/runs/track.h"

static struct table_style style;
static bool repair, moved, checkpoints;

static const struct opt fsck_opts[] = {
    TRACK_OPT_ROOT,
    { 0, "repair", NULL, OPT_FLAG, &repair,
      "repair the problems that can be repaired" },
    { 0, "moved", NULL, OPT_FLAG, &moved,
      "with --repair, also update the paths of artifacts after the store has "
      "been moved" },
    { 0, "checkpoints", NULL, OPT_FLAG, &checkpoints,
      "also compare the checkpoints with the SHA-256 that training noted" },
    TABLE_OPTS(style),
    { 0 }
};

/* So many of a run are listed, which may have a million bad files. */
enum { LISTED_MOST = 1000 };

struct findings {
    struct table table;
    int64_t found, left; /* left: not repaired */
    int64_t harmless;
    int64_t listed, hidden; /* listed: of the run that is checked */
};

static void list_finding(struct findings *p, const struct fsck_finding *f)
{
    if (p->listed == LISTED_MOST) {
        p->hidden++;
        return;
    }
    p->listed++;
    table_text(&p->table, f->name);
    table_text(&p->table, f->id);
    table_text(&p->table, f->file);
    table_text(&p->table, f->what);
    table_text(&p->table, f->repaired   ? "yes"
                          : f->harmless ? "not needed"
                                        : "no");
    table_mark(&p->table, f->repaired   ? MARK_GOOD
                          : f->harmless ? MARK_WARN
                                        : MARK_BAD);
}

static void add_finding(void *arg, const struct fsck_finding *f)
{
    struct findings *p = arg;

    list_finding(p, f);
    if (f->harmless && !f->repaired) {
        p->harmless++;
        return;
    }
    p->found++;
    p->left += !f->repaired;
}

static int check_runs(struct findings *p, int n, char **words, size_t *checked,
                      struct err *e)
{
    const int flags = LOAD_DELETED | LOAD_NO_METRICS | LOAD_FRESH;
    struct runs runs = { 0 };

    if (track_load(&runs, n, words, flags, e) < 0)
        return -1;
    for (size_t i = 0; i < runs.n; i++) {
        const struct run_info *r = &runs.run[i];

        p->listed = 0;
        if (r->edited)
            log_info("%s has been edited since it ended; lists show that from "
                     "now on",
                     r->name);
        if (fsck_run(r, repair, add_finding, p, e) < 0 ||
            (checkpoints && fsck_checkpoints(r, add_finding, p, e) < 0)) {
            const struct fsck_finding f = { r->name, r->id, "-", e->text,
                                            false };

            add_finding(p, &f);
            *e = (struct err){ 0 };
        }
    }
    *checked = runs.n;
    runs_free(&runs);
    return 0;
}

static int update_paths(struct err *e)
{
    int64_t files;

    if (edit_uris(track_store(), true, &files, e) < 0)
        return -1;
    log_info("updated the paths of artifacts in %" PRId64 " files", files);
    return 0;
}

static int print_findings(const struct findings *p, size_t runs, struct err *e)
{
    const int form = table_form(&style, e);

    /* without a problem, people get no table */
    if ((p->found || p->harmless ||
         (form != TABLE_ALIGNED && form != TABLE_TSV)) &&
        table_print(&p->table, &style, e) < 0)
        return -1;
    if (p->hidden)
        log_info("%" PRId64
                 " more problems are not listed: at most %d of a run "
                 "are",
                 p->hidden, LISTED_MOST);
    if (p->left)
        return err_set(e, ERR_INPUT,
                       "%" PRId64 " of %" PRId64 " problems remain%s", p->left,
                       p->found, repair ? "" : "; use --repair to repair them");
    log_info("%zu run%s, %" PRId64 " problem%s%s", runs, runs == 1 ? "" : "s",
             p->found, p->found == 1 ? "" : "s",
             p->found ? ", all repaired" : "");
    if (p->harmless)
        log_info("killed processes left %" PRId64 " file%s or folder%s, which "
                 "nothing reads; --repair removes them",
                 p->harmless, p->harmless == 1 ? "" : "s",
                 p->harmless == 1 ? "" : "s");
    return 0;
}

static int fsck_main(int argc, char **argv, struct err *e)
{
    struct findings p = { .table = TABLE_INIT("gtrack.fsck/1") };
    size_t runs;
    int ret = 0;

    if (table_form(&style, e) < 0)
        return -1;
    table_columns(&p.table, "run", "id", "file", "problem", "repaired", NULL);
    if (repair)
        edit_finish_moves(track_store());
    if (argc == 0)
        ret = fsck_store(track_store(), repair, add_finding, &p, e);
    if (ret == 0)
        ret = check_runs(&p, argc, argv, &runs, e);
    if (ret == 0 && moved && repair)
        ret = update_paths(e);
    else if (ret == 0 && argc == 0)
        ret = fsck_moved(track_store(), add_finding, &p, e);
    if (ret == 0 && repair)
        ret = save_sync_all(track_store(), e);
    if (ret == 0)
        ret = print_findings(&p, runs, e);
    table_clear(&p.table);
    return ret;
}

const struct cmd cmd_fsck = {
    .name = "fsck",
    .args = "[RUN|FILTER]...",
    .help = "check the store for damage, and repair it",
    .opts = fsck_opts,
    .confine = track_confine_writer,
    .run = fsck_main,
};
