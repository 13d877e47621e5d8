/*
 * gtrack fsck, du - check the store for damage, and measure it
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "common/log.h"
#include "common/opt.h"
#include "common/save.h"
#include "store/format/store.h"
#include "store/fsck/fsck.h"
#include "store/write/edit.h"
#include "track/runs/file_tree.h"
#include "track/runs/track.h"

static struct table_style style;

/* ---- fsck ---------------------------------------------------------------- */

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
    AUTO(runs_free) struct runs runs = { 0 };

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
        return err_input(e, "%" PRId64 " of %" PRId64 " problems remain%s",
                         p->left, p->found,
                         repair ? "" : "; use --repair to repair them");
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

/* ---- du ------------------------------------------------------------------ */

static bool by_run;

static const struct opt du_opts[] = {
    TRACK_OPT_ROOT,
    { 0, "runs", NULL, OPT_FLAG, &by_run,
      "print one row per run, the largest first" },
    TABLE_OPTS(style),
    { 0 }
};

/* The disk space of an experiment or a run. */
struct disk_use {
    const char *name, *id;
    int64_t runs, files;
    int64_t metrics, artifacts, other; /* bytes */
};

static int64_t total_bytes(const struct disk_use *u)
{
    return u->metrics + u->artifacts + u->other;
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = total_bytes(a), y = total_bytes(b);

    return (x < y) - (x > y);
}

static int add_run(struct disk_use *u, const struct run_info *r, struct err *e)
{
    AUTO(file_tree_clear) struct file_tree f = { 0 };

    if (file_tree_list(&f, r->folder, r->folder, e) < 0)
        return -1;
    for (size_t i = 0; i < f.n; i++) {
        const struct file_tree_file *x = &f.file[i];

        u->files++;
        if (strncmp(x->path, STORE_METRICS "/", sizeof STORE_METRICS) == 0)
            u->metrics += x->size;
        else if (strncmp(x->path, STORE_ARTIFACTS "/",
                         sizeof STORE_ARTIFACTS) == 0)
            u->artifacts += x->size;
        else
            u->other += x->size;
    }
    u->runs++;
    return 0;
}

/* Sum over runs into use[], which has room for as many; -1 or how many. */
static int sum_runs(struct disk_use *use, const struct runs *runs,
                    struct err *e)
{
    int n = 0;

    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];
        const char *id = by_run ? r->id : r->experiment_id;
        int at = by_run ? n : 0; /* no two runs have one id */

        while (at < n && strcmp(use[at].id, id) != 0)
            at++;
        if (at == n)
            use[n++] =
                (struct disk_use){ .name = by_run ? r->name : r->experiment,
                                   .id = id };
        if (add_run(&use[at], r, e) < 0)
            return -1;
    }
    SORT(use, (size_t)n, by_size);
    return n;
}

static int print_table(const struct disk_use *use, int n, struct err *e)
{
    struct table t = TABLE_INIT(by_run ? "gtrack.du-runs/1" : "gtrack.du/1");

    table_columns(&t, by_run ? "run" : "experiment", "id", NULL);
    if (!by_run)
        table_column(&t, "runs");
    table_columns(&t, "files", "metrics", "artifacts", "other", "bytes", NULL);
    for (int i = 0; i < n; i++) {
        table_text(&t, use[i].name);
        table_text(&t, use[i].id);
        if (!by_run)
            table_int(&t, use[i].runs);
        table_int(&t, use[i].files);
        table_bytes(&t, use[i].metrics);
        table_bytes(&t, use[i].artifacts);
        table_bytes(&t, use[i].other);
        table_bytes(&t, total_bytes(&use[i]));
    }
    return table_finish(&t, 0, &style, e);
}

static int du_main(int argc, char **argv, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    AUTO_FREE struct disk_use *use = NULL;
    int n;

    if (table_form(&style, e) < 0 ||
        track_load(&runs, argc, argv, LOAD_DELETED | LOAD_NO_METRICS, e) < 0)
        return -1;
    use = xcalloc(runs.n, sizeof *use);
    n = sum_runs(use, &runs, e);
    if (n >= 0)
        n = print_table(use, n, e);
    return n;
}

const struct cmd cmd_du = {
    .name = "du",
    .args = "[RUN|FILTER]...",
    .help = "print how much disk space runs take",
    .opts = du_opts,
    .confine = track_confine_reader,
    .run = du_main,
};
