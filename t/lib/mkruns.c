/*
 * mkruns - a store with the runs that the tests of gplot draw
 *
 * usage: mkruns FOLDER [SET...]
 *
 * Sets: rates (three learning rates), ranks (a run of two), resume (saved at
 * step 50, taken up, gone on to 100), grid (12 points of two parameters),
 * seeds (three rates by three seeds), hella, sizes (five models), odd (names
 * and values out of the ordinary), and big:RUNS:POINTS[:METRICS].  Without a
 * set, all but big.  Values are made from formulas, so every store is the same.
 */
#include "config.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "store/write/run.h"

static const char *root;
static int64_t now_ms = 1700000000000;

/* Let time pass: all that is stored from here on is so much later. */
static void pass(int64_t ms)
{
    char text[32];

    now_ms += ms;
    snprintf(text, sizeof text, "%lld", (long long)now_ms);
    setenv("GT_CLOCK_MS", text, 1);
}

static void die(const struct err *e)
{
    fprintf(stderr, "mkruns: %s\n", e->text);
    exit(1);
}

static struct run *begin(const char *experiment, const char *name,
                         const char *resume)
{
    const struct run_conf c = { .root = root,
                                .experiment = experiment,
                                .name = name,
                                .resume = resume,
                                .no_provenance = true };
    struct err e = { 0 };
    struct run *run;

    pass(3600000);
    if (run_begin(&run, &c, &e) < 0)
        die(&e);
    return run;
}

/*
 * Time.  The clock stands still while a run is written, so that its files are
 * always the same; afterwards each step is given its place in time, digit for
 * digit where it was: readers know places in these files by their offsets.
 */
static int64_t first_step = 1;

static int spread_file(const char *path, const struct stat *st, int type,
                       struct FTW *ftw)
{
    FILE *fp;
    char line[256];
    long at = 0;

    (void)st;
    (void)ftw;
    if (type != FTW_F)
        return 0;
    fp = fopen(path, "r+");
    while (fp && fgets(line, sizeof line, fp)) {
        const int digits = (int)strcspn(line, " ");
        const long next = at + (long)strlen(line);
        long long ms, step;

        if (sscanf(line, "%lld %*s %lld", &ms, &step) == 2 && ms == now_ms) {
            fseek(fp, at, SEEK_SET);
            fprintf(fp, "%0*lld", digits, ms + (step - first_step) * 360);
            fseek(fp, next, SEEK_SET);
        }
        at = next;
    }
    return fp ? fclose(fp) : -1;
}

static void end(struct run *run)
{
    struct err e = { 0 };
    char metrics[4096];

    snprintf(metrics, sizeof metrics, "%s/metrics", run_folder(run));
    if (run_end(run, RUN_FINISHED, &e) < 0)
        die(&e);
    nftw(metrics, spread_file, 16, FTW_PHYS);
}

/* Number i of stream s, about normal. */
static double noise(unsigned s, int64_t i)
{
    double sum = 0;

    for (unsigned k = 0; k < 6; k++) {
        uint64_t v = (uint64_t)i * 6 + k + ((uint64_t)s << 40);

        v = (v ^ v >> 31) * 0x7fb5d329728ea185U;
        v = (v ^ v >> 27) * 0x81dadef4bc2dd44dU;
        sum += (double)(v ^ v >> 33) / 18446744073709551616.0 - 0.5;
    }
    return sum * 1.4;
}

static double cosine(double peak, int64_t step, int64_t warm, int64_t all)
{
    const double t = (double)(step - warm) / (double)(all - warm);

    if (step < warm)
        return peak * (double)step / (double)warm;
    return peak * (0.1 + 0.45 * (1 + cos(3.14159265358979 * t)));
}

static double loss_at(double floor, double speed, int64_t step)
{
    return floor +
           (10.8 - floor) * (0.6 * exp(-(double)step / (60 / speed)) +
                             0.4 * pow(1 + (double)step * speed / 40, -0.7));
}

static void train(struct run *run, int64_t from, int64_t to, int64_t all,
                  double peak, double floor, double speed, unsigned seed)
{
    for (int64_t i = from; i <= to; i++) {
        const double loss = loss_at(floor, speed, i);
        const struct run_point points[] = {
            { "train/loss", loss + 0.05 * noise(seed, i) },
            { "train/lr", cosine(peak, i, all / 10, all) },
            { "train/grad_norm", (0.4 + 2.2 * exp(-(double)i / 80)) *
                                     exp(0.18 * noise(seed + 100, i)) },
            { "train/tokens", (double)i * 65536 },
            { "perf/tokens_per_s", 182000 + 2500 * noise(seed + 200, i) -
                                       (i % 250 == 0 ? 60000 : 0) },
            { "perf/step_ms", 360 + 5 * noise(seed + 200, i) },
        };

        run_metrics(run, i, points, sizeof points / sizeof points[0]);
        if (i % (all / 20) == 0) {
            run_metric(run, "val/loss", i,
                       loss + 0.04 + 0.01 * noise(seed + 300, i));
            run_metric(run, "val/perplexity", i, exp(loss + 0.04));
        }
        if (i % 10 == 0)
            run_metric(run, "train/perplexity", i, exp(loss));
    }
}

static void system_points(struct run *run, int rank, int64_t steps)
{
    static const struct {
        const char *name;
        double base, ramp, jitter;
    } metrics[] = {
        { "mem_allocated_bytes", 31.2e9, 0.6e9, 0.9e9 },
        { "mem_reserved_bytes", 41.5e9, 1.2e9, 0 },
        { "rss_bytes", 3.1e9, 0.4e9, 0.02e9 },
        { "gpu_util", 97, 0, 1.2 },
        { "cpu_util", 34, 0, 4 },
        { "gpu_power_w", 655, 0, 12 },
    };

    for (int64_t i = 10; i <= steps; i += 10) {
        for (size_t k = 0; k < sizeof metrics / sizeof metrics[0]; k++) {
            const double t = (double)i / (double)steps;
            char key[64];
            double v = metrics[k].base + metrics[k].ramp * t +
                       metrics[k].jitter *
                           noise((unsigned)(k * 7 + (size_t)rank + 900), i) +
                       (k < 3 ? 1.4e9 * rank : 0);

            if (k == 3 && i % 250 == 0)
                v = 41;
            if (k == 3 && v > 100)
                v = 100;
            if (rank == 0)
                snprintf(key, sizeof key, "system/%s", metrics[k].name);
            else
                snprintf(key, sizeof key, "system/%d/%s", rank,
                         metrics[k].name);
            run_metric(run, key, i, v);
        }
    }
}

static void rates(void)
{
    static const double rate[] = { 3e-4, 6e-4, 1.2e-3 };
    static const double floor[] = { 3.31, 3.18, 3.25 };
    static const double speed[] = { 0.8, 1.2, 1.5 };

    for (int i = 0; i < 3; i++) {
        struct run *run = begin("rates", NULL, NULL);

        run_paramf(run, "optim.lr", "%g", rate[i]);
        run_param(run, "model.width", "384");
        train(run, 1, 2000, 2000, rate[i], floor[i], speed[i], (unsigned)i);
        end(run);
    }
}

static void ranks(void)
{
    struct run *run = begin("ranks", "two-ranks", NULL);

    run_param(run, "optim.lr", "0.0006");
    train(run, 1, 1000, 1000, 6e-4, 3.2, 1.2, 11);
    for (int rank = 0; rank < 2; rank++)
        system_points(run, rank, 1000);
    end(run);
}

static void resumed(void)
{
    struct run *run = begin("resume", "resumed", NULL);
    char id[64];

    snprintf(id, sizeof id, "%s", run_id(run));
    run_param(run, "optim.lr", "0.0006");
    train(run, 1, 57, 100, 6e-4, 3.2, 6, 21);
    end(run);
    run = begin("resume", NULL, id);
    run_rewind(run, 50);
    train(run, 51, 100, 100, 6e-4, 3.2, 6, 22);
    first_step = 51;
    end(run);
    first_step = 1;
}

static void grid(void)
{
    static const double rate[] = { 1e-4, 3e-4, 1e-3, 3e-3 };
    static const int width[] = { 128, 256, 384 };

    for (int i = 0; i < 12; i++) {
        const double off =
            log10(rate[i / 3] / 6e-4) + 0.25 * log2(width[i % 3] / 256.0);
        const double loss =
            3.15 + 0.22 * off * off - 0.08 * log2(width[i % 3] / 128.0);
        struct run *run;
        char name[32];

        snprintf(name, sizeof name, "grid-%02d", i + 1);
        run = begin("grid", name, NULL);
        run_paramf(run, "optim.lr", "%g", rate[i / 3]);
        run_paramf(run, "model.width", "%d", width[i % 3]);
        for (int64_t s = 10; s <= 100; s += 10)
            run_metric(run, "val/loss", s, loss + 3 * exp(-(double)s / 20));
        end(run);
    }
}

static void seeds(void)
{
    static const double rate[] = { 3e-4, 1e-3, 3e-3 };

    for (int i = 0; i < 9; i++) {
        const double off = log10(rate[i / 3] / 8e-4);
        struct run *run;
        char name[32];

        snprintf(name, sizeof name, "seed-%d-%d", i / 3 + 1, i % 3 + 1);
        run = begin("seeds", name, NULL);
        run_paramf(run, "optim.lr", "%g", rate[i / 3]);
        run_paramf(run, "train.seed", "%d", i % 3 + 1);
        for (int64_t s = 5; s <= 500; s += 5) {
            const double mean = loss_at(3.2 + 0.3 * off * off, 1.2, s) +
                                0.05 * noise((unsigned)i + 40, 0);

            run_metric(run, "train/loss", s,
                       mean + 0.06 * noise((unsigned)i + 50, s));
            if (s % 25 == 0)
                run_metric(run, "val/loss", s, mean + 0.03);
        }
        end(run);
    }
}

static void hella(void)
{
    struct run *run = begin("hella", "gpt2-124M", NULL);

    for (int64_t s = 500; s <= 10000; s += 500) {
        const double t = (double)s / 10000;
        const double acc =
            0.25 + 0.062 * (1 - exp(-3 * t)) + 0.002 * noise(70, s);

        run_metric(run, "hellaswag/acc_norm", s, acc);
        run_metric(run, "hellaswag/acc", s, 0.25 + 0.8 * (acc - 0.25));
        run_metric(run, "train/loss", s, loss_at(3.2, 0.1, s));
        run_metric(run, "val/loss", s, loss_at(3.2, 0.1, s) + 0.03);
    }
    end(run);
}

/* Kaplan's law with Hoffmann's constants: loss by parameters and tokens. */
static void sizes(void)
{
    static const double million[] = { 10, 30, 85, 160, 350 };

    for (int i = 0; i < 5; i++) {
        const double n = million[i] * 1e6;
        struct run *run;
        char name[32];

        snprintf(name, sizeof name, "gpt-%.0fM", million[i]);
        run = begin("sizes", name, NULL);
        run_paramf(run, "model.parameters", "%.0f", n);
        for (int64_t s = 200; s <= 4000; s += 200) {
            const double tokens = (double)s * 20 * n / 4000;
            const double loss = 1.69 + 406.4 / pow(n, 0.34) +
                                410.7 / pow(tokens, 0.28) +
                                0.004 * noise((unsigned)i + 80, s);

            run_metric(run, "train/tokens", s, tokens);
            run_metric(run, "train/loss", s, loss);
            run_metric(run, "val/loss", s, loss + 0.02);
        }
        end(run);
    }
}

static void odd(void)
{
    struct run *run =
        begin("odd", "lr_3e-4^{a}@~&\"b'\\%`id` \xce\xb1\xc3\xa9", NULL);

    for (int64_t s = 1; s <= 100; s++)
        run_metric(run, "train/loss", s,
                   s == 51   ? (double)NAN
                   : s == 70 ? (double)INFINITY
                             : 3 + 5.0 / (double)s + (s == 80 ? 4 : 0));
    end(run);
    run = begin("odd", "spike", NULL);
    for (int64_t s = 1; s <= 2000; s++)
        run_metric(run, "train/loss", s,
                   3 + 0.02 * noise(60, s) + (s == 1234 ? 900 : 0));
    end(run);
    run = begin("odd", "empty", NULL);
    end(run);
}

static void big(const char *how)
{
    long runs = 20, points = 100000, metrics = 1;

    if (sscanf(how, "big:%ld:%ld:%ld", &runs, &points, &metrics) < 2) {
        fprintf(stderr, "mkruns: big:RUNS:POINTS[:METRICS]\n");
        exit(2);
    }
    for (long i = 0; i < runs; i++) {
        struct run *run = begin("big", NULL, NULL);

        for (long m = 0; m < metrics; m++) {
            char name[32] = "train/loss";

            if (m > 0)
                snprintf(name, sizeof name, "extra/%ld", m);
            for (int64_t s = 1; s <= points; s++)
                run_metric(run, name, s,
                           loss_at(3 + 0.02 * (double)i, 0.02, s) +
                               0.08 * noise((unsigned)(i + 1000 * m), s));
        }
        end(run);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*make)(void);
    } sets[] = {
        { "rates", rates }, { "ranks", ranks }, { "resume", resumed },
        { "grid", grid },   { "seeds", seeds }, { "hella", hella },
        { "sizes", sizes }, { "odd", odd },
    };

    if (argc < 2) {
        fprintf(stderr, "usage: mkruns FOLDER [SET...]\n");
        return 2;
    }
    root = argv[1];
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        bool wanted = argc == 2;

        for (int k = 2; k < argc; k++)
            wanted = wanted || strcmp(argv[k], sets[i].name) == 0;
        if (wanted)
            sets[i].make();
    }
    for (int k = 2; k < argc; k++)
        if (strncmp(argv[k], "big", 3) == 0)
            big(argv[k]);
    return 0;
}
