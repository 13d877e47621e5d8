#include "config.h"
#include "trainer/training/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"
#include "trainer/model/resolve.h"
#include "trainer/training/checkpoint_files.h"

/* ---- taking a copy ---------------------------------------------------- */

/* What one save writes: a copy of the state, so that training can go on. */
struct checkpoint_writing {
    struct checkpoint *checkpoint;
    struct snapshot snap;
    int64_t step;
    bool best, last;
    pthread_t thread;
    bool threaded;
    struct err e;
};

/* ---- removing old ones ------------------------------------------------ */

static int64_t step_of(const char *name)
{
    char *end;
    long long n;

    if (strncmp(name, "step-", 5) != 0)
        return -1;
    n = strtoll(name + 5, &end, 10);
    return *end || end == name + 5 || n < 0 ? -1 : n;
}

/* The step that the link "best" names, or -1. */
static int64_t best_of(const char *folder)
{
    char *path = path_join(folder, "best"), target[64];
    const ssize_t n = readlink(path, target, sizeof target - 1);

    free(path);
    if (n <= 0)
        return -1;
    target[n] = '\0';
    return step_of(target);
}

static bool kept(const struct checkpoint *c, int64_t step, int64_t newer)
{
    return newer < c->conf->keep_last || step == best_of(c->folder) ||
           (c->conf->keep_every > 0 && step % c->conf->keep_every == 0);
}

static void remove_one(const struct checkpoint *c, const char *name)
{
    char *path = path_join(c->folder, name);
    struct err e = ERR_INIT;

    if (path_remove(path, &e) < 0)
        log_warn("%s", e.text);
    free(path);
}

/* What was half written, and whole ones that no rule keeps. */
static void remove_halves(const struct checkpoint *c)
{
    struct path_list all = PATH_LIST_INIT;

    path_list(&all, c->folder, &(struct err)ERR_INIT);
    for (size_t i = 0; i < all.n; i++)
        if (strncmp(all.name[i], ".step-", 6) == 0)
            remove_one(c, all.name[i]);
    path_list_clear(&all);
}

static void prune(const struct checkpoint *c)
{
    struct path_list all = PATH_LIST_INIT;
    int64_t newer = 0;

    path_list(&all, c->folder, &(struct err)ERR_INIT);
    for (size_t i = all.n; i-- > 0;) {
        const int64_t step = step_of(all.name[i]);

        if (step >= 0 && !kept(c, step, newer++))
            remove_one(c, all.name[i]);
    }
    path_list_clear(&all);
}

/* ---- writing ---------------------------------------------------------- */

static int point_best(const struct checkpoint *c, int64_t step, struct err *e)
{
    char *link = path_join(c->folder, "best");
    char *temp = path_join(c->folder, ".best");
    char name[32];
    int ret = 0;

    snprintf(name, sizeof name, "step-%08lld", (long long)step);
    unlink(temp);
    if (symlink(name, temp) < 0 || rename(temp, link) < 0)
        ret = err_sys(e, "cannot make %s", link);
    free(link);
    free(temp);
    return ret;
}

/* The folder temp in the place of the one at path, if there is one. */
static int take_place(const char *temp, const char *path)
{
    if (rename(temp, path) == 0)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return -1;
    if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
        return path_remove(temp, &(struct err)ERR_INIT);
    path_remove(path, &(struct err)ERR_INIT); /* not every file system swaps */
    return rename(temp, path);
}

static int write_folder(const struct checkpoint_writing *w, const char *path,
                        struct err *e)
{
    const struct checkpoint *c = w->checkpoint;
    char *temp = xasprintf("%s/.step-%08lld", c->folder, (long long)w->step);
    int ret = snapshot_write(&w->snap, temp, e);

    if (ret == 0 && take_place(temp, path) < 0)
        ret = err_sys(e, "cannot rename %s", temp);
    if (ret == 0)
        ret = save_sync_folder(c->folder, e);
    if (ret < 0)
        path_remove(temp, &(struct err)ERR_INIT);
    free(temp);
    return ret;
}

static int write_one(const struct checkpoint_writing *w, struct err *e)
{
    struct checkpoint *c = w->checkpoint;
    char *path = xasprintf("%s/step-%08lld", c->folder, (long long)w->step);
    int ret = path_make(c->folder, e);

    if (ret == 0 && (c->written != w->step || !path_exists(path))) {
        remove_halves(c);
        ret = write_folder(w, path, e);
        c->written = ret == 0 ? w->step : -1;
    }
    if (ret == 0 && w->best)
        ret = point_best(c, w->step, e);
    if (ret == 0)
        prune(c);
    free(path);
    return ret < 0 ? err_wrap(e, "checkpoint of step %lld", (long long)w->step)
                   : 0;
}

/* The disk may have room again when the next one is due. */
static void go_without(const struct checkpoint_writing *w)
{
    struct run *run = w->checkpoint->run;

    log_warn("%s; training goes on without it", w->e.text);
    if (run)
        run_metric(run, "event/checkpoint_lost", w->step, 1);
}

static void *write_thread(void *arg)
{
    struct checkpoint_writing *w = arg;

    if (write_one(w, &w->e) < 0 && !w->last)
        go_without(w);
    return NULL;
}

/* Is it written, or known not to be?  Waits for it, half a second at most. */
static bool joined(struct checkpoint_writing *w)
{
    struct timespec until;

    if (!w->threaded)
        return true;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 500000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    w->threaded = pthread_timedjoin_np(w->thread, NULL, &until) != 0;
    return !w->threaded;
}

static void wait_writing(struct checkpoint *c)
{
    struct checkpoint_writing *w = c->writing;

    if (!w)
        return;
    while (!joined(w))
        ;
    snapshot_clear(&w->snap);
    free(w);
    c->writing = NULL;
}

enum why { WHY_DUE, WHY_BEST, WHY_LAST };

static int save(struct checkpoint *c, struct job *j, enum why why,
                struct err *e)
{
    struct checkpoint_writing *w;
    struct err lost = ERR_INIT;

    if (j->coll.rank != 0)
        return snapshot_join(j, e);
    wait_writing(c);
    w = xcalloc(1, sizeof *w);
    w->checkpoint = c;
    w->step = j->at.step;
    w->best = why == WHY_BEST;
    w->last = why == WHY_LAST;
    c->writing = w;
    if (c->run)
        run_flush(c->run, &lost); /* the run itself says what is lost */
    if (snapshot_take(&w->snap, j, c->run ? run_id(c->run) : "", e) < 0)
        return err_wrap(e, "checkpoint of step %lld", (long long)w->step);
    w->threaded = (c->conf->async || w->last) &&
                  pthread_create(&w->thread, NULL, write_thread, w) == 0;
    if (!w->threaded)
        write_thread(w);
    return 0;
}

int checkpoint_save(struct checkpoint *c, struct job *j, struct err *e)
{
    return save(c, j, WHY_DUE, e);
}

int checkpoint_best(struct checkpoint *c, struct job *j, struct err *e)
{
    return c->conf->keep_best ? save(c, j, WHY_BEST, e) : 0;
}

/* Ranks that left while the first still writes would look like dead ones, and
 * ones that waited in silence like stuck ones. */
int checkpoint_last(struct checkpoint *c, struct job *j, struct err *e)
{
    enum { WRITING, WRITTEN, FAILED };
    int64_t state = WRITING;

    if (save(c, j, WHY_LAST, e) < 0)
        return -1;
    while (state == WRITING) {
        const struct checkpoint_writing *w = c->writing;

        if (w && joined(c->writing))
            state = w->e.kind == ERR_NONE ? WRITTEN : FAILED;
        if (coll_max(&j->coll, &state, e) < 0)
            return -1;
    }
    if (state == FAILED && c->writing)
        *e = c->writing->e;
    else if (state == FAILED)
        err_set(e, ERR_SYSTEM, "checkpoint of step %lld: rank 0 cannot write",
                (long long)j->at.step);
    wait_writing(c);
    return state == FAILED ? -1 : 0;
}

/* The best is what it was, if that is still there. */
static void point_back(const struct checkpoint *c, int64_t step)
{
    char *path = xasprintf("%s/step-%08lld", c->folder, (long long)step);
    char *link = path_join(c->folder, "best");

    if (path_exists(path))
        point_best(c, step, &(struct err)ERR_INIT);
    else
        unlink(link);
    free(path);
    free(link);
}

/*
 * What was saved after the step that training begins at is of another course,
 * as are the metrics that run_rewind() takes back: it would pass for newer than
 * what is saved from here on.
 */
static void set_aside(const struct checkpoint *c, const struct reached *at)
{
    struct path_list all = PATH_LIST_INIT;
    struct err e = ERR_INIT;
    int moved = 0;

    path_list(&all, c->folder, &e);
    for (size_t i = 0; i < all.n; i++) {
        char *path = path_join(c->folder, all.name[i]);
        char *old = xasprintf("%s.old", path);

        if (step_of(all.name[i]) > at->step) {
            path_remove(old, &e);
            if (rename(path, old) < 0)
                log_warn("cannot rename %s: %s", path, strerror(errno));
            moved++;
        }
        free(path);
        free(old);
    }
    path_list_clear(&all);
    if (moved > 0)
        log_info("checkpoints after step %lld have .old added to their names",
                 (long long)at->step);
    if (best_of(c->folder) > at->step)
        point_back(c, at->best_step);
}

/* A folder that is not there, or that cannot be locked, is nobody's. */
static int lock_folder(struct checkpoint *c, struct err *e)
{
    if (*c->conf->folder && path_make(c->folder, e) < 0)
        return err_wrap(e, "checkpoint.folder");
    c->lock = open(c->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->lock < 0 || flock(c->lock, LOCK_EX | LOCK_NB) == 0 ||
        errno != EWOULDBLOCK)
        return 0;
    return err_set(e, ERR_SYSTEM,
                   "another training that runs now keeps its "
                   "checkpoints in %s",
                   c->folder);
}

int checkpoint_open(struct checkpoint *c, const struct job *j,
                    const char *folder, struct run *run, struct err *e)
{
    *c = (struct checkpoint){
        .conf = &j->set->checkpoint, .run = run, .lock = -1, .written = -1
    };
    c->folder = xstrdup(folder);
    if (j->coll.rank != 0)
        return 0;
    if (lock_folder(c, e) < 0)
        return -1;
    set_aside(c, &j->at);
    return 0;
}

void checkpoint_close(struct checkpoint *c)
{
    wait_writing(c);
    if (c->lock >= 0)
        close(c->lock);
    free(c->folder);
    *c = (struct checkpoint){ 0 };
}

/* ---- finding ---------------------------------------------------------- */

char *checkpoint_newest(const char *folder)
{
    struct path_list all = PATH_LIST_INIT;
    struct err e = ERR_INIT;
    char *found = NULL;

    if (path_list(&all, folder, &e) < 0)
        return NULL;
    for (size_t i = all.n; i-- > 0 && !found;) {
        char *path = path_join(folder, all.name[i]);

        e = (struct err)ERR_INIT;
        if (step_of(all.name[i]) < 0) {
            free(path);
        } else if (checkpoint_verify(path, &e) == 0) {
            found = path;
        } else {
            log_warn("passing over %s: %s", path, e.text);
            free(path);
        }
    }
    path_list_clear(&all);
    return found;
}

/* A rollback that leads nowhere is not tried for ever. */
enum { MOST_ROLLBACKS = 5 };

int checkpoint_rollback(struct checkpoint *c, struct job *j, struct report *r,
                        struct err *e)
{
    const int64_t bad = j->at.step, skipped = j->at.skipped;
    const double seconds = job_seconds(j);
    char *path;
    int ret;

    wait_writing(c);
    c->written = -1;
    path = checkpoint_newest(c->folder);
    if (!path)
        return err_set(e, ERR_NONFINITE,
                       "there is no checkpoint to roll back "
                       "to; set checkpoint.every");
    ret = checkpoint_load(path, j, e);
    free(path);
    if (ret < 0)
        return -1;
    c->rollbacks = c->rolled_to == j->at.step ? c->rollbacks + 1 : 1;
    c->rolled_to = j->at.step;
    if (c->rollbacks > MOST_ROLLBACKS)
        return err_set(e, ERR_NONFINITE,
                       "rolled back to step %lld %d times, "
                       "and it went wrong each time",
                       (long long)j->at.step, MOST_ROLLBACKS);
    /* what led astray lies between here and the bad step: go on after it */
    j->at.skipped = skipped + resolve_sequences_before(j->set, bad + 1) -
                    resolve_sequences_before(j->set, j->at.step);
    j->at.seconds = seconds;
    j->started = clock_mono();
    report_rewind(r, j);
    return 0;
}
