/*
 * gtrain plan - calculate what a training will need
 */
#include "config.h"
#include "trainer/cmds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/output/table.h"
#include "data/token/tokenizer.h"
#include "trainer/convert/convert.h"
#include "trainer/model/gpt.h"
#include "trainer/model/graph_memory.h"
#include "trainer/model/resolve.h"
#include "trainer/model/schedule.h"
#include "trainer/plan/plan_budget.h"
#include "trainer/plan/plan_memory.h"
#include "trainer/plan/plan_sizes.h"
#include "trainer/plan/plan_step.h"
#include "trainer/plan/plan_time.h"

enum plan_part {
    PARAMETERS,
    TRAINING,
    MEMORY,
    TIME,
    STEP,
    OPERATIONS,
    SCHEDULE,
    ALL = -1
};

static const char *const part_words[] = { [PARAMETERS] = "parameters",
                                          [TRAINING] = "training",
                                          [MEMORY] = "memory",
                                          [TIME] = "time",
                                          [STEP] = "step",
                                          [OPERATIONS] = "operations",
                                          [SCHEDULE] = "schedule",
                                          NULL };

static const char *config;
static struct opt_list sets;
static int only = ALL, ranks = 1, points = 20;
static const char *mfu, *price, *device, *network = "400Gb", *budget, *threads;
static struct plan_time timing;
static struct plan_cpu cpu;
static struct plan_step machine = { .cpu = &cpu };
static struct table_style style;

static const struct opt plan_opts[] = {
    CONFIG_OPTS(config, sets),
    { 'r', "ranks", "n", OPT_INT, &ranks,
      "calculate for N processes (default: 1)" },
    { 0, "gpus", "n", OPT_INT, &ranks, "the same as --ranks" },
    { 0, "device", "name", OPT_STRING, &device,
      "add the expected step time on this CPU (cpu) or on GPUs, such as h100" },
    { 0, "threads", "list", OPT_STRING, &threads,
      "with --device cpu: for these numbers of threads, as in 1,2,4" },
    { 0, "network", "rate", OPT_STRING, &network,
      "the rate between machines, for each GPU (default: 400Gb)" },
    { 0, "only", "part", OPT_WORD, &only, "print one part: %s", part_words },
    { 0, "points", "n", OPT_INT, &points,
      "print N rows of the schedule; 0: one per step (default: 20)" },
    { 0, "mfu", "fractions", OPT_STRING, &mfu,
      "assume these fractions of the peak rate (default: plan.mfu)" },
    { 0, "step-time", "time", OPT_SECS, &timing.step_time,
      "add hours and tokens/s for steps that take TIME" },
    { 0, "price", "amount", OPT_STRING, &price,
      "add the price, for AMOUNT per hour of a device: 2.5/h" },
    { 0, "budget", "hours", OPT_STRING, &budget,
      "print the size of the model to train with HOURS, as in 6.4gpuh" },
    { 0, "fit", NULL, OPT_FLAG, &timing.fit,
      "add the largest micro-batch and model that fit each memory" },
    TABLE_OPTS(style),
    { 0 }
};

/* The settings, and the graph as training would lay it out in memory. */
struct planned_model {
    struct settings *set;
    struct gpt gpt;
    const char *file; /* of the settings, if there are several; or NULL */
};

/* Begin a row with its name, after that of the file. */
static void begin_row(const struct planned_model *p, struct table *t,
                      const char *name)
{
    if (p->file)
        table_text(t, p->file);
    table_text(t, name);
}

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

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        int64_t n = 0, tensors = 0;

        for (int i = 0; i < g->n_params; i++)
            if (strstr(g->param[i].name, kinds[k].holds)) {
                n += g->param[i].count;
                tensors++;
            }
        if (tensors == 0)
            continue;
        begin_row(p, t, kinds[k].name);
        table_int(t, tensors);
        table_int(t, n);
        table_printf(t, "%.1f%%", 100.0 * (double)n / (double)all);
    }
    begin_row(p, t, "all");
    table_int(t, g->n_params);
    table_int(t, all);
    table_text(t, "100%");
    if (m->tied) {
        begin_row(p, t, "all, the tied matrix twice");
        table_none(t);
        table_int(t, all + p->set->is.vocab_padded * m->width);
        table_none(t);
    }
}

/* ---- training --------------------------------------------------------- */

static void add_int(const struct planned_model *p, struct table *t,
                    const char *name, int64_t n)
{
    begin_row(p, t, name);
    table_int(t, n);
}

static void add_real(const struct planned_model *p, struct table *t,
                     const char *name, double x)
{
    begin_row(p, t, name);
    table_real(t, x);
}

/* The formats of gtrain export, with the class of transformers. */
static void add_exports(const struct planned_model *p, struct table *t)
{
    struct err e = ERR_INIT;
    const struct convert_family *f = convert_family(p->set, &e);

    begin_row(p, t, "exports");
    table_printf(t, "hf (%s)%s%s", f ? f->type : "own class",
                 convert_check_llmc(p->set, &e) == 0 ? ", llm.c" : "",
                 convert_check_gguf(p->set, &e) == 0 ? ", gguf" : "");
}

static double checkpoint_seconds(const struct settings *s)
{
    const struct conf_span *every = &s->checkpoint.every;

    switch (every->unit) {
    case SPAN_TOKENS:
        return every->n / (double)s->is.tokens_per_step * timing.step_time;
    case SPAN_FRACTION:
        return every->n * (double)s->is.steps * timing.step_time;
    case SPAN_TIME:
        return every->n;
    default:
        return every->n * timing.step_time;
    }
}

static void add_training(struct planned_model *p, struct table *t)
{
    const struct settings *s = p->set;
    const double n = (double)s->is.parameters, d = plan_time_tokens(s);
    const double flops = gpt_flops_per_token(&p->gpt);
    int decayed = 0, others = 0;

    for (int i = 0; i < p->gpt.graph.n_params; i++) {
        const struct graph_param *q = &p->gpt.graph.param[i];

        if (p->gpt.graph.node[q->node].val.rank > 1)
            decayed++;
        else
            others++;
    }
    add_int(p, t, "ranks", ranks);
    add_int(p, t, "sequences of a micro-batch", s->train.micro_batch);
    add_int(p, t, "micro-batches of a step, each rank", s->is.accumulate);
    add_int(p, t, "tokens of a step", s->is.tokens_per_step);
    add_int(p, t, "steps", s->is.steps);
    add_int(p, t, "warm-up steps", s->is.warmup);
    add_int(p, t, "tokens", (int64_t)d);
    add_int(p, t, "tokens for 20 a parameter", 20 * s->is.parameters);
    add_real(p, t, "tokens a parameter", d / n);
    if (s->plan.data_tokens)
        add_real(p, t, "epochs", d / (double)s->plan.data_tokens);
    add_int(p, t, "tensors with decay", decayed);
    add_int(p, t, "tensors without", others);
    add_real(p, t, "FLOP a token, 6N", 6 * n);
    add_real(p, t, "FLOP a token, exact", flops);
    add_real(p, t, "FLOP in all, 6ND", 6 * n * d);
    add_real(p, t, "TFLOP in all, 6ND", 6 * n * d / 1e12);
    add_real(p, t, "FLOP in all, exact", flops * d);
    add_exports(p, t);
    if (timing.step_time > 0) {
        add_real(p, t, "hours at this step time",
                 timing.step_time * (double)s->is.steps / 3600);
        add_real(p, t, "tokens/s at this step time",
                 (double)s->is.tokens_per_step / timing.step_time);
        if (s->checkpoint.every.n > 0)
            add_real(p, t, "hours from one checkpoint to the next",
                     checkpoint_seconds(s) / 3600);
    }
}

/* ---- memory ----------------------------------------------------------- */

/* A GPU that is named needs more than the model. */
static bool has_scratch(void)
{
    return device && !machine.cpu;
}

static void add_memory(struct planned_model *p, struct table *t)
{
    const char *const *modes = conf_find(&p->set->conf, "parallel.mode")->words;

    for (int i = 0; modes[i]; i++) {
        struct plan_memory m;

        plan_memory_find(p->set, ranks, (enum parallel_mode)i,
                         p->set->train.micro_batch,
                         has_scratch() ? machine.device->gib : 0, &m);
        begin_row(p, t, modes[i]);
        for (int k = 0; k < DEV_MODEL_USES; k++)
            table_bytes(t, m.memory[k]);
        if (has_scratch())
            table_bytes(t, m.scratch);
        table_bytes(t, plan_memory_sum(&m));
        table_bytes(t, m.sent);
        if (ranks == 1)
            break;
    }
}

/* ---- schedule --------------------------------------------------------- */

static void add_schedule(struct planned_model *p, struct table *t)
{
    const int64_t steps = p->set->is.steps;
    const int64_t n = points > 1 && points < steps ? points : steps;
    struct schedule s;

    schedule_init(&s, p->set);
    for (int64_t i = 0; i < n; i++) {
        const int64_t step = n < 2 ? 0 : i * (steps - 1) / (n - 1);

        if (p->file)
            table_text(t, p->file);
        table_int(t, step);
        table_real(t, schedule_at(&s, (double)step));
        table_int(t, resolve_sequences(p->set, step));
    }
}

/* ---- the command ------------------------------------------------------ */

static void set_columns(struct table *t, enum plan_part part)
{
    switch (part) {
    case PARAMETERS:
        table_columns(t, "part", "tensors", "parameters", "share", NULL);
        break;
    case TRAINING:
        table_columns(t, "quantity", "value", NULL);
        break;
    case MEMORY:
        table_columns(t, "sharding", "weights", "gradients", "moments",
                      "activations", "inputs", NULL);
        if (has_scratch())
            table_column(t, "scratch");
        table_columns(t, "all, a rank", "sent a step", NULL);
        break;
    case TIME:
        plan_time_columns(&timing, t);
        break;
    case STEP:
        plan_step_columns(&machine, t);
        break;
    case OPERATIONS:
        plan_step_operation_columns(t);
        break;
    case SCHEDULE:
        table_columns(t, "step", "lr", "sequences", NULL);
        break;
    case ALL:
        break;
    }
}

static void add_time(struct planned_model *p, struct table *t)
{
    plan_time_add(&timing, p->set, p->file, t);
}

static void add_step(struct planned_model *p, struct table *t)
{
    plan_step_add(&machine, p->set, &p->gpt, p->file, t);
}

static void add_operations(struct planned_model *p, struct table *t)
{
    plan_step_add_operations(&machine, p->set, &p->gpt, p->file, t);
}

/* Several models are compared row by row, in one table. */
static int print_part(struct planned_model *p, int n, enum plan_part part,
                      struct err *e)
{
    static void (*const add[])(struct planned_model *, struct table *) = {
        [PARAMETERS] = add_parameters,
        [TRAINING] = add_training,
        [MEMORY] = add_memory,
        [TIME] = add_time,
        [STEP] = add_step,
        [OPERATIONS] = add_operations,
        [SCHEDULE] = add_schedule,
    };
    struct table t = TABLE_INIT("gtrain.plan/1");
    int ret;

    if (n > 1)
        table_column(&t, "file");
    set_columns(&t, part);
    for (int i = 0; i < n; i++)
        add[part](&p[i], &t);
    ret = table_print(&t, &style, e);
    table_clear(&t);
    return ret;
}

static int print_parts(struct planned_model *p, int n, struct err *e)
{
    if (only != ALL)
        return print_part(p, n, (enum plan_part)only, e);
    for (int i = 0; i < SCHEDULE; i++) {
        if (i >= STEP && !device)
            break;
        if (i > 0)
            putchar('\n');
        if (print_part(p, n, (enum plan_part)i, e) < 0)
            return -1;
    }
    return 0;
}

/* A row for each model, and which of them has the lowest loss. */
static void compare_models(const struct plan_budget *b,
                           const struct planned_model *p, int n,
                           struct table *t)
{
    int best = 0;

    table_column(t, "model");
    plan_budget_columns(t);
    for (int i = 0; i < n; i++) {
        table_text(t, p[i].file);
        plan_budget_add(b, p[i].set, t);
        if (plan_budget_loss(b, p[i].set) < plan_budget_loss(b, p[best].set))
            best = i;
    }
    plan_budget_end(b, p[best].file);
}

static int print_budget(const struct planned_model *p, int n, struct err *e)
{
    struct table t = TABLE_INIT("gtrain.plan-budget/1");
    struct plan_budget b;
    double hours;
    int ret = plan_budget_parse(&hours, budget, e);

    if (ret == 0)
        ret = plan_budget_begin(&b, hours, p[0].set, e);
    if (ret < 0)
        return -1;
    if (n > 1)
        compare_models(&b, p, n, &t);
    else
        ret = plan_sizes(&b, p[0].set, ranks, &t, e);
    if (ret == 0)
        ret = table_print(&t, &style, e);
    table_clear(&t);
    return ret;
}

static int check_mfu(const struct settings *s, struct err *e)
{
    const struct conf_reals *list = &s->plan.mfu;

    for (int i = 0; i < list->n; i++)
        if (list->x[i] <= 0 || list->x[i] > 1)
            return conf_fail(&s->conf, "plan.mfu", e,
                             "expects numbers above 0, at most 1, not %g",
                             list->x[i]);
    return 0;
}

static int check_length(const struct settings *s, struct err *e)
{
    if (s->is.steps == 0 && !budget && only != PARAMETERS && only != MEMORY &&
        only != STEP && only != OPERATIONS)
        return err_set(e, ERR_USAGE,
                       "the length of training is not known; set "
                       "schedule.steps, schedule.tokens or "
                       "schedule.chinchilla");
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
        ret = plan_time_check(s, e);
    if (ret == 0 && mfu)
        ret = conf_put(&s->conf, "plan.mfu", mfu, "--mfu", e);
    if (ret == 0)
        ret = check_mfu(s, e);
    if (ret == 0)
        ret = check_length(s, e);
    if (ret == 0 && device)
        ret = plan_step_check(&machine, s, e);
    tokenizer_free(tokenizer);
    return ret;
}

static int plan_models(struct planned_model *p, int n, struct err *e)
{
    const struct graph_conf how = { .training = true, .fuse = true };

    for (int i = 0; i < n; i++) {
        const char *path = p[i].file ? p[i].file : config;

        if (load_settings(p[i].set, path, e) < 0)
            return -1;
        gpt_build(&p[i].gpt, p[i].set, p[i].set->train.micro_batch);
        graph_memory_size(&p[i].gpt.graph, &how, &ref_ops);
        if (device && machine.cpu &&
            plan_cpu_open(&cpu, p[i].set, p[i].gpt.graph.type, e) < 0)
            return -1;
        if (n == 1)
            p[i].file = NULL;
    }
    if (budget)
        return print_budget(p, n, e);
    return print_parts(p, n, e);
}

/* price is "2.5" or "2.5/h". */
static bool parse_price(double *out)
{
    char number[32];
    const size_t n = strcspn(price, "/");

    snprintf(number, sizeof number, "%.*s", (int)n, price);
    return (!price[n] || strcmp(price + n, "/h") == 0) &&
           num_real(number, out) && *out >= 0;
}

static int check_device(struct err *e)
{
    machine.ranks = ranks;
    if (!device && only >= STEP && only <= OPERATIONS)
        return err_set(e, ERR_USAGE, "--only %s needs --device",
                       part_words[only]);
    if (device && plan_step_device(&machine, device, e) < 0)
        return -1;
    if (threads && !(device && machine.cpu))
        return err_set(e, ERR_USAGE, "--threads needs --device cpu");
    if (threads && plan_cpu_threads(&cpu, threads, e) < 0)
        return -1;
    return plan_step_network(&machine, network, e);
}

static int plan_main(int argc, char **argv, struct err *e)
{
    const int n = argc > 0 ? argc : 1;
    struct planned_model *p;
    int ret;

    if (ranks < 1)
        return err_set(e, ERR_USAGE, "--ranks expects 1 or more, not %d",
                       ranks);
    timing.ranks = ranks;
    timing.has_price = price != NULL;
    if (price && !parse_price(&timing.price))
        return err_set(e, ERR_USAGE, "--price expects 2.5/h, not '%s'", price);
    if (check_device(e) < 0)
        return -1;
    p = xcalloc((size_t)n, sizeof *p);
    for (int i = 0; i < n; i++) {
        p[i].set = xcalloc(1, sizeof *p[i].set);
        p[i].file = argc > 0 ? argv[i] : NULL;
    }
    ret = plan_models(p, n, e);
    for (int i = 0; i < n; i++) {
        graph_clear(&p[i].gpt.graph);
        settings_clear(p[i].set);
        free(p[i].set);
    }
    free(p);
    free(sets.item);
    return ret;
}

const struct cmd cmd_plan = {
    .name = "plan",
    .args = "[FILE]...",
    .help = "calculate what a training will need",
    .opts = plan_opts,
    .run = plan_main,
};
