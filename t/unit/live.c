/*
 * live - a store that is read again after it has changed
 */
#include "config.h"
#include "track/serve/live.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"
#include "store/write/new_run.h"
#include "store/write/run.h"
#include "t/lib/tap.h"

static struct run *begin(const char *root, const char *name)
{
    const struct run_conf c = { .root = root,
                                .name = name,
                                .no_provenance = true };
    struct err e = { 0 };
    struct run *run;

    if (run_begin(&run, &c, &e) < 0) {
        printf("Bail out! %s\n", e.text);
        exit(1);
    }
    return run;
}

static void log_point(struct run *run, int64_t step)
{
    struct err e = { 0 };

    run_metric(run, "train/loss", step, 1.0 / (double)step);
    run_flush(run, &e);
}

/* What live_changed() says; the caller frees it. */
static char *changed(const struct live *l)
{
    struct buf b = BUF_INIT;
    struct emit o = { .b = &b };

    live_changed(l, &o);
    return buf_detach(&b);
}

static int64_t points(const struct live *l, const char *id)
{
    for (size_t i = 0; i < l->runs.n; i++)
        if (strcmp(l->runs.run[i].id, id) == 0) {
            const struct metric_sum *m =
                run_info_metric(&l->runs.run[i], "train/loss");

            return m ? m->count : 0;
        }
    return -1;
}

static void test_points(struct live *l, struct run *a, struct run *b)
{
    char *ids[] = { xstrdup(run_id(a)), xstrdup(run_id(b)) }, *text;

    live_look(l);
    live_read(l); /* once more, since runs were running when it was opened */
    ok(l->runs.n == 2, "all runs of a store are read");
    log_point(a, 2);
    live_look(l);
    if (!l->changes.seen) {
        skip("inotify is not there", "a point of a run is noticed");
        return;
    }
    ok(l->changes.n == 1 && !l->changes.all &&
           strcmp(l->changes.id[0], run_id(a)) == 0,
       "a point of a run is noticed");
    ok(live_read(l) && points(l, run_id(a)) == 2,
       "a run that has changed is read again");
    text = changed(l);
    ok(strstr(text, run_id(a)) && !strstr(text, run_id(b)),
       "only the run that has changed is named");
    free(text);
    ok(live_since(l, ids, 1) == l->version &&
           live_since(l, ids + 1, 1) < l->version,
       "only the run that has changed is of the newest version");
    free(ids[0]);
    free(ids[1]);
    for (int64_t step = 3; step < 20; step++) {
        log_point(a, step);
        log_point(b, step);
        live_look(l);
        live_read(l);
    }
    ok(points(l, run_id(a)) == 19 && points(l, run_id(b)) == 17,
       "runs are read again as often as they change");
    live_look(l);
    ok(l->changes.n == 0 && !l->changes.all,
       "nothing is noticed if nothing changes");
}

/* A point that is logged after the end of a run, which was read after it. */
static void test_ended(const char *root, const char *id)
{
    const struct metric_point more = { 1700000000000, 20, 0.5 };
    struct stored_run run;
    struct live l;
    struct err e = { 0 };
    int64_t before;

    live_open(&l, root, 0);
    live_read(&l);
    live_look(&l);
    live_read(&l);
    before = points(&l, id);
    for (size_t i = 0; i < l.runs.n; i++)
        if (strcmp(l.runs.run[i].id, id) == 0 &&
            stored_run_open(&run, l.runs.run[i].folder, &e) == 0) {
            stored_run_points(&run, "train/loss", &more, 1, &e);
            stored_run_close(&run);
        }
    live_look(&l);
    ok(l.changes.n == 1 || !l.changes.seen,
       "a point of a run that has ended is noticed");
    ok(live_read(&l) && points(&l, id) == before + 1,
       "a run that has ended is read again");
    live_close(&l);
}

static void test_store(struct live *l, const char *root)
{
    char *away = xasprintf("%s-away", root);
    const int64_t before = l->version;
    struct err e = { 0 };
    struct run *run = begin(root, "c");

    live_look(l);
    ok(l->changes.all || !l->changes.seen, "a new run is noticed");
    ok(live_read(l) && l->runs.n == 3 && l->version > before,
       "a new run is read");
    run_end(run, RUN_FINISHED, &e);
    rename(root, away);
    live_look(l);
    ok(l->changes.all || !l->changes.seen, "a store that goes is noticed");
    ok(live_read(l) && l->runs.n == 0 && l->problem.kind == ERR_MISSING,
       "a store that is gone has no runs, and a reason");
    ok(!live_read(l), "a store that stays away does not change");
    rename(away, root);
    ok(live_read(l) && l->runs.n == 3 && l->problem.kind == ERR_NONE,
       "a store that is back has its runs");
    free(away);
}

int main(void)
{
    char folder[] = "/tmp/live-XXXXXX";
    struct err e = { 0 };
    struct run *a, *b;
    struct live l;
    char *root, id[33];

    setenv("GTRACK_CACHE", "", 1);
    if (!mkdtemp(folder))
        return 1;
    root = path_join(folder, "runs");
    a = begin(root, "a");
    b = begin(root, "b");
    log_point(a, 1);
    live_open(&l, root, 0);
    live_read(&l);
    test_points(&l, a, b);
    snprintf(id, sizeof id, "%s", run_id(a));
    run_end(a, RUN_FINISHED, &e);
    run_end(b, RUN_FINISHED, &e);
    live_read(&l);
    test_ended(root, id);
    test_store(&l, root);
    live_close(&l);
    free(root);
    path_remove(folder, &e);
    return done_testing();
}
