/*
 * gtrack rm, restore, gc - delete runs, bring them back, or remove their files
 */
#include "config.h"

#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/save.h"
#include "store/format/meta.h"
#include "store/write/edit.h"
#include "track/runs/track.h"

static bool dry_run;

/* ---- rm and restore ------------------------------------------------------ */

static const struct opt rm_opts[] = { TRACK_OPT_ROOT,
                                      TRACK_OPT_DRY_RUN(dry_run),
                                      { 0 } };

typedef int edit_fn(const struct run_info *, struct err *);

/* Call edit_delete() or edit_restore(). */
static int mark_run(const struct run_info *r, void *edit, struct err *e)
{
    edit_fn *const call = *(edit_fn **)edit;
    const char *verb = call == edit_delete ? "delete" : "restore";

    if (!dry_run && call(r, e) < 0)
        return -1;
    log_info(dry_run ? "would %s %s (%s)" : "%sd %s (%s)", verb, r->name,
             r->id);
    return 0;
}

static int mark_runs(int argc, char **argv, int flags, edit_fn *edit,
                     struct err *e)
{
    return track_check_args(argc, argv, 1, -1, e) < 0
               ? -1
               : track_each(argc, argv, flags | LOAD_ONE_NAMED, mark_run, &edit,
                            e);
}

/* The files stay, so that runs can be restored until gc removes them. */
static int rm_main(int argc, char **argv, struct err *e)
{
    if (mark_runs(argc, argv, dry_run ? 0 : LOAD_AWAIT, edit_delete, e) < 0)
        return -1;
    if (!dry_run)
        log_info("use 'gtrack restore' to bring deleted runs back, and "
                 "'gtrack gc' to remove their files");
    return 0;
}

static int restore_main(int argc, char **argv, struct err *e)
{
    const int ret = mark_runs(argc, argv, LOAD_ONLY_DELETED, edit_restore, e);

    if (ret < 0 && e->kind == ERR_MISSING)
        err_wrap(e, "among the deleted runs");
    return ret;
}

const struct cmd cmd_rm = {
    .name = "rm",
    .args = "RUN|FILTER...",
    .help = "mark runs as deleted",
    .opts = rm_opts,
    .confine = track_confine_writer,
    .run = rm_main,
};

const struct cmd cmd_restore = {
    .name = "restore",
    .args = "RUN|FILTER...",
    .help = "restore deleted runs",
    .opts = rm_opts,
    .confine = track_confine_writer,
    .run = restore_main,
};

/* ---- gc ------------------------------------------------------------------ */

static bool yes;
static double older_than = 0;

static const struct opt gc_opts[] = {
    TRACK_OPT_ROOT,
    { 0, "older-than", "time", OPT_SECS, &older_than,
      "remove only runs deleted at least this long ago: 30d" },
    { 'y', "yes", NULL, OPT_FLAG, &yes, "do not ask for confirmation" },
    TRACK_OPT_DRY_RUN(dry_run),
    { 0 }
};

/* When a run was deleted, from its meta.yaml. */
static int64_t deleted_ms(const char *folder)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    struct meta m;

    return meta_load(&m, &mem, folder, PATH_NO_LINKS, ERR_IGNORED) == 0
               ? m.deleted_ms
               : 0;
}

/* An experiment that is a link belongs to another store, whose runs are not
 * removed by accident. */
static bool is_of_link(const struct run_info *r)
{
    AUTO_FREE char *experiment = path_parent(r->folder);

    return path_is_link(experiment);
}

static int load_old(struct runs *runs, struct err *e)
{
    const int64_t before = clock_wall_ms() - (int64_t)(older_than * 1000);
    size_t kept = 0, linked = 0;

    if (runs_load(runs, track_store(), LOAD_ONLY_DELETED | LOAD_NO_METRICS, e) <
        0)
        return -1;
    for (size_t i = 0; i < runs->n; i++)
        if (is_of_link(&runs->run[i]))
            linked++;
        else if (older_than == 0 || deleted_ms(runs->run[i].folder) <= before)
            runs->run[kept++] = runs->run[i];
    runs->n = kept;
    if (!dry_run)
        runs_await_beats(runs, track_store());
    if (linked)
        log_warn("%zu deleted run%s of experiments that are links stay; run gc "
                 "in the store that they are of",
                 linked, linked == 1 ? "" : "s");
    return 0;
}

static int gc_main(int argc, char **argv, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    char question[64], n[NUM_TEXT];
    int ret;

    if (track_check_args(argc, argv, 0, 0, e) < 0)
        return -1;
    ret = load_old(&runs, e);
    if (ret == 0 && runs.n == 0)
        log_info("no deleted runs to remove");
    snprintf(question, sizeof question, "remove %s permanently",
             num_count(n, (int64_t)runs.n, "run"));
    if (ret == 0 && runs.n && !dry_run && !track_confirm(yes, question, e))
        ret = -1;
    for (size_t i = 0; i < runs.n && ret == 0; i++) {
        const struct run_info *r = &runs.run[i];

        log_info("%s %s (%s)", dry_run ? "would remove" : "removing", r->name,
                 r->id);
        if (!dry_run)
            ret = edit_remove(track_store(), r, e);
    }
    if (ret == 0 && runs.n && !dry_run)
        ret = save_sync_all(track_store(), e);
    if (ret == 0 && runs.unread.kind != ERR_NONE)
        ret =
            err_set(e, ERR_SYSTEM, "runs that could not be read were kept: %s",
                    runs.unread.text);
    return ret;
}

const struct cmd cmd_gc = {
    .name = "gc",
    .help = "remove deleted runs permanently",
    .opts = gc_opts,
    .confine = track_confine_writer,
    .run = gc_main,
};
