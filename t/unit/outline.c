/*
 * outline - a long history in few points is never wrong about its extremes
 */
#include "config.h"
#include "store/read/outline.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/path.h"
#include "store/format/attempt.h"
#include "store/format/metric.h"
#include "store/write/run.h"
#include "t/lib/tap.h"

enum { POINTS = 200000, SPIKE = 123456, BAD = 150000 };

static const struct outline_want whole = { INT64_MIN, INT64_MAX, 500, false };

static char *root, *metric, *cache;

static double value_of(int64_t step)
{
    if (step == BAD)
        return NAN;
    return step == SPIKE ? 99 : 3 + sin((double)step * 0.1);
}

/* Append the points of some steps, in the way of another program. */
static void append(int64_t from, int64_t to)
{
    FILE *f = fopen(metric, "a");

    for (int64_t i = from; f && i < to; i++)
        fprintf(f, "%lld %.17g %lld\n", (long long)(1700000000000 + i * 10),
                value_of(i), (long long)i);
    if (f)
        fclose(f);
}

static bool load(struct runs *runs)
{
    struct err e = { 0 };

    if (runs_load(runs, root, 0, &e) == 0 && runs->n == 1)
        return true;
    diag("%s", e.text);
    return false;
}

static bool outline(struct series *s, const struct outline_want *w)
{
    struct runs runs = { 0 };
    struct err e = { 0 };
    const bool good =
        load(&runs) && series_outline(s, &runs.run[0], "loss", w, &e) == 0;

    if (e.kind)
        diag("%s", e.text);
    runs_free(&runs);
    return good;
}

static bool has_step(const struct series *s, int64_t step)
{
    double ignored;

    return series_value(s, step, &ignored);
}

static int64_t count_weight(const struct series *s)
{
    int64_t n = 0;

    for (size_t i = 0; s->weight && i < s->n; i++)
        n += s->weight[i];
    return n;
}

/* Is every point one that was written, and are they in order? */
static bool is_true(const struct series *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const double v = value_of(s->step[i]);

        if ((i > 0 && s->step[i] < s->step[i - 1]) ||
            s->ms[i] != 1700000000000 + s->step[i] * 10 ||
            memcmp(&v, &s->value[i], sizeof v) != 0)
            return false;
    }
    return s->n > 0;
}

static void test_whole(void)
{
    struct series s;

    ok(outline(&s, &whole), "a long history has an outline");
    ok(s.n > 2000 && s.n < POINTS / 20, "an outline has few points");
    ok(is_true(&s), "the points of an outline are those of the run, in order");
    ok(has_step(&s, SPIKE), "a spike of one step is in the outline");
    ok(has_step(&s, BAD), "a value that is not finite is in the outline");
    ok(has_step(&s, 0) && has_step(&s, POINTS - 1),
       "the ends of a history are in its outline");
    ok(count_weight(&s) == POINTS - 1,
       "each finite point counts once in an outline");
    series_free(&s);
}

static void test_part(void)
{
    const struct outline_want few = { 50000, 50100, 500, false };
    const struct outline_want more = { 50000, 150000, 500, false };
    const struct outline_want samples = { INT64_MIN, INT64_MAX, 500, true };
    struct series s;
    bool all = true;
    size_t inside = 0;

    outline(&s, &few);
    for (int64_t i = 50000; i <= 50100; i++)
        all = all && has_step(&s, i);
    ok(all, "a short range of an outline has all points");
    ok(is_true(&s) && count_weight(&s) == POINTS - 1 && s.n < POINTS / 20,
       "the rest of an outline stays coarse");
    series_free(&s);
    outline(&s, &more);
    for (size_t i = 0; i < s.n; i++)
        inside += s.step[i] >= 50000 && s.step[i] <= 150000;
    ok(inside > 1500 && is_true(&s) && has_step(&s, SPIKE) &&
           count_weight(&s) == POINTS - 1,
       "a wide range has more and smaller blocks");
    series_free(&s);
    outline(&s, &samples);
    ok(!has_step(&s, SPIKE) && is_true(&s) && count_weight(&s) == POINTS - 1,
       "samples do not prefer extremes");
    series_free(&s);
}

/* The file of blocks, or NULL. */
static char *cached(void)
{
    struct path_list names;
    struct err e = { 0 };
    char *path = NULL;

    if (path_list(&names, cache, &e) < 0)
        return NULL;
    for (size_t i = 0; i < names.n; i++)
        if (strstr(names.name[i], ".blocks"))
            path = path_join(cache, names.name[i]);
    path_list_clear(&names);
    return path;
}

/* Change a byte in the middle of a file. */
static void spoil(const char *path)
{
    FILE *f = fopen(path, "r+");

    if (!f)
        return;
    fseek(f, 5000, SEEK_SET);
    fputc('#', f);
    fclose(f);
}

/* A file of blocks of long ago. */
static void make_old(void)
{
    const struct timespec times[2] = { { 1600000000, 0 }, { 1600000000, 0 } };
    char *path = path_join(cache, "old.blocks");
    FILE *f = fopen(path, "w");

    if (f)
        fclose(f);
    utimensat(AT_FDCWD, path, times, 0);
    free(path);
}

static bool has_old(void)
{
    char *path = path_join(cache, "old.blocks");
    const bool has = path_exists(path);

    free(path);
    return has;
}

static void test_cache(void)
{
    char *path = cached();
    struct series s;

    ok(path, "the blocks of a history are cached");
    if (path)
        spoil(path);
    make_old();
    outline(&s, &whole);
    ok(is_true(&s) && count_weight(&s) == POINTS - 1,
       "blocks that were changed are not used");
    series_free(&s);
    ok(!has_old(), "blocks that were not written for long are removed");
    append(POINTS, POINTS + 5000);
    outline(&s, &whole);
    ok(is_true(&s) && has_step(&s, POINTS + 4999) &&
           count_weight(&s) == POINTS + 4999,
       "points that were appended are in the outline");
    series_free(&s);
    free(path);
}

static void test_rewind(const char *run)
{
    struct err e = { 0 };
    struct series s;

    ok(rewind_add(run, 2, SPIKE - 1, 1900000000000, &e) == 0,
       "a history can be retracted");
    outline(&s, &whole);
    ok(!has_step(&s, SPIKE) && count_weight(&s) == SPIKE,
       "retracted points are not in the outline");
    series_free(&s);
    append(SPIKE, SPIKE + 100);
    outline(&s, &whole);
    ok(is_true(&s) && has_step(&s, SPIKE) && count_weight(&s) == SPIKE + 100,
       "points after a resume are in the outline");
    series_free(&s);
}

/* How often a text is in the file of rewinds. */
static int count_in_rewinds(const char *run, const char *text)
{
    char *path = path_join(run, ".gtrack/rewinds");
    struct buf b = BUF_INIT;
    struct err e = { 0 };
    int n = 0;

    buf_read_file(&b, path, 1 << 20, &e);
    for (const char *at = b.s; (at = strstr(at, text)); at++)
        n++;
    buf_clear(&b);
    free(path);
    return n;
}

static void test_rewinds(const char *run)
{
    struct err e = { 0 };

    for (int step = SPIKE; step < SPIKE + 3; step++)
        rewind_add(run, 3, step, 1900000000000, &e);
    ok(e.kind == ERR_NONE && count_in_rewinds(run, "rewind ") == 3 &&
           count_in_rewinds(run, "loss") == 2,
       "a metric without new points is not in a later block");
    append(SPIKE, SPIKE + 2);
    ok(rewind_add(run, 4, SPIKE - 1, 1900000000000, &e) == 0 &&
           count_in_rewinds(run, "rewind ") == 1 &&
           count_in_rewinds(run, "loss") == 1,
       "a block whose points a later one retracts is removed");
}

static void test_disorder(void)
{
    struct series s;

    append(7, 8);
    outline(&s, &whole);
    ok(is_true(&s) && !s.weight,
       "a history whose steps are not in order is loaded with all points");
    series_free(&s);
}

int main(void)
{
    char folder[] = "/tmp/outline-XXXXXX";
    struct err e = { 0 };
    struct run_conf c = { .name = "a", .no_provenance = true };
    struct run *run;
    char *home;

    if (!mkdtemp(folder))
        return 1;
    root = path_join(folder, "runs");
    cache = path_join(folder, "cache");
    setenv("GTRACK_CACHE", cache, 1);
    c.root = root;
    if (run_begin(&run, &c, &e) < 0)
        return 1;
    home = xstrdup(run_folder(run));
    run_end(run, RUN_FINISHED, &e);
    metric = path_join(home, "metrics/loss");
    append(0, POINTS);
    test_whole();
    test_part();
    test_cache();
    test_rewind(home);
    test_rewinds(home);
    test_disorder();
    free(home);
    free(metric);
    free(root);
    free(cache);
    path_remove(folder, &e);
    return done_testing();
}
