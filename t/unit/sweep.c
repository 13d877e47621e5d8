/*
 * sweep - cells of a search, from a file and from options
 */
#include "config.h"
#include "t/lib/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/num.h"
#include "sweep/sweep.h"
#include "sweep/sweep_run.h"

static char *write_file(const char *text)
{
    char *path = xstrdup("/tmp/sweep-XXXXXX");
    const int fd = mkstemp(path);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
    close(fd);
    return path;
}

static void test_grid(void)
{
    struct sweep s;
    struct err e = { 0 };
    char *path = write_file("[model]\nwidth = 64\n"
                            "[sweep]\nseeds = 2\n"
                            "[grid]\noptim.lr = 1e-2, 1e-3 , 1e-4\n"
                            "model.layers = 2, 4\n");
    bool all_differ = true;

    sweep_init(&s, "train.seed");
    if (!ok(sweep_read(&s, path, &e) == 0 && sweep_expand(&s, &e) == 0,
            "a grid is read from a file"))
        diag("%s", e.text);
    ok(s.n_cells == 12, "3 rates, 2 depths and 2 seeds are 12 cells");
    ok(s.n_sets == 1 && strcmp(s.set[0].key, "model.width") == 0 &&
           strcmp(s.set[0].value, "64") == 0,
       "settings of the file that are not of the search go to every cell");
    ok(strncmp(s.set[0].where, path, strlen(path)) == 0 &&
           strncmp(s.axis[0].where, path, strlen(path)) == 0,
       "settings and axes have their place in the file: %s, %s", s.set[0].where,
       s.axis[0].where);
    ok(strcmp(s.cell[0].value[0], "1e-2") == 0 &&
           strcmp(s.cell[11].value[0], "1e-4") == 0 &&
           strcmp(s.cell[1].value[2], "2") == 0,
       "the last axis changes fastest");
    for (size_t i = 0; i < s.n_cells; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(s.cell[i].id, s.cell[j].id) == 0)
                all_differ = false;
    ok(all_differ, "every cell has a different id");
    sweep_clear(&s);
    unlink(path);
    free(path);
}

/* A value keeps its cell's id when the grid around it changes. */
static void test_ids(void)
{
    struct sweep a, b;
    struct err e = { 0 };

    sweep_init(&a, "train.seed");
    sweep_init(&b, "train.seed");
    sweep_assign(&a, SWEEP_GRID, "optim.lr=1e-3,1e-4", "t", &e);
    sweep_assign(&a, SWEEP_GRID, "model.width=64", "t", &e);
    sweep_assign(&b, SWEEP_GRID, "model.width=32,64", "t", &e);
    sweep_assign(&b, SWEEP_GRID, "optim.lr=1e-2,1e-4", "t", &e);
    if (!ok(sweep_expand(&a, &e) == 0 && sweep_expand(&b, &e) == 0,
            "two grids with a common cell are expanded"))
        diag("%s", e.text);
    ok(strcmp(a.cell[1].id, b.cell[3].id) == 0,
       "equal assignments have equal ids in both grids");
    sweep_clear(&a);
    sweep_clear(&b);
}

static void test_draws(void)
{
    struct sweep s, more;
    struct err e = { 0 };
    double x;
    int low = 0;
    bool same = true, inside = true;

    sweep_init(&s, "train.seed");
    sweep_init(&more, "train.seed");
    s.samples = 400;
    more.samples = 500;
    sweep_assign(&s, SWEEP_RANDOM, "optim.lr=loguniform(1e-4, 1e-2)", "t", &e);
    sweep_assign(&s, SWEEP_RANDOM, "model.layers=integer(2, 5)", "t", &e);
    sweep_assign(&more, SWEEP_RANDOM, "optim.clip=choice(0.5, 1)", "t", &e);
    sweep_assign(&more, SWEEP_RANDOM, "optim.lr=loguniform(1e-4, 1e-2)", "t",
                 &e);
    ok(sweep_expand(&s, &e) == 0 && s.n_cells == 400, "400 samples are drawn");
    ok(sweep_expand(&more, &e) == 0 && more.n_cells == 500,
       "500 samples are drawn");
    for (size_t i = 0; i < s.n_cells; i++) {
        same = same && strcmp(s.cell[i].value[0], more.cell[i].value[1]) == 0;
        inside = inside && num_real(s.cell[i].value[0], &x) && x >= 1e-4 &&
                 x <= 1e-2;
        low += x < 1e-3;
    }
    ok(same, "another axis and more samples do not change the draws");
    ok(inside, "all draws are inside the range");
    ok(low > 160 && low < 240,
       "half of the draws are below the geometric mean");
    sweep_clear(&s);
    sweep_clear(&more);
}

static void test_equal_draws(void)
{
    struct sweep s;
    struct err e = { 0 };
    bool all_differ = true;

    sweep_init(&s, "train.seed");
    s.samples = 40;
    s.seeds = 2;
    sweep_assign(&s, SWEEP_RANDOM, "optim.name=choice(adamw, muon, lion)", "t",
                 &e);
    sweep_assign(&s, SWEEP_RANDOM, "model.layers=integer(1, 2)", "t", &e);
    ok(sweep_expand(&s, &e) == 0 && s.n_cells == 12 && s.n_groups == 6,
       "combinations that are drawn again are no further cells");
    for (size_t i = 0; i < s.n_cells; i++)
        for (size_t j = 0; j < i; j++)
            all_differ = all_differ && strcmp(s.cell[i].id, s.cell[j].id) != 0;
    ok(all_differ, "no two cells have equal values");
    sweep_clear(&s);
}

static void test_spaces(void)
{
    struct sweep s;
    struct err e = { 0 };

    sweep_init(&s, "train.seed");
    sweep_assign(&s, SWEEP_GRID, "optim.lr=logspace(1e-4, 1e-2, 3)", "t", &e);
    sweep_assign(&s, SWEEP_GRID, "optim.clip=linspace(0, 1, 5)", "t", &e);
    ok(sweep_expand(&s, &e) == 0 && s.n_cells == 15,
       "logspace(3) and linspace(5) are 15 cells");
    ok(strcmp(s.axis[0].value[1], "0.001") == 0 &&
           strcmp(s.axis[1].value[1], "0.25") == 0 &&
           strcmp(s.axis[1].value[4], "1") == 0,
       "the values of logspace and linspace are exact");
    sweep_clear(&s);
}

/* The lowest values are those nearest to 0.01, 7 and b. */
static double bowl(const struct sweep *s, size_t cell)
{
    double x = 0, n = 0;

    num_real(s->cell[cell].value[0], &x);
    num_real(s->cell[cell].value[1], &n);
    return pow(log10(x) + 2, 2) + pow(n - 7, 2) / 9 +
           (s->cell[cell].value[2][0] != 'b');
}

static int by_bowl(const void *a, const void *b, void *s)
{
    const double x = bowl(s, *(const size_t *)a);
    const double y = bowl(s, *(const size_t *)b);

    return (x > y) - (x < y);
}

static void expand_bowl(struct sweep *s, enum sweep_sampler sampler)
{
    struct err e = { 0 };

    sweep_init(s, "train.seed");
    s->samples = 100;
    s->sampler = sampler;
    sweep_assign(s, SWEEP_RANDOM, "x=loguniform(1e-5, 1)", "t", &e);
    sweep_assign(s, SWEEP_RANDOM, "n=integer(1, 9)", "t", &e);
    sweep_assign(s, SWEEP_RANDOM, "c=choice(a, b, c)", "t", &e);
    if (sweep_expand(s, &e) < 0)
        abort();
}

static int count_good(const struct sweep *s)
{
    int n = 0;

    for (size_t c = 0; c < s->n_cells; c++)
        n += bowl(s, c) < 0.5;
    return n;
}

static void test_tpe(void)
{
    struct sweep s, random;
    size_t order[100], n = 0;
    double x, layers;
    bool inside = true;

    expand_bowl(&random, SAMPLER_RANDOM);
    expand_bowl(&s, SAMPLER_TPE);
    ok(s.n_cells == SWEEP_FIRST_SAMPLES && s.most_cells == 100 &&
           strcmp(s.cell[9].id, random.cell[9].id) == 0,
       "with tpe, the first ten cells are drawn at random");
    for (uint64_t draw = 0; s.n_cells < 100; draw++) {
        const char *value[3];

        while (n < s.n_cells) {
            order[n] = n;
            n++;
        }
        qsort_r(order, n, sizeof *order, by_bowl, &s);
        sweep_tpe_draw(&s, order, n, draw, value);
        inside &= num_real(value[0], &x) && x >= 1e-5 && x <= 1 &&
                  num_real(value[1], &layers) && layers >= 1 && layers <= 9 &&
                  layers == floor(layers) && strchr("abc", value[2][0]);
        sweep_add_group(&s, value);
    }
    ok(inside, "all values that are chosen are inside their ranges");
    ok(count_good(&s) > 4 * count_good(&random),
       "four times as many chosen cells are near the best as random ones: "
       "%d and %d",
       count_good(&s), count_good(&random));
    sweep_clear(&s);
    sweep_clear(&random);
}

static void test_errors(void)
{
    static const struct {
        const char *axis, *words;
        bool random;
    } cases[] = {
        { "optim.lr", "expects section.key=value" },
        { "=1", "expects section.key=value" },
        { "optim.lr=1,,2", "empty value" },
        { "optim.lr=", "empty value" },
        { "optim.lr=logspace(1e-4, 1e-2", "needs a closing )" },
        { "optim.lr=logspace(0, 1, 3)", "above 0" },
        { "optim.lr=logspace(1, 0.1, 3)", "is not below" },
        { "optim.lr=linspace(0, 1, 1)", "expects 2 to" },
        { "optim.lr=linspace(0, 1)", "expects 3 values" },
        { "optim.lr=linspace(a, 1, 2)", "expects numbers" },
        { "optim.lr=nospace(1, 2)", "expects logspace()" },
        { "optim.lr=1e-3", "expects loguniform", true },
        { "optim.lr=uniform(1, nan)", "expects numbers", true },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sweep s;
        struct err e = { 0 };
        int ret;

        sweep_init(&s, "train.seed");
        ret = sweep_assign(&s, cases[i].random ? SWEEP_RANDOM : SWEEP_GRID,
                           cases[i].axis, "--x", &e);
        if (ret == 0)
            ret = sweep_expand(&s, &e);
        ok(ret < 0 && e.kind == ERR_USAGE && strstr(e.text, cases[i].words),
           "the axis '%s' is refused: %s", cases[i].axis, e.text);
        sweep_clear(&s);
    }
}

/* What the functions of a pool know; as many children start as `left` says. */
struct pool_case {
    const char *beats;
    int left, status;
};

static int start_stubborn(void *arg, struct child *c, struct err *e)
{
    struct pool_case *p = arg;

    (void)e;
    if (p->left-- == 0)
        return CHILD_NONE;
    c->program = "sh";
    c->log = "/dev/null";
    child_arg(c, "sh");
    child_arg(c, "-c");
    child_arg(c, "trap '' TERM; kill -TERM $PPID; while :; do sleep 600; done");
    return 0;
}

/* It ends when the file is touched while it runs. */
static int start_watcher(void *arg, struct child *c, struct err *e)
{
    struct pool_case *p = arg;

    (void)e;
    if (p->left-- == 0)
        return CHILD_NONE;
    c->program = "sh";
    c->log = "/dev/null";
    c->beats = p->beats;
    c->beat_secs = 0.01;
    child_arg(c, "sh");
    child_arg(c, "-c");
    child_arg(c, arena_printf(&c->mem,
                              "touch -d yesterday %s && "
                              "until find %s -mmin -60 | grep .; do :; done",
                              c->beats, c->beats));
    return 0;
}

static int check_success(void *arg, size_t i, int status, struct err *e)
{
    (void)arg, (void)i;
    return status ? err_set(e, ERR_SYSTEM, "status %d", status) : 0;
}

static void test_beats(void)
{
    char *path = write_file("");
    struct pool_case one = { .beats = path, .left = 1 };
    const struct child_pool p = { .parallel = 1,
                                  .start = start_watcher,
                                  .ended = check_success,
                                  .arg = &one };
    struct err e = { 0 };

    ok(child_pool_run(&p, &e) == 0, "a file is touched while a child runs: %s",
       e.text);
    unlink(path);
    free(path);
}

static int note_status(void *arg, size_t i, int status, struct err *e)
{
    (void)i, (void)e;
    ((struct pool_case *)arg)->status = status;
    return 0;
}

static void test_stop(void)
{
    struct pool_case two = { .left = 2 };
    const struct child_pool p = { .parallel = 1,
                                  .grace = 0.1,
                                  .start = start_stubborn,
                                  .ended = note_status,
                                  .arg = &two };
    struct err e = { 0 };

    ok(child_pool_run(&p, &e) < 0 && e.kind == ERR_STOPPED && two.status == 137,
       "a cell that ignores the signal to stop is killed");
}

int main(void)
{
    test_grid();
    test_ids();
    test_draws();
    test_equal_draws();
    test_spaces();
    test_tpe();
    test_errors();
    test_beats();
    test_stop();
    return done_testing();
}
