/*
 * edit - names of keys, the lives of runs and experiments, a store that goes
 */
#include "config.h"
#include "common/buf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/path.h"
#include "common/save.h"
#include "store/format/attempt.h"
#include "store/format/meta.h"
#include "store/format/store.h"
#include "store/fsck/fsck.h"
#include "store/read/runs.h"
#include "store/write/edit.h"
#include "store/write/run.h"
#include "t/lib/tap.h"

static char *folder, *root;

static bool is(const char *got, const char *want)
{
    if (got && strcmp(got, want) == 0)
        return true;
    diag("got %s, want %s", got ? got : "nothing", want);
    return false;
}

static bool good(int ret, const struct err *e)
{
    if (ret < 0)
        diag("%s", e->text);
    return ret == 0;
}

static struct run *begin(const char *experiment, const char *name)
{
    struct run_conf c = { .root = root,
                          .experiment = experiment,
                          .name = name,
                          .no_provenance = true,
                          .flush_secs = 0.05 };
    struct err e = { 0 };
    struct run *run = NULL;

    good(run_begin(&run, &c, &e), &e);
    return run;
}

/* The runs of a name, deleted ones too; the first of them. */
static const struct run_info *look(struct runs *runs, const char *name)
{
    struct err e = { 0 };
    char *word = xstrdup(name);

    runs_free(runs);
    good(runs_select(runs, root, &word, 1, LOAD_DELETED, &e), &e);
    free(word);
    return runs->n ? &runs->run[0] : NULL;
}

static void keys(void)
{
    struct run *run = begin("x", "keys");
    struct runs runs = { 0 };
    struct err e = { 0 };
    const struct run_info *r;

    run_metric(run, "loss", 1, 1);
    run_metric(run, "loss/val", 1, 2);
    run_metric(run, "acc/top", 1, 3);
    run_metric(run, "acc", 1, 4);
    run_metric(run, "a~", 1, 5);
    run_metric(run, "a@", 1, 6);
    run_metric(run, "a_", 1, 7);
    run_param(run, "same", "1");
    run_param(run, "same", "2");
    run_param(run, "bad", "\xff");
    run_tag(run, "x=y", "z");
    ok(good(run_end(run, RUN_FINISHED, &e), &e),
       "runs with odd keys are written");
    r = look(&runs, "keys");
    ok(r && !r->damage && r->n_metrics == 7,
       "different odd keys stay different: %zu", r ? r->n_metrics : 0);
    ok(r && run_info_metric(r, "loss_/val")->last == 2 &&
           run_info_metric(r, "acc_")->last == 4,
       "a file and a folder of one name get different names");
    ok(r && is(run_info_tag(r, "gtrack.key.metrics.a_"), "a~") &&
           is(run_info_tag(r, "gtrack.key.metrics.a__"), "a@") &&
           is(run_info_tag(r, "gtrack.key.metrics.acc_"), "acc") &&
           is(run_info_tag(r, "gtrack.key.tags.x_y"), "x=y"),
       "the original keys are recorded");
    ok(r && is(run_info_param(r, "same"), "1"),
       "a parameter keeps its first value");
    ok(r && is(run_info_param(r, "bad"), "\xef\xbf\xbd"),
       "a bad byte becomes U+FFFD");
    runs_free(&runs);
}

static void lives(void)
{
    struct run *run = begin("x", "one");
    struct runs runs = { 0 };
    struct err e = { 0 };
    const struct run_info *r = look(&runs, "one");

    ok(r && r->status == RUN_RUNNING && edit_delete(r, &e) < 0 &&
           e.kind == ERR_USAGE,
       "a run being written is not deleted: %s", e.text);
    ok(r && good(edit_name(r, "uno", &e), &e) &&
           good(edit_tag(r, "note", "x", &e), &e),
       "a run being written can be renamed");
    good(run_end(run, RUN_FAILED, &e), &e);
    r = look(&runs, "uno");
    ok(r && r->status == RUN_FAILED && is(run_info_tag(r, "note"), "x"),
       "a renamed run keeps its name when it ends");
    ok(good(edit_delete(r, &e), &e) && (r = look(&runs, "uno")) && r->deleted,
       "a run that has ended is deleted");
    ok(good(edit_restore(r, &e), &e) && (r = look(&runs, "uno")) && !r->deleted,
       "a deleted run is restored");
    ok(edit_remove(root, r, &e) < 0, "only a deleted run is removed: %s",
       e.text);
    ok(edit_tag(r, "a@", "x", &e) < 0 && e.kind == ERR_USAGE,
       "a bad key is refused: %s", e.text);
    good(edit_delete(r, &e), &e);
    r = look(&runs, "uno");
    ok(r && good(edit_remove(root, r, &e), &e), "a deleted run is removed");
    runs_free(&runs);
    good(runs_load(&runs, root, LOAD_DELETED, &e), &e);
    ok(runs.n == 1, "a removed run is gone");
    runs_free(&runs);
}

static void experiments(void)
{
    char *trash = path_join(root, STORE_TRASH), *from, *to, *id = NULL;
    struct experiments all;
    struct runs runs = { 0 };
    struct err e = { 0 };

    good(run_end(begin("to go", "in it"), RUN_FINISHED, &e), &e);
    good(store_experiment(root, "to go", &id, &e), &e);
    from = path_join(root, id);
    to = path_join(trash, id);
    rename(from, to); /* as MLflow does it */
    good(experiments_load(&all, root, PATH_NO_LINKS, &e), &e);
    ok(all.n == 3 && all.item[2].deleted && is(all.item[2].name, "to go"),
       "an experiment in the trash is deleted");
    experiments_free(&all);
    ok(look(&runs, "in it") && runs.run[0].deleted,
       "a deleted experiment takes its run with it");
    free(id);
    ok(store_experiment(root, "to go", &id, &e) < 0 && e.kind == ERR_USAGE,
       "the name of a deleted experiment is not reused: %s", e.text);
    ok(store_experiment(root, "it's", &id, &e) < 0,
       "an experiment name with a quote is refused");
    rename(to, from);
    ok(look(&runs, "in it") && !runs.run[0].deleted,
       "an experiment that is taken out of the trash has its run again");
    runs_free(&runs);
    free(to);
    free(from);
    free(trash);
}

static void moved(void)
{
    char *other = path_join(folder, "moved here"), *was = root;
    struct runs runs = { 0 };
    struct err e = { 0 };
    int64_t count;

    if (rename(root, other) < 0)
        return;
    root = other;
    ok(look(&runs, "keys") != NULL, "a store that was moved is read");
    ok(good(edit_uris(root, true, &count, &e), &e) && count >= 4,
       "the URIs of a moved store are corrected: %lld", (long long)count);
    ok(strstr(look(&runs, "keys")->artifact_uri, "/moved%20here/"),
       "corrected URIs are escaped");
    good(edit_uris(root, true, &count, &e), &e);
    ok(count == 0, "corrected URIs need no second correction");
    runs_free(&runs);
    root = was;
    rename(other, root);
    free(other);
}

/* The store is taken away under a writer, and comes back. */
static void vanished(void)
{
    struct run *run = begin("x", "lasting");
    char *away = path_join(folder, "away");
    struct runs runs = { 0 };
    struct err e = { 0 };
    const struct run_info *r;
    FILE *blocker;

    run_metric(run, "loss", 1, 1);
    ok(good(run_flush(run, &e), &e), "a run begins and is written");
    rename(root, away);
    blocker = fopen(root, "w"); /* nothing can be made in its place */
    fclose(blocker);
    run_metric(run, "loss", 2, 2);
    run_rewind(run, 1);
    run_metric(run, "loss", 2, 3);
    run_tag(run, "late", "yes");
    ok(run_flush(run, &e) < 0, "the store is gone: %s", e.text);
    unlink(root);
    rename(away, root);
    ok(good(run_end(run, RUN_FINISHED, &e), &e),
       "a run is written when its store is back");
    r = look(&runs, "lasting");
    ok(r && !r->damage && run_info_metric(r, "loss")->count == 2 &&
           run_info_metric(r, "loss")->retracted == 1 &&
           run_info_metric(r, "loss")->last == 3 &&
           is(run_info_tag(r, "late"), "yes"),
       "no point was lost while the store was gone");
    runs_free(&runs);
    free(away);
}

/* The attempt of a child that has ended and is still in the table. */
static void become_ended_child(struct attempt *a)
{
    struct arena mem = { 0 };
    int way[2];

    if (pipe(way) < 0)
        return;
    a->pid = fork();
    if (a->pid == 0) {
        attempt_self(a, &mem, 1);
        _exit(write(way[1], &a->pid_start, sizeof a->pid_start) < 0);
    }
    ok(read(way[0], &a->pid_start, sizeof a->pid_start) == sizeof a->pid_start,
       "a child says when it began");
    waitid(P_PID, (id_t)a->pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
    close(way[0]);
    close(way[1]);
}

static void states(void)
{
    enum { MINUTE = 60000 };
    struct arena mem = { 0 };
    struct attempt a;
    struct err e = { 0 };
    const int64_t now = clock_wall_ms();
    int held;

    attempt_self(&a, &mem, 1);
    ok(attempt_status(folder, &a, now) == RUN_RUNNING &&
           attempt_status(folder, &a, now + 60 * MINUTE) == RUN_RUNNING,
       "a run whose process lives is running, whatever the clock says");
    a.pid_start++;
    ok(attempt_status(folder, &a, now) == RUN_STALE,
       "a run whose process id was reused is stale");
    attempt_self(&a, &mem, 1);
    become_ended_child(&a);
    ok(attempt_status(folder, &a, now) == RUN_STALE,
       "a process that has ended is gone, though nobody waited for it");
    waitpid((pid_t)a.pid, NULL, 0);
    a.pids = "pid:[1]";
    ok(attempt_status(folder, &a, now) == RUN_RUNNING,
       "a process of another namespace is not looked for in this one");
    a.pids = "";
    ok(attempt_status(folder, &a, now) == RUN_RUNNING,
       "a process is not taken for dead where nothing is known of it");
    attempt_self(&a, &mem, 1);
    a.boot = "another";
    ok(attempt_status(folder, &a, now + MINUTE) == RUN_RUNNING &&
           attempt_status(folder, &a, now - MINUTE) == RUN_RUNNING &&
           attempt_status(folder, &a, now + 60 * MINUTE) == RUN_RUNNING,
       "the clock of another machine tells nothing");

    attempt_self(&a, &mem, 1);
    a.pids = "pid:[1]";
    a.pid_start = 1;
    held = attempt_lock(folder, &a, &mem, &e);
    ok(held >= 0 && attempt_life(folder, &a) == ATTEMPT_HERE &&
           attempt_status(folder, &a, now + 60 * MINUTE) == RUN_RUNNING,
       "a process that holds its lock is alive: %s", e.text);
    a.boot = "another";
    ok(attempt_life(folder, &a) == ATTEMPT_ALIVE,
       "a process of another machine that holds its lock is alive");
    close(held);
    ok(attempt_life(folder, &a) == ATTEMPT_UNKNOWN,
       "a free lock of another machine tells nothing");
    attempt_self(&a, &mem, 1);
    a.pids = "pid:[1]";
    a.pid_start = 1;
    held = attempt_lock(folder, &a, &mem, &e);
    close(held);
    ok(attempt_life(folder, &a) == ATTEMPT_GONE,
       "a free lock of this machine tells that the process is gone");
    a.status = RUN_FAILED;
    ok(attempt_status(folder, &a, now) == RUN_FAILED,
       "a run that has ended is not stale");
    arena_clear(&mem);
}

/* A folder that becomes a link after it was opened. */
static void pinned(void)
{
    char *run = path_join(folder, "pinned"), *away = path_join(folder, "away");
    char *tags = path_join(run, "tags"), *file = path_join(tags, "x");
    char *there = path_join(away, "x"), *kept = path_join(run, "kept");
    struct err e = { 0 };
    struct path_pin pin;

    path_make(run, &e);
    path_make(away, &e);
    ok(path_pin(&pin, file, run, &e) == 0 && path_is_folder(tags),
       "the folder of a file is made");
    if (rename(tags, kept) == 0 && symlink(away, tags) == 0)
        save_text(pin.name, "x", &e);
    path_unpin(&pin, &e);
    free(file);
    file = path_join(kept, "x");
    ok(path_exists(file) && !path_exists(there),
       "a file is written to the folder that was checked, not to a link that "
       "took its place");
    ok(path_pin(&pin, there, away, &e) == 0 &&
           err_set(&e, ERR_INPUT, "bad %s", pin.name) < 0,
       "a folder is opened by its own path");
    path_unpin(&pin, &e);
    ok(strstr(e.text, there) != NULL, "a message has the path of the file");
    e = (struct err){ 0 };
    free(file);
    file = path_join(tags, "x");
    ok(store_write_below(run, file, there, "x", 1, false, &e) < 0 &&
           store_write_below(run, file, file, "y", 1, false, &e) < 0 &&
           !path_exists(there),
       "a file and its temporary one are not written behind a link");
    e = (struct err){ 0 };
    save_text(there, "x", &e);
    ok(store_remove_below(run, file, false, &e) < 0 && path_exists(there),
       "no file behind a link is removed: %s", e.text);
    e = (struct err){ 0 };
    free(kept);
    kept = path_join(run, "kept/x");
    ok(store_rename_below(run, kept, run, file, &e) < 0 && path_exists(kept),
       "no file is moved behind a link: %s", e.text);
    e = (struct err){ 0 };
    ok(path_open_below(run, file, PATH_NO_LINKS, &e) < 0,
       "no file behind a link is read: %s", e.text);
    e = (struct err){ 0 };
    ok(path_remove(run, &e) == 0 && !path_exists(run) && path_exists(there),
       "a folder is removed with its links, but without what they lead to: %s",
       e.text);
    free(run);
    free(away);
    free(tags);
    free(file);
    free(there);
    free(kept);
}

/* The folders of a run, of which one becomes a link while fsck repairs them. */
struct exchange {
    char *inside, *kept, *away;
    bool done;
};

static void exchange(void *arg, const struct fsck_finding *f)
{
    struct exchange *x = arg;

    if (!x->done && strncmp(f->file, "metrics/", 8) == 0)
        x->done =
            rename(x->inside, x->kept) == 0 && symlink(x->away, x->inside) == 0;
}

/* Do files of these names, damaged in one way each, still have their text? */
static bool is_kept(const char *away)
{
    static const char *const name[] = { "b", "c", "d@" };
    bool kept = true;

    for (size_t i = 0; i < 3; i++) {
        char *path = path_join(away, name[i]);
        struct buf text = BUF_INIT;
        struct err e = { 0 };

        kept = buf_read_file(&text, path, 100, &e) == 0 &&
               is(text.s, i == 0 ? "" : "junk\n") && kept;
        buf_clear(&text);
        free(path);
    }
    return kept;
}

static void damage(const char *place)
{
    char *a = path_join(place, "a"), *b = path_join(place, "b"),
         *c = path_join(place, "c"), *d = path_join(place, "d@");
    struct err e = { 0 };

    save_text(a, "junk\n", &e);
    save_text(b, "", &e);
    save_text(c, "junk\n", &e);
    save_text(d, "junk\n", &e);
    free(a);
    free(b);
    free(c);
    free(d);
}

static void repaired(void)
{
    struct exchange x = { .away = path_join(folder, "victim") };
    struct runs runs = { 0 };
    struct err e = { 0 };
    const struct run_info *r;

    good(run_end(begin("x", "damaged"), RUN_FINISHED, &e), &e);
    r = look(&runs, "damaged");
    x.inside = path_join(r->folder, "metrics");
    x.kept = path_join(r->folder, "kept");
    path_make(x.away, &e);
    damage(x.inside);
    damage(x.away);
    fsck_run(r, true, exchange, &x, &e);
    ok(x.done && is_kept(x.away),
       "a repair changes nothing behind a link that takes the place of a "
       "folder: %s",
       e.text);
    free(x.away);
    free(x.inside);
    free(x.kept);
    runs_free(&runs);
}

/* What a kill leaves of an input is not part of the next one. */
static void inputs(void)
{
    const struct run_dataset in = { .name = "stories", .digest = "1" };
    struct err e = { 0 };
    struct run *run = begin("Default", "reads");
    char *id = run ? xstrdup(run_id(run)) : NULL;
    char *dir = run ? xstrdup(run_folder(run)) : NULL, *left;
    char *input = path_join(dir, "inputs");
    struct path_list l = { 0 };

    ok(good(dataset_save(dir, id, &in, &e), &e) &&
           path_list(&l, input, &e) == 0 && l.n == 1,
       "a run has the dataset that it read: %s", e.text);
    left = xasprintf("%s/" STORE_OWN "/%s.new/new.1.tmp", dir,
                     l.n ? l.name[0] : "");
    path_remove(input, &e);
    path_make_parent(left, &e);
    save_text(left, "half", &e);
    dataset_save(dir, id, &in, &e);
    free(input);
    input = xasprintf("%s/inputs/%s", dir, l.n ? l.name[0] : "");
    path_list_clear(&l);
    ok(path_list(&l, input, &e) == 0 && l.n == 1 && is(l.name[0], STORE_META),
       "what was left of an input that was killed is not in the next: %s",
       e.text);
    path_list_clear(&l);
    run_end(run, RUN_FINISHED, &e);
    free(input);
    free(left);
    free(dir);
    free(id);
}

int main(void)
{
    char temp[] = "/tmp/gtrack-edit.XXXXXX", *own;
    struct err e = { 0 };

    folder = mkdtemp(temp);
    if (!folder)
        return 1;
    root = path_join(folder, "mlruns");
    keys();
    lives();
    experiments();
    moved();
    vanished();
    pinned();
    repaired();
    inputs();
    own = path_join(folder, STORE_OWN);
    path_make(own, &e);
    states();
    free(own);
    path_remove(folder, &e);
    free(root);
    return done_testing();
}
