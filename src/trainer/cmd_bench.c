/*
 * gtrain bench - measure the time of a training step
 */
#include "config.h"
#include "trainer/cmds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/rng.h"
#include "common/output/table.h"
#include "trainer/model/graph_calls.h"
#include "trainer/model/graph_run.h"
#include "trainer/training/job.h"
#include "trainer/training/measure.h"

static const char *config;
static struct opt_list sets;
static int steps = 10, warm = 2;
static bool profile;
static struct table_style style;

static const struct opt bench_opts[] = {
    CONFIG_OPTS(config, sets),
    { 'n', "steps", "n", OPT_INT, &steps, "measure N steps (default: 10)" },
    { 0, "warm-up", "n", OPT_INT, &warm,
      "run N steps before the measured ones (default: 2)" },
    { 0, "profile", NULL, OPT_FLAG, &profile,
      "measure each operation separately" },
    TABLE_OPTS(style),
    { 0 }
};

/* Set random tokens as inputs; the time does not depend on them. */
static void set_tokens(struct job *j, int64_t step)
{
    const uint32_t vocab = (uint32_t)j->set->model.vocab;

    for (uint64_t i = 0; i < (uint64_t)(j->gpt.B * j->gpt.T); i++) {
        j->batch.x[i] = (int32_t)(rng_word(1, (uint64_t)step, i) % vocab);
        j->batch.y[i] = (int32_t)(rng_word(2, (uint64_t)step, i) % vocab);
    }
    gpt_set_inputs(&j->gpt, j->batch.x, j->batch.y);
}

/* ---- whole steps ------------------------------------------------------ */

static int run_step(struct job *j, int64_t step, struct err *e)
{
    struct graph *g = &j->gpt.graph;

    g->head_scale = 1.0f / (float)j->set->is.tokens_per_step;
    for (int64_t i = 0; i < j->set->is.accumulate; i++) {
        set_tokens(j, step * j->set->is.accumulate + i);
        g->first_micro = i == 0;
        graph_run_train(g, NULL, NULL);
    }
    optim_measure(&j->optim);
    if (dev_sync(&j->dev, e) < 0)
        return -1;
    optim_step(&j->optim, 1e-5, 1);
    return dev_sync(&j->dev, e);
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static int time_steps(struct job *j, struct table *t, struct err *e)
{
    double *ms = xcalloc((size_t)steps, sizeof *ms);
    const double tokens = (double)j->set->is.tokens_per_step;
    const double flops = gpt_flops_per_token(&j->gpt) * tokens;
    const double peak = measure_matmul(&j->dev, j->gpt.graph.type);
    struct rusage usage;
    int ret = 0;

    for (int i = -warm; i < steps && ret == 0; i++) {
        const double before = clock_mono();

        ret = run_step(j, i + warm, e);
        if (i >= 0)
            ms[i] = 1e3 * (clock_mono() - before);
    }
    if (ret == 0) {
        qsort(ms, (size_t)steps, sizeof *ms, by_value);
        getrusage(RUSAGE_SELF, &usage);
        table_columns(t, "parameters", "ms/step", "least ms", "tokens/s",
                      "GFLOP/s", "MFU", "peak memory", NULL);
        table_int(t, j->set->is.parameters);
        table_real(t, ms[steps / 2]);
        table_real(t, ms[0]);
        table_real(t, 1e3 * tokens / ms[steps / 2]);
        table_real(t, flops / ms[steps / 2] / 1e6);
        table_real(t, peak > 0 ? 1e3 * flops / ms[steps / 2] / peak : 0);
        table_bytes(t, j->dev.memory.total ? (int64_t)j->dev.memory.reserved
                                           : (int64_t)usage.ru_maxrss * 1024);
    }
    free(ms);
    return ret;
}

/* ---- each operation --------------------------------------------------- */

struct op_time {
    const char *name;
    int calls;
    double seconds, flops, bytes;
};

enum { MOST_OPS = 64 };

/* The row of an operation, which is added if there is none. */
static struct op_time *find_op(struct op_time *all, int *n, const char *name)
{
    for (int i = 0; i < *n; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    all[*n] = (struct op_time){ .name = name };
    return &all[(*n)++];
}

static int add_time(struct op_time *to, struct dev *dev, double before,
                    double flops, double bytes, struct err *e)
{
    if (dev_sync(dev, e) < 0)
        return -1;
    to->calls++;
    to->seconds += clock_mono() - before;
    to->flops += flops;
    to->bytes += bytes;
    return 0;
}

static int profile_step(struct job *j, struct op_time *all, int *n,
                        struct err *e)
{
    struct graph *g = &j->gpt.graph;
    const double weights = 4.0 * (double)g->count;
    double before;

    set_tokens(j, 0);
    g->first_micro = true;
    graph_run_begin(g);
    for (int c = 0; c < g->n_calls; c++) {
        before = clock_mono();
        graph_run_call(g, c);
        if (add_time(find_op(all, n, graph_call_name(g, c)), &j->dev, before,
                     graph_call_flops(g, c), graph_call_bytes(g, c), e) < 0)
            return -1;
    }
    before = clock_mono();
    optim_measure(&j->optim);
    if (add_time(find_op(all, n, "norm of gradient"), &j->dev, before,
                 2.0 * (double)g->count, weights, e) < 0)
        return -1;
    before = clock_mono();
    optim_step(&j->optim, 1e-5, 1);
    return add_time(find_op(all, n, "optimiser"), &j->dev, before,
                    12.0 * (double)g->count, 7 * weights, e);
}

static int by_time(const void *a, const void *b)
{
    const struct op_time *x = a, *y = b;

    return x->seconds < y->seconds ? 1 : -1;
}

static int time_operations(struct job *j, struct table *t, struct err *e)
{
    const double peak = measure_matmul(&j->dev, j->gpt.graph.type);
    const double copy = measure_copy(&j->dev);
    struct op_time all[MOST_OPS];
    int n = 0;
    double sum = 0;

    for (int i = 0; i < warm + steps; i++) {
        if (i == warm)
            n = 0;
        if (profile_step(j, all, &n, e) < 0)
            return -1;
    }
    qsort(all, (size_t)n, sizeof *all, by_time);
    for (int i = 0; i < n; i++)
        sum += all[i].seconds;
    table_columns(t, "operation", "calls", "ms/step", "share", "GFLOP",
                  "GFLOP/s", "GB", "GB/s", "floor ms", NULL);
    for (int i = 0; i < n; i++) {
        table_text(t, all[i].name);
        table_int(t, all[i].calls / steps);
        table_real(t, 1e3 * all[i].seconds / steps);
        table_printf(t, "%.1f%%", 100 * all[i].seconds / sum);
        table_real(t, all[i].flops / steps / 1e9);
        table_real(t, all[i].flops / all[i].seconds / 1e9);
        table_real(t, all[i].bytes / steps / 1e9);
        table_real(t, all[i].bytes / all[i].seconds / 1e9);
        if (peak > 0 && copy > 0)
            table_real(t, 1e3 / steps *
                              fmax(all[i].flops / peak, all[i].bytes / copy));
        else
            table_none(t);
    }
    return 0;
}

static int bench_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrain.bench/1");
    struct settings s = { 0 };
    struct job j = { 0 };
    int ret;

    if (argc > 1)
        return err_set(e, ERR_USAGE, "unexpected argument '%s'", argv[1]);
    if (steps < 1)
        return err_set(e, ERR_USAGE, "--steps expects 1 or more, not %d",
                       steps);
    if (warm < 0)
        return err_set(e, ERR_USAGE, "--warm-up expects 0 or more, not %d",
                       warm);
    ret = settings_load(&s, argc > 0 ? argv[0] : config, sets.item, sets.n, e);
    if (ret == 0 && s.model.vocab)
        s.data.tokenizer = ""; /* not needed */
    if (ret == 0)
        ret = job_open(&j, &s, JOB_BENCH, e);
    if (ret == 0)
        ret = profile ? time_operations(&j, &t, e) : time_steps(&j, &t, e);
    if (ret == 0)
        ret = table_print(&t, &style, e);
    table_clear(&t);
    job_close(&j);
    settings_clear(&s);
    free(sets.item);
    return ret;
}

const struct cmd cmd_bench = {
    .name = "bench",
    .args = "[FILE]",
    .help = "measure the time of a training step",
    .opts = bench_opts,
    .run = bench_main,
};
