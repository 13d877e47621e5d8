/*
 * index - the cache is never wrong, and never needed
 */
#include "config.h"
#include "common/buf.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/path.h"
#include "store/format/attempt.h"
#include "store/read/index.h"
#include "store/read/runs.h"
#include "store/write/run.h"
#include "t/lib/tap.h"

static char *root, *cache;
enum { RUNS = 40 };

static void put(const char *path, const char *text, int flags)
{
    const int fd = open(path, O_WRONLY | flags, 0666);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        diag("cannot write %s", path);
    if (fd >= 0)
        close(fd);
}

/* The cache file, or NULL. */
static char *cache_file(void)
{
    struct path_list names;
    struct err e = { 0 };
    char *path = NULL;

    if (path_list(&names, cache, &e) == 0 && names.n == 1)
        path = path_join(cache, names.name[0]);
    path_list_clear(&names);
    return path;
}

static int load_by(struct runs *runs, int flags)
{
    struct err e = { 0 };
    const int ret = runs_load(runs, root, flags, &e);

    if (ret < 0)
        diag("%s", e.text);
    return ret;
}

static int load(struct runs *runs)
{
    return load_by(runs, 0);
}

/* All that a run says, as text. */
static char *tell(const struct runs *runs)
{
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        buf_printf(&b, "%s %s %s %s %s %d %d %lld %lld %s %s %d\n", r->id,
                   r->name, r->experiment, r->folder, r->user, r->status,
                   r->deleted, (long long)r->start_ms, (long long)r->end_ms,
                   r->damage ? r->damage : "", r->parent ? r->parent : "",
                   r->attempts);
        for (size_t k = 0; k < r->n_params; k++)
            buf_printf(&b, "p %s=%s\n", r->params[k].key, r->params[k].value);
        for (size_t k = 0; k < r->n_tags; k++)
            buf_printf(&b, "t %s=%s\n", r->tags[k].key, r->tags[k].value);
        for (size_t k = 0; k < r->n_inputs; k++)
            buf_printf(&b, "i %s %s\n", r->inputs[k].name,
                       r->inputs[k].context);
        for (size_t k = 0; k < r->n_metrics; k++)
            buf_printf(&b, "m %s %lld %g %g %g %g\n", r->metrics[k].key,
                       (long long)r->metrics[k].count, r->metrics[k].last,
                       r->metrics[k].min, r->metrics[k].max,
                       r->metrics[k].mean);
    }
    return buf_detach(&b);
}

/* With the cache and without it, the same is read; the number of runs that were
 * found to be edited. */
static int same_by(int flags, const char *when)
{
    struct runs with = { 0 }, without = { 0 };
    int edited = 0;
    char *a, *b;

    load_by(&with, flags);
    setenv("GTRACK_CACHE", "", 1);
    load(&without);
    setenv("GTRACK_CACHE", cache, 1);
    a = tell(&with);
    b = tell(&without);
    if (!ok(strcmp(a, b) == 0 && without.n > 0,
            "%s: the index gives what the files give", when)) {
        diag("%.300s", a);
        diag("%.300s", b);
    }
    free(a);
    free(b);
    for (size_t i = 0; i < with.n; i++)
        edited += with.run[i].edited;
    runs_free(&with);
    runs_free(&without);
    return edited;
}

static void same(const char *when)
{
    same_by(0, when);
}

static void make(void)
{
    struct run_conf c = { .root = root,
                          .experiment = "x",
                          .no_provenance = true };
    const struct run_dataset d = { .name = "d", .context = "training" };
    struct err e = { 0 };

    for (int i = 0; i < RUNS; i++) {
        struct run *run;

        if (run_begin(&run, &c, &e) < 0) {
            diag("%s", e.text);
            return;
        }
        run_paramf(run, "lr", "%d", i);
        run_tag(run, "note", "\xc3\xbc\n");
        run_tag(run, "mlflow.note.content", "a\n");
        for (int step = 0; step < 50; step++) {
            run_metric(run, "loss", step, 1.0 / (i + step + 1));
            run_metric(run, "val/loss", step, i);
        }
        if (i == 3)
            run_dataset(run, &d, &e);
        run_end(run, i == 5 ? RUN_PREEMPTED : RUN_FINISHED, &e);
    }
}

/* The folder of run n, with a file in it. */
static char *inside(const char *name, const char *file)
{
    struct runs runs = { 0 };
    char *path = NULL;

    load(&runs);
    for (size_t i = 0; i < runs.n; i++)
        if (strcmp(runs.run[i].name, name) == 0)
            path = path_join(runs.run[i].folder, file);
    runs_free(&runs);
    return path;
}

/* Foreign writes, each in another run that has ended, each as careful as MLflow
 * is.  Some are found only when every file is looked at. */
static void foreign(void)
{
    struct {
        const char *what, *name, *file, *text;
        int flags;
        bool late;
    } writes[] = {
        { "a point more", "run1", "metrics/loss", "1700000000000 99.5 1000\n",
          O_APPEND, true },
        { "a tag written over", "run2", "tags/note", "zz\n", O_TRUNC },
        { "a tag of the same length", "run3", "tags/note", "ab\n", 0 },
        { "a tag more", "run4", "tags/more", "x", O_CREAT },
        { "a parameter more", "run5", "params/more", "x", O_CREAT },
        { "a metric more", "run6", "metrics/more", "1700000000000 1.0 1\n",
          O_CREAT },
        { "a metric more in a folder", "run7", "metrics/val/acc",
          "1700000000000 1.0 1\n", O_CREAT, true },
        { "a parameter edited", "run8", "params/lr", "9", O_TRUNC, true },
        { "a half line", "run9", "metrics/loss", "17000", O_APPEND, true },
        { "a note written over", "run10", "tags/mlflow.note.content", "b\n",
          O_TRUNC },
        { "meta.yaml edited", "run11", "meta.yaml", "", O_TRUNC },
    };

    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        char *path = inside(writes[i].name, writes[i].file);

        put(path, writes[i].text, writes[i].flags);
        if (writes[i].late)
            ok(same_by(LOAD_FRESH, writes[i].what) == 1,
               "%s: the run is said to be edited", writes[i].what);
        same(writes[i].what);
        free(path);
    }
}

static void damage_cache(void)
{
    char *path = cache_file();
    struct buf b = BUF_INIT;
    struct err e = { 0 };

    if (!ok(path && buf_read_file(&b, path, 1 << 28, &e) == 0,
            "the cache is on"))
        return;
    for (size_t i = 0; i < b.len; i += b.len / 25 + 1) {
        b.s[i] ^= 0x40;
        put(path, "", O_TRUNC);
        for (size_t at = 0; at < b.len;) {
            const int fd = open(path, O_WRONLY | O_APPEND);
            const ssize_t n = write(fd, b.s + at, b.len - at);

            close(fd);
            if (n <= 0)
                break;
            at += (size_t)n;
        }
        same("a changed byte in the cache");
        b.s[i] ^= 0x40;
    }
    ok(truncate(path, (off_t)b.len / 2) == 0, "the cache is cut in half");
    same("half a cache");
    unlink(path);
    same("no cache");
    mkdir(path, 0777);
    same("a folder in its place");
    rmdir(path);
    buf_clear(&b);
    free(path);
}

/* A run of n of everything, with the shortest names there are, is packed and
 * unpacked: a bound that asks for more bytes than that would refuse it. */
static void test_pack(size_t n)
{
    struct arena mem = { 0 };
    struct pair *pair = arena_alloc(&mem, n * sizeof *pair);
    struct metric_sum *metric = arena_alloc(&mem, n * sizeof *metric);
    struct run_dataset *input = arena_alloc(&mem, n * sizeof *input);
    struct attempt *attempt = arena_alloc(&mem, n * sizeof *attempt);
    struct run_info run = { .id = "", .user = "" }, back = { 0 };
    const char *const what[] = { "parameters", "tags", "metrics", "inputs",
                                 "attempts" };

    for (size_t i = 0; i < n; i++) {
        pair[i] = (struct pair){ "", "" };
        metric[i] = (struct metric_sum){ .key = "" };
        input[i] = (struct run_dataset){ .name = "" };
        attempt[i] = (struct attempt){ 0 };
    }
    for (int k = 0; k < 5; k++) {
        struct run_info one = run;
        struct buf b = BUF_INIT;
        struct unpack_keep keep = { 0 };
        struct unpack u;

        one.params = pair;
        one.tags = pair;
        one.metrics = metric;
        one.inputs = input;
        one.attempt = attempt;
        one.n_params = k == 0 ? n : 0;
        one.n_tags = k == 1 ? n : 0;
        one.n_metrics = k == 2 ? n : 0;
        one.n_inputs = k == 3 ? n : 0;
        one.attempts = k == 4 ? (int)n : 0;
        pack_run(&b, &one);
        u = (struct unpack){ b.s, b.s + b.len, true, &keep };
        ok(unpack_run(&u, &back) && u.at == u.end &&
               back.n_params == one.n_params && back.n_tags == one.n_tags &&
               back.n_metrics == one.n_metrics &&
               back.n_inputs == one.n_inputs && back.attempts == one.attempts,
           "%zu %s with the shortest names are packed and unpacked", n,
           what[k]);
        buf_clear(&b);
        arena_clear(&keep.mem);
    }
    arena_clear(&mem);
}

/* Runs that are unpacked one after the other share texts that are in the same
 * place, however many they have. */
static void test_share(void)
{
    enum { MOST = 700 };
    static struct pair pair[MOST];
    static char key[MOST][8];
    struct run_info run = { .id = "a", .user = "me", .params = pair };
    struct run_info back[4] = { 0 };
    struct unpack_keep keep = { 0 };
    const size_t n[] = { 2, MOST, 3, MOST };

    for (size_t i = 0; i < MOST; i++) {
        snprintf(key[i], sizeof key[i], "k%zu", i);
        pair[i] = (struct pair){ key[i], key[i] };
    }
    for (size_t k = 0; k < 4; k++) {
        struct buf b = BUF_INIT;
        struct unpack u;

        pair[1].value = k == 3 ? "other" : "same";
        run.n_params = n[k];
        pack_run(&b, &run);
        u = (struct unpack){ b.s, b.s + b.len, true, &keep };
        ok(unpack_run(&u, &back[k]), "a run of %zu parameters is unpacked",
           n[k]);
        buf_clear(&b);
    }
    for (size_t k = 0; k < 4; k++) {
        const struct pair *p = back[k].params;
        bool right = strcmp(p[1].value, k == 3 ? "other" : "same") == 0;

        for (size_t i = 0; i < n[k]; i++)
            right = right && strcmp(p[i].key, key[i]) == 0 &&
                    (i == 1 || strcmp(p[i].value, key[i]) == 0);
        ok(right, "run %zu still has its own texts", k);
    }
    ok(back[1].id == back[0].id &&
           back[1].params[1].key == back[0].params[1].key,
       "a text that the run before has in its place is not copied");
    arena_clear(&keep.mem);
}

int main(void)
{
    struct stat st;
    char folder[] = "/tmp/gtrack-index.XXXXXX";
    struct runs runs = { 0 };
    struct err e = { 0 };
    char *path, now[32];

    if (!mkdtemp(folder))
        return 1;
    root = path_join(folder, "mlruns");
    cache = path_join(folder, "cache");
    setenv("GTRACK_CACHE", cache, 1);
    snprintf(now, sizeof now, "%lld", (long long)clock_wall_ms());
    for (size_t n = 0; n < 40; n += 13)
        test_pack(n);
    test_share();
    make();
    setenv("GT_CLOCK_MS", now, 1); /* however long that took */
    load(&runs);
    runs_free(&runs);
    path = cache_file();
    ok(!path, "a folder that changed just now is not cached");
    free(path);
    setenv("GT_CLOCK_MS", "4000000000000", 1); /* much later */
    same("a first time");
    path = cache_file();
    ok(path != NULL, "a cache is written");
    ok(path && stat(path, &st) == 0 && (st.st_mode & 0777) == 0600,
       "other users cannot read the cache of a store");
    free(path);
    same("from the cache");
    foreign();
    damage_cache();
    path_remove(folder, &e);
    free(cache);
    free(root);
    return done_testing();
}
