#include "config.h"
#include "trainer/checkpoint/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/save.h"
#include "store/format/attempt.h"
#include "store/format/store.h"
#include "store/read/runs.h"
#include "trainer/checkpoint/checkpoint_files.h"
#include "trainer/checkpoint/checkpoint_find.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/model/resolve.h"

#define LOCK_FILE ".lock"

/* A copy of the state, which a thread writes while training continues. */
struct checkpoint_writing {
    struct checkpoint *checkpoint;
    int64_t step;
    int why;      /* enum checkpoint_why */
    double began; /* training waits since then */
    pthread_t thread;
    bool threaded;
    int ret;
    struct err e;
};

static char *step_path(const struct checkpoint *c, int64_t step)
{
    return xasprintf("%s/step-%08lld", c->pin.at, (long long)step);
}

/* Until path_unpin(), c->pin.at is the folder that has this name now.  One in
 * the run is made again only if the run is where it was; any other is the
 * user's own. */
static int pin(struct checkpoint *c, struct err *e)
{
    const char *run = c->run ? run_folder(c->run) : "";
    const bool own = *run && strncmp(c->folder, run, strlen(run)) == 0;
    AUTO_FREE char *path = path_join(c->folder, "");

    if (!own && path_make(c->folder, e) < 0)
        return -1;
    return path_pin(&c->pin, path, own ? run : c->folder, e);
}

/* ---- the link "best" -------------------------------------------------- */

/* The step that it names, or -1. */
static int64_t best_step(const char *folder)
{
    char *path = path_join(folder, "best"), target[64];
    const ssize_t n = readlink(path, target, sizeof target - 1);

    free(path);
    if (n <= 0)
        return -1;
    target[n] = '\0';
    return checkpoint_step(target);
}

static int link_best(const struct checkpoint *c, int64_t step, struct err *e)
{
    AUTO_FREE char *link = path_join(c->pin.at, "best");
    AUTO_FREE char *temp = path_join(c->pin.at, ".best");
    char name[32];
    int ret = 0;

    snprintf(name, sizeof name, "step-%08lld", (long long)step);
    unlink(temp);
    if (symlink(name, temp) < 0 || rename(temp, link) < 0)
        ret = err_sys(e, "cannot create %s", link);
    return ret;
}

/* Let the link name an earlier best step, if its checkpoint still exists. */
static void restore_best(const struct checkpoint *c, int64_t step)
{
    AUTO_FREE char *path = step_path(c, step);
    AUTO_FREE char *link = path_join(c->pin.at, "best");

    if (path_exists(path))
        link_best(c, step, ERR_IGNORED);
    else
        unlink(link);
}

/* ---- removing checkpoints --------------------------------------------- */

static bool is_kept(const struct checkpoint *c, int64_t step, int64_t newer)
{
    return newer < c->conf->keep_last || step == best_step(c->pin.at) ||
           (c->conf->keep_every > 0 && step > 0 &&
            step % c->conf->keep_every == 0);
}

static void remove_folder(const struct checkpoint *c, const char *name)
{
    AUTO_FREE char *path = path_join(c->pin.at, name);
    struct err e = { 0 };

    if (path_remove(path, &e) < 0)
        log_warn("cannot remove %s/%s: %s", c->folder, name, strerror(e.sys));
}

/* A checkpoint that is removed in part has the name of an incomplete one. */
static void remove_checkpoint(const struct checkpoint *c, const char *name)
{
    AUTO_FREE char *path = path_join(c->pin.at, name);
    AUTO_FREE char *hidden = xasprintf(".%s", name);
    AUTO_FREE char *temp = path_join(c->pin.at, hidden);

    remove_folder(c, rename(path, temp) == 0 ? hidden : name);
}

/* Remove checkpoints that a killed process has left incomplete. */
static void remove_partial(const struct checkpoint *c)
{
    AUTO(path_list_clear) struct path_list all = { 0 };

    path_list(&all, c->pin.at, ERR_IGNORED);
    for (size_t i = 0; i < all.n; i++)
        if (strncmp(all.name[i], ".step-", 6) == 0)
            remove_folder(c, all.name[i]);
}

/* Remove complete checkpoints that no rule keeps. */
static void remove_old(const struct checkpoint *c)
{
    AUTO(path_list_clear) struct path_list all = { 0 };
    int64_t newer = 0;

    checkpoint_names(&all, c->pin.at, ERR_IGNORED);
    for (size_t i = all.n; i-- > 0;)
        if (!is_kept(c, checkpoint_step(all.name[i]), newer++))
            remove_checkpoint(c, all.name[i]);
}

/* ---- writing ---------------------------------------------------------- */

/* Rename the folder temp to path, in place of what is there. */
static int replace_folder(const char *temp, const char *path)
{
    AUTO_FREE char *aside = NULL;
    int ret;

    if (rename(temp, path) == 0)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return -1;
    if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
        return path_remove(temp, ERR_IGNORED);
    aside = xasprintf("%s.was", temp); /* not every file system swaps */
    ret = rename(path, aside) < 0 || rename(temp, path) < 0 ? -1 : 0;
    path_remove(aside, ERR_IGNORED);
    return ret;
}

/* A run without the sums of a checkpoint only cannot prove it. */
static void record_sums(const struct checkpoint *c, const char *path,
                        int64_t step)
{
    struct err e = { 0 };

    if (c->run && checkpoint_sums_add(c->run, path, step, &e) < 0)
        log_warn("%s", e.text);
}

/* How long training has waited for it: before it has its name. */
static void record_wait(const struct checkpoint_writing *w)
{
    if (w->checkpoint->run)
        run_metric(w->checkpoint->run, "perf/checkpoint_ms", w->step,
                   1000 * (clock_mono() - w->began));
}

static bool is_waited_for(const struct checkpoint_writing *w)
{
    return !w->checkpoint->conf->async || w->why & CHECKPOINT_LAST;
}

static int write_folder(const struct checkpoint_writing *w, const char *path,
                        struct err *e)
{
    const struct checkpoint *c = w->checkpoint;
    AUTO_FREE char *temp =
        xasprintf("%s/.step-%08lld", c->pin.at, (long long)w->step);
    AUTO_FREE char *inside = path_join(temp, "");
    struct path_pin to;
    struct err lost = { 0 };
    int ret;

    if (c->run)
        run_flush(c->run, &lost); /* run_end() reports what is lost */
    ret = path_pin(&to, inside, c->pin.at, e);
    if (ret == 0)
        ret = checkpoint_write(&c->copy, to.at, e);
    if (ret == 0 && is_waited_for(w))
        record_wait(w);
    if (ret == 0 && c->run) {
        run_flush(c->run, &lost);
        save_sync_all(run_folder(c->run), &lost);
        ret = run_check(c->run, e);
    }
    if (ret == 0)
        record_sums(c, to.at, w->step); /* whose name it has next */
    path_unpin(&to, e);
    if (ret == 0 && replace_folder(temp, path) < 0)
        ret = err_sys(e, "cannot rename %s", temp);
    if (ret == 0)
        ret = save_sync_folder(c->pin.at, e);
    if (ret < 0)
        path_remove(temp, ERR_IGNORED);
    return ret;
}

static int write_checkpoint(const struct checkpoint_writing *w, struct err *e)
{
    struct checkpoint *c = w->checkpoint;
    AUTO_FREE char *path = NULL;
    int ret = c->run ? run_check(c->run, e) : 0;

    if (ret == 0)
        ret = pin(c, e);
    if (ret == 0)
        path = step_path(c, w->step);
    if (ret == 0 && (c->written != w->step || !path_exists(path))) {
        remove_partial(c);
        ret = write_folder(w, path, e);
        c->written = ret == 0 ? w->step : -1;
    }
    if (ret == 0 && w->why & CHECKPOINT_BEST)
        ret = link_best(c, w->step, e);
    if (ret == 0)
        remove_old(c);
    path_unpin(&c->pin, e);
    return ret < 0 ? err_wrap(e, "checkpoint of step %lld", (long long)w->step)
                   : 0;
}

/* Not a reason to stop: the disk may have space again for the next one. */
static void warn_lost(const struct checkpoint_writing *w)
{
    struct run *run = w->checkpoint->run;

    if (w->e.kind == ERR_BUSY)
        return; /* training ends */
    log_warn("%s; training continues without it", w->e.text);
    if (run)
        run_metric(run, "event/checkpoint_lost", w->step, 1);
}

static void *write_thread(void *arg)
{
    struct checkpoint_writing *w = arg;

    w->ret = write_checkpoint(w, &w->e);
    if (w->ret < 0 && !(w->why & CHECKPOINT_LAST))
        warn_lost(w);
    return NULL;
}

/* Has the write ended?  Waits for it, half a second at most. */
static bool has_ended(struct checkpoint_writing *w)
{
    const struct timespec until = clock_after(CLOCK_REALTIME, 0.5);

    if (!w->threaded)
        return true;
    w->threaded = pthread_timedjoin_np(w->thread, NULL, &until) != 0;
    return !w->threaded;
}

static void wait_writing(struct checkpoint *c)
{
    struct checkpoint_writing *w = c->writing;

    if (!w)
        return;
    while (!has_ended(w))
        ;
    free(w);
    c->writing = NULL;
}

/* Copy the state, and let rank 0 begin to write it. */
static int begin_writing(struct checkpoint *c, struct engine *eng, int why,
                         struct err *e)
{
    const double began = clock_mono();
    struct checkpoint_writing *w;

    wait_writing(c);
    if (checkpoint_copy_take(&c->copy, eng, c->run ? run_id(c->run) : "", e) <
        0)
        return err_wrap(e, "checkpoint of step %lld",
                        (long long)eng->state.step);
    if (eng->coll.rank != 0)
        return 0;
    w = xcalloc(1, sizeof *w);
    w->checkpoint = c;
    w->step = eng->state.step;
    w->why = why;
    w->began = began;
    c->writing = w;
    if (!is_waited_for(w))
        record_wait(w);
    w->threaded = (c->conf->async || why & CHECKPOINT_LAST) &&
                  pthread_create(&w->thread, NULL, write_thread, w) == 0;
    if (!w->threaded)
        write_thread(w);
    return 0;
}

/*
 * Rank 0 writes.  At the end, the others ask it every half second whether it is
 * done: if they exited, they would look dead to it, and if they waited in
 * silence, they would look stuck.
 */
int checkpoint_save(struct checkpoint *c, struct engine *eng, int why,
                    struct err *e)
{
    enum { WRITING, WRITTEN, FAILED };
    int64_t state = WRITING;

    if (begin_writing(c, eng, why, e) < 0)
        return -1;
    while (why & CHECKPOINT_LAST && state == WRITING) {
        if (eng->coll.rank == 0 && has_ended(c->writing))
            state = c->writing->ret == 0 ? WRITTEN : FAILED;
        if (coll_max(&eng->coll, &state, e) < 0)
            return -1;
    }
    if (state == FAILED && eng->coll.rank == 0)
        *e = c->writing->e;
    else if (state == FAILED)
        err_set(e, ERR_SYSTEM,
                "rank 0 could not write the checkpoint of step %lld",
                (long long)eng->state.step);
    if (state != WRITING)
        wait_writing(c);
    return state == FAILED ? -1 : 0;
}

/* ---- opening ---------------------------------------------------------- */

/*
 * Rename the checkpoints after the step that training begins at.  Training will
 * compute these steps again, and the old checkpoints would count as newer than
 * those that it saves.  run_rewind() retracts the metrics of these steps.
 */
static void rename_later(const struct checkpoint *c,
                         const struct engine_state *at)
{
    AUTO(path_list_clear) struct path_list all = { 0 };
    int moved = 0;

    checkpoint_names(&all, c->pin.at, ERR_IGNORED);
    for (size_t i = 0; i < all.n; i++) {
        const char *path = path_listed(&all, i);
        AUTO_FREE char *old = xasprintf("%s.old", path);

        if (checkpoint_step(all.name[i]) > at->step) {
            path_remove(old, ERR_IGNORED);
            if (rename(path, old) < 0)
                log_warn("cannot rename %s/%s: %s", c->folder, all.name[i],
                         strerror(errno));
            moved++;
        }
    }
    if (moved > 0)
        log_info("added .old to the names of checkpoints after step %lld",
                 (long long)at->step);
    /* a kill may have come between a checkpoint and its link */
    if (c->conf->keep_best || best_step(c->pin.at) > at->step)
        restore_best(c, isfinite(at->best_loss) ? at->best_step : -1);
}

/* Where locks are not possible, the file tells which run was here last, and the
 * store whether it is alive. */
static int check_holder(const struct checkpoint *c, const char *path,
                        const char *root, struct err *e)
{
    AUTO(buf_clear) struct buf id = BUF_INIT;
    AUTO(runs_free) struct runs runs = { 0 };
    struct err none = { 0 };
    int ret = 0;

    if (filelock_look(c->lock) == FILELOCK_NONE && c->run &&
        buf_read_file(&id, path, 64, &none) == 0 && store_is_id(id.s) &&
        strcmp(id.s, run_id(c->run)) != 0 &&
        runs_load_ids(&runs, root, &id.s, 1, LOAD_NO_METRICS, &none) == 0 &&
        runs.n == 1 && runs.run[0].attempts > 0 &&
        runs.run[0].status == RUN_RUNNING)
        ret = attempt_await(runs.run[0].folder,
                            &runs.run[0].attempt[runs.run[0].attempts - 1], e);
    if (ret == 0 && c->run && pwrite(c->lock, run_id(c->run), 32, 0) < 0)
        ret = err_sys(e, "cannot write %s", path);
    return ret;
}

/*
 * A file is locked, since servers know no locks of folders, before the first
 * checkpoint is written.
 */
static int lock_folder(struct checkpoint *c, bool steal, const char *root,
                       struct err *e)
{
    AUTO_FREE char *path = path_join(c->pin.at, LOCK_FILE);
    int ret;

    if (steal)
        unlink(path);
    ret = c->lock = filelock_open(path, 0666, e);
    if (ret >= 0 && check_holder(c, path, root, e) < 0) {
        close(c->lock); /* the file is the other's */
        ret = c->lock = -1;
    }
    if (ret < 0 && e->kind == ERR_BUSY)
        err_set(e, ERR_BUSY, "another running job uses %s", c->folder);
    return ret < 0 ? -1 : 0;
}

/* The newest checkpoint that can be read tells whose they all are.  Those of
 * another run must not be renamed or removed. */
static int check_owner(const struct checkpoint *c, const char *resumed,
                       struct err *e)
{
    AUTO(path_list_clear) struct path_list all = { 0 };
    AUTO_FREE char *id = NULL;
    int ret = checkpoint_names(&all, c->pin.at, e);

    for (size_t i = all.n; i-- > 0 && !id;)
        checkpoint_text(path_listed(&all, i), "run_id", &id, ERR_IGNORED);
    if (all.n > 0 && (!resumed || (id && strcmp(id, resumed) != 0)))
        ret =
            err_usage(e,
                      "%s has checkpoints of %s%s; use another folder, "
                      "continue from them with --resume %s, or move them away",
                      c->folder, id && *id ? "run " : "another run",
                      id ? id : "", c->folder);
    return ret;
}

static void unlock_folder(struct checkpoint *c)
{
    if (path_is_folder(c->folder) && pin(c, ERR_IGNORED) == 0) {
        AUTO_FREE char *path = path_join(c->pin.at, LOCK_FILE);

        if (filelock_is_at(c->lock, path))
            unlink(path);
    }
    path_unpin(&c->pin, ERR_IGNORED);
    close(c->lock);
    if (!*c->conf->folder)
        rmdir(c->folder); /* unless it has checkpoints */
}

int checkpoint_open(struct checkpoint *c, struct engine *eng, struct run *run,
                    const struct checkpoint_claim *claim, struct err *e)
{
    *c = (struct checkpoint){
        .conf = &eng->set->checkpoint,
        .run = run,
        .lock = -1,
        .written = -1,
        .pin = { .fd = -1 },
    };
    int ret;

    c->folder = xstrdup(claim->folder);
    if (checkpoint_copy_open(&c->copy, eng, e) < 0)
        return -1;
    if (eng->coll.rank != 0)
        return 0;
    ret = pin(c, e);
    if (ret == 0)
        ret = lock_folder(c, claim->steal, eng->set->run.root, e);
    if (ret == 0)
        ret = check_owner(c, claim->resumed, e);
    if (ret == 0)
        rename_later(c, &eng->state);
    path_unpin(&c->pin, e);
    return ret < 0 && *c->conf->folder ? err_wrap(e, "checkpoint.folder") : ret;
}

void checkpoint_close(struct checkpoint *c)
{
    if (!c->folder)
        return;
    wait_writing(c);
    if (c->lock >= 0)
        unlock_folder(c);
    checkpoint_copy_clear(&c->copy);
    free(c->folder);
    *c = (struct checkpoint){ 0 };
}

/* ---- rolling back ----------------------------------------------------- */

/* Only rank 0 knows whether the newest has been written yet. */
static int find_newest(const struct checkpoint *c, struct engine *eng,
                       char *path, size_t size, struct err *e)
{
    AUTO_FREE char *found = NULL;
    int ret = 0;

    if (eng->coll.rank == 0)
        ret = checkpoint_newest(c->folder, INT64_MAX, &found, e);
    snprintf(path, size, "%s", found ? found : "");
    coll_bcast(&eng->coll, path, size, 0);
    if (ret < 0)
        coll_wait(&eng->coll);
    else
        ret = coll_barrier(&eng->coll, e);
    return ret;
}

/* Rollbacks to one step before training fails. */
enum { MOST_ROLLBACKS = 5 };

int checkpoint_rollback(struct checkpoint *c, struct engine *eng, struct err *e)
{
    const int64_t bad = eng->state.step, skipped = eng->state.skipped;
    const double seconds = engine_seconds(eng);
    char path[4096];

    wait_writing(c);
    c->written = -1;
    if (find_newest(c, eng, path, sizeof path, e) < 0)
        return -1;
    if (!*path)
        return err_set(e, ERR_NONFINITE,
                       "there is no checkpoint to roll back to; set "
                       "checkpoint.every");
    if (checkpoint_load(path, eng, e) < 0)
        return -1;
    c->rollbacks = c->rolled_to == eng->state.step ? c->rollbacks + 1 : 1;
    c->rolled_to = eng->state.step;
    if (c->rollbacks > MOST_ROLLBACKS)
        return err_set(e, ERR_NONFINITE,
                       "rolled back to step %lld %d times without "
                       "success",
                       (long long)eng->state.step, MOST_ROLLBACKS);
    /* the cause is in the data up to the bad step: continue after it */
    eng->state.skipped = skipped + resolve_sequences_before(eng->set, bad + 1) -
                         resolve_sequences_before(eng->set, eng->state.step);
    eng->state.seconds = seconds;
    eng->clock.started = clock_mono();
    return 0;
}
