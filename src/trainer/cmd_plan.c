/*
 * gtrain plan - calculate what a training will need
 */
#include "config.h"
#include "trainer/cmds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "data/token/tokenizer.h"
#include "trainer/model/gpt.h"
#include "trainer/model/graph_memory.h"
#include "trainer/model/optim.h"
#include "trainer/model/resolve.h"
#include "trainer/model/schedule.h"
#include "trainer/ranks/parallel.h"
#include "trainer/training/hardware.h"

enum plan_part { PARAMETERS, TRAINING, MEMORY, TIME, SCHEDULE, ALL = -1 };

static const char *const part_words[] = {
    [PARAMETERS] = "parameters", [TRAINING] = "training",
    [MEMORY] = "memory",         [TIME] = "time",
    [SCHEDULE] = "schedule",     NULL
};

static const char *config;
static struct opt_list sets;
static int only = ALL, ranks = 1, points = 20;
static double mfu = -1, step_time; /* -1: not given */
static bool fit;
static struct table_style style;

static const struct opt plan_opts[] = {
    CONFIG_OPTS(config, sets),
    { 'r', "ranks", "n", OPT_INT, &ranks,
      "calculate for N processes (default: 1)" },
    { 0, "only", "part", OPT_WORD, &only, "print one part: %s", part_words },
    { 0, "points", "n", OPT_INT, &points,
      "print N rows of the schedule; 0: one per step (default: 20)" },
    { 0, "mfu", "fraction", OPT_REAL, &mfu,
      "assume this fraction of the peak rate (default: plan.mfu)" },
    { 0, "step-time", "time", OPT_SECS, &step_time,
      "add hours and tokens/s for steps that take TIME" },
    { 0, "fit", NULL, OPT_FLAG, &fit,
      "add the largest micro-batch that fits each memory" },
    TABLE_OPTS(style),
    { 0 }
};

/* The settings, and the graph as training would lay it out in memory. */
struct planned_model {
    struct settings *set;
    struct gpt gpt;
};

/* ---- parameters ------------------------------------------------------- */

static const struct {
    const char *name, *holds; /* in a parameter's name */
} kinds[] = {
    { "token embedding", "wte" }, { "positions", "wpe" },
    { "attention", "attn." },     { "MLP", "mlp." },
    { "norms", "ln_" },           { "head", "lm_head" },
};

static void add_parameters(struct planned_model *p, struct table *t)
{
    const struct graph *g = &p->gpt.graph;
    const int64_t all = graph_parameters(g);
    const struct model_settings *m = &p->set->model;

    table_columns(t, "part", "tensors", "parameters", "share", NULL);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        int64_t n = 0, tensors = 0;

        for (int i = 0; i < g->n_params; i++)
            if (strstr(g->param[i].name, kinds[k].holds)) {
                n += g->param[i].count;
                tensors++;
            }
        if (tensors == 0)
            continue;
        table_text(t, kinds[k].name);
        table_int(t, tensors);
        table_int(t, n);
        table_printf(t, "%.1f%%", 100.0 * (double)n / (double)all);
    }
    table_text(t, "all");
    table_int(t, g->n_params);
    table_int(t, all);
    table_text(t, "100%");
    if (m->tied) {
        table_text(t, "all, the tied matrix twice");
        table_none(t);
        table_int(t, all + p->set->is.vocab_padded * m->width);
        table_none(t);
    }
}

/* ---- training --------------------------------------------------------- */

static void add_int(struct table *t, const char *name, int64_t n)
{
    table_text(t, name);
    table_int(t, n);
}

static void add_real(struct table *t, const char *name, double x)
{
    table_text(t, name);
    table_real(t, x);
}

static double all_tokens(const struct settings *s)
{
    return (double)resolve_sequences_before(s, s->is.steps) *
           (double)s->model.context;
}

static void add_training(struct planned_model *p, struct table *t)
{
    const struct settings *s = p->set;
    const double n = (double)s->is.parameters, d = all_tokens(s);
    const double flops = gpt_flops_per_token(&p->gpt);
    int decayed = 0, others = 0;

    for (int i = 0; i < p->gpt.graph.n_params; i++) {
        const struct graph_param *q = &p->gpt.graph.param[i];

        if (p->gpt.graph.node[q->node].val.rank > 1)
            decayed++;
        else
            others++;
    }
    table_columns(t, "quantity", "value", NULL);
    add_int(t, "ranks", ranks);
    add_int(t, "sequences of a micro-batch", s->train.micro_batch);
    add_int(t, "micro-batches of a step, each rank", s->is.accumulate);
    add_int(t, "tokens of a step", s->is.tokens_per_step);
    add_int(t, "steps", s->is.steps);
    add_int(t, "warm-up steps", s->is.warmup);
    add_int(t, "tokens", (int64_t)d);
    add_int(t, "tokens for 20 a parameter", 20 * s->is.parameters);
    add_real(t, "tokens a parameter", d / n);
    if (s->plan.data_tokens)
        add_real(t, "epochs", d / (double)s->plan.data_tokens);
    add_int(t, "tensors with decay", decayed);
    add_int(t, "tensors without", others);
    add_real(t, "FLOP a token, 6N", 6 * n);
    add_real(t, "FLOP a token, exact", flops);
    add_real(t, "FLOP in all, 6ND", 6 * n * d);
    add_real(t, "TFLOP in all, 6ND", 6 * n * d / 1e12);
    add_real(t, "FLOP in all, exact", flops * d);
    if (step_time > 0) {
        add_real(t, "hours at this step time",
                 step_time * (double)s->is.steps / 3600);
        add_real(t, "tokens/s at this step time",
                 (double)s->is.tokens_per_step / step_time);
    }
}

/* ---- memory ----------------------------------------------------------- */

/* The memory of the rank that needs most; the bytes that are sent per step are
 * an average over ranks. */
struct rank_needs {
    int64_t memory[DEV_MODEL_USES], sent;
};

/* Lay out each rank in turn, for micro-batches of B sequences, without
 * allocating memory. */
static void find_needs(struct settings *s, enum parallel_mode mode, int64_t B,
                       struct rank_needs *most)
{
    const enum parallel_mode saved = s->parallel.mode;
    struct coll c = { .size = ranks };
    struct gpt gpt = { 0 };

    *most = (struct rank_needs){ .sent = 0 };
    s->parallel.mode = mode;
    for (c.rank = 0; c.rank < ranks; c.rank++) {
        struct graph_conf how = { .training = true, .fuse = true };
        struct parallel p;
        struct optim optim;
        int64_t memory[DEV_MODEL_USES];

        parallel_open(&p, s, &c, true);
        parallel_configure(&p, &how);
        if (c.rank == 0) {
            gpt_build(&gpt, s, B);
            graph_memory_size(&gpt.graph, &how, &ref_ops);
        }
        optim_lay_out(&optim, &s->optim, &gpt.graph);
        parallel_lay_out(&p, &gpt.graph, &optim);
        parallel_memory(&p, memory);
        for (int i = 0; i < DEV_MODEL_USES; i++)
            if (memory[i] > most->memory[i])
                most->memory[i] = memory[i];
        most->sent = parallel_traffic(&p, s->is.accumulate);
        parallel_close(&p);
        optim_close(&optim);
    }
    graph_clear(&gpt.graph);
    s->parallel.mode = saved;
}

static int64_t sum_memory(const struct rank_needs *m)
{
    int64_t sum = 0;

    for (int i = 0; i < DEV_MODEL_USES; i++)
        sum += m->memory[i];
    return sum;
}

static void add_memory(struct planned_model *p, struct table *t)
{
    const char *const *modes = conf_find(&p->set->conf, "parallel.mode")->words;

    table_columns(t, "sharding", "weights", "gradients", "moments",
                  "activations", "inputs", "all, a rank", "sent a step", NULL);
    for (int i = 0; modes[i]; i++) {
        struct rank_needs m;

        find_needs(p->set, (enum parallel_mode)i, p->set->train.micro_batch,
                   &m);
        table_text(t, modes[i]);
        for (int k = 0; k < DEV_MODEL_USES; k++)
            table_bytes(t, m.memory[k]);
        table_bytes(t, sum_memory(&m));
        table_bytes(t, m.sent);
        if (ranks == 1)
            break;
    }
}

static double sum_bytes(struct settings *s, int64_t B)
{
    struct rank_needs m;

    find_needs(s, s->parallel.mode, B, &m);
    return (double)sum_memory(&m);
}

/* The largest micro-batch that leaves a tenth of the memory free, and whose
 * multiples make the batch, if the settings say how large that is. */
static int64_t find_largest_batch(struct settings *s, double gib)
{
    const double limit = 0.9 * gib * 0x1p30;
    const bool given = s->train.batch || s->train.tokens_per_step;
    int64_t low = 0, high = 1;

    while (high < 65536 && sum_bytes(s, high) <= limit) {
        low = high;
        high *= 2;
    }
    while (low + 1 < high) {
        const int64_t mid = (low + high) / 2;

        if (sum_bytes(s, mid) <= limit)
            low = mid;
        else
            high = mid;
    }
    while (given && low > 1 && s->is.windows % (low * ranks) != 0)
        low--;
    return low;
}

/* ---- time ------------------------------------------------------------- */

static void add_time(struct planned_model *p, struct table *t,
                     const struct hardware *h)
{
    const struct settings *s = p->set;
    const double rate = h->tflops[s->train.precision] * 1e12;
    const double flops = 6 * (double)s->is.parameters * all_tokens(s);
    const double hours = flops / rate / s->plan.mfu / 3600;

    table_text(t, h->name);
    table_int(t, h->devices);
    table_real(t, h->tflops[s->train.precision]);
    table_real(t, s->plan.mfu);
    table_real(t, hours);
    table_real(t, hours * h->devices);
    table_real(t, h->gib);
    if (fit)
        table_int(t, find_largest_batch(p->set, h->gib));
    table_text(t, h->source);
}

/* Check the rows of plan.hardware before the first table is printed. */
static int check_hardware(const char *more, struct err *e)
{
    struct hardware h;
    char name[32];
    int got;

    while ((got = hardware_parse(&more, name, &h, e)) > 0)
        ;
    return got;
}

/* check_hardware() has accepted the rows of plan.hardware. */
static void add_times(struct planned_model *p, struct table *t)
{
    const char *more = p->set->plan.hardware;
    struct err e = ERR_INIT;
    struct hardware h;
    char name[32];

    table_columns(t, "hardware", "devices", "peak TFLOP/s", "MFU", "hours",
                  "device hours", "GiB each", NULL);
    if (fit)
        table_column(t, "micro-batch");
    table_column(t, "source");
    for (const struct hardware *row = hardware_table; row->name; row++)
        add_time(p, t, row);
    while (hardware_parse(&more, name, &h, &e) > 0)
        add_time(p, t, &h);
}

/* ---- schedule --------------------------------------------------------- */

static void add_schedule(struct planned_model *p, struct table *t)
{
    const int64_t steps = p->set->is.steps;
    const int64_t n = points > 1 && points < steps ? points : steps;
    struct schedule s;

    schedule_init(&s, p->set);
    table_columns(t, "step", "lr", "sequences", NULL);
    for (int64_t i = 0; i < n; i++) {
        const int64_t step = n < 2 ? 0 : i * (steps - 1) / (n - 1);

        table_int(t, step);
        table_real(t, schedule_at(&s, (double)step));
        table_int(t, resolve_sequences(p->set, step));
    }
}

/* ---- the command ------------------------------------------------------ */

static int print_part(struct planned_model *p, enum plan_part part,
                      struct err *e)
{
    static void (*const add[])(struct planned_model *, struct table *) = {
        [PARAMETERS] = add_parameters, [TRAINING] = add_training,
        [MEMORY] = add_memory,         [TIME] = add_times,
        [SCHEDULE] = add_schedule,
    };
    struct table t = TABLE_INIT("gtrain.plan/1");
    int ret;

    add[part](p, &t);
    ret = table_print(&t, &style, e);
    table_clear(&t);
    return ret;
}

static int print_parts(struct planned_model *p, struct err *e)
{
    if (p->set->is.steps == 0 && only != PARAMETERS && only != MEMORY)
        return err_set(e, ERR_USAGE,
                       "the length of training is not known; set "
                       "schedule.steps, schedule.tokens or "
                       "schedule.chinchilla");
    if (only != ALL)
        return print_part(p, (enum plan_part)only, e);
    for (int i = 0; i < SCHEDULE; i++) {
        if (i > 0)
            putchar('\n');
        if (print_part(p, (enum plan_part)i, e) < 0)
            return -1;
    }
    return 0;
}

static int load_settings(struct settings *s, const char *path, struct err *e)
{
    struct tokenizer *tokenizer = NULL;
    int ret = settings_load(s, path, sets.item, sets.n, e);

    if (ret == 0 && s->model.vocab == 0 && *s->data.tokenizer)
        ret = tokenizer_load(&tokenizer, s->data.tokenizer, e);
    if (ret == 0)
        ret = resolve_settings(s, tokenizer ? tokenizer_vocab(tokenizer) : 0,
                               ranks, e);
    if (ret == 0)
        ret = check_hardware(s->plan.hardware, e);
    if (mfu > 0)
        s->plan.mfu = mfu;
    tokenizer_free(tokenizer);
    return ret;
}

static int plan_main(int argc, char **argv, struct err *e)
{
    const struct graph_conf how = { .training = true, .fuse = true };
    struct settings s = { 0 };
    struct planned_model p = { .set = &s };
    int ret;

    if (argc > 1)
        return err_set(e, ERR_USAGE, "unexpected argument '%s'", argv[1]);
    if (ranks < 1)
        return err_set(e, ERR_USAGE, "--ranks expects 1 or more, not %d",
                       ranks);
    if (mfu != -1 && (mfu <= 0 || mfu > 1))
        return err_set(e, ERR_USAGE,
                       "--mfu expects a number above 0, at most 1, not %g",
                       mfu);
    ret = load_settings(&s, argc > 0 ? argv[0] : config, e);
    if (ret == 0) {
        gpt_build(&p.gpt, &s, s.train.micro_batch);
        graph_memory_size(&p.gpt.graph, &how, &ref_ops);
        ret = print_parts(&p, e);
        graph_clear(&p.gpt.graph);
    }
    settings_clear(&s);
    free(sets.item);
    return ret;
}

const struct cmd cmd_plan = {
    .name = "plan",
    .args = "[FILE]",
    .help = "calculate what a training will need",
    .opts = plan_opts,
    .run = plan_main,
};
