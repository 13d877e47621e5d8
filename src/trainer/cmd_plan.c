/* cmd_plan - gtrain plan: predict parameters, memory and time */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "trainer/cmds.h"
#include "trainer/model/graph_memory.h"
#include "trainer/model/optim.h"
#include "trainer/model/resolve.h"
#include "trainer/model/schedule.h"
#include "trainer/ranks/parallel.h"
#include "trainer/training/hardware.h"

static const char *config, *only;
static struct opt_list sets;
static int ranks = 1, points = 20;
static double mfu = -1, step_time; /* -1: not given */
static bool fit;
static struct table_style style;

static const struct opt plan_opts[] = {
    { 'c', "config", "file", OPT_STRING, &config, "read settings from FILE" },
    { 's', "set", "section.key=value", OPT_LIST, &sets,
      "change one setting; may be given many times" },
    { 'r', "ranks", "n", OPT_INT, &ranks, "plan for N processes" },
    { 0, "only", "part", OPT_STRING, &only,
      "print one part: parameters, training, memory, time or schedule" },
    { 0, "points", "n", OPT_INT, &points,
      "rows of the schedule; 0: every step" },
    { 0, "mfu", "part", OPT_REAL, &mfu,
      "part of the peak rate that is reached" },
    { 0, "step-time", "time", OPT_SECS, &step_time,
      "a measured step takes TIME" },
    { 0, "fit", NULL, OPT_FLAG, &fit,
      "find the largest micro-batch for each memory" },
    TABLE_OPTS(style),
    { 0 }
};

/* What is planned: settings and the graph as it would be placed. */
struct planned {
    struct settings *set;
    struct gpt gpt;
    double flops_per_token;
};

static void planned_open(struct planned *p, struct settings *s, int64_t B)
{
    const struct graph_conf how = { .training = true, .fuse = true };

    *p = (struct planned){ .set = s };
    gpt_build(&p->gpt, s, B);
    graph_memory_size(&p->gpt.graph, &how, &ref_ops);
    p->flops_per_token = gpt_flops_per_token(&p->gpt);
}

static void planned_close(struct planned *p)
{
    graph_clear(&p->gpt.graph);
}

/* ---- parameters ------------------------------------------------------- */

static const struct {
    const char *name, *holds; /* in a parameter's name */
} kinds[] = {
    { "token embedding", "wte" }, { "positions", "wpe" },
    { "attention", "attn." },     { "MLP", "mlp." },
    { "norms", "ln_" },           { "head", "lm_head" },
};

static void parameters(struct planned *p, struct table *t)
{
    const struct graph *g = &p->gpt.graph;
    const int64_t all = graph_parameters(g);
    const struct model_settings *m = &p->set->model;

    table_column(t, "part");
    table_column(t, "tensors");
    table_column(t, "parameters");
    table_column(t, "share");
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

static void row_int(struct table *t, const char *name, int64_t n)
{
    table_text(t, name);
    table_int(t, n);
}

static void row_real(struct table *t, const char *name, double x)
{
    table_text(t, name);
    table_real(t, x);
}

static double all_tokens(const struct settings *s)
{
    return (double)resolve_sequences_before(s, s->is.steps) *
           (double)s->model.context;
}

static void training(struct planned *p, struct table *t)
{
    const struct settings *s = p->set;
    const double n = (double)s->is.parameters, d = all_tokens(s);
    int decayed = 0, others = 0;

    for (int i = 0; i < p->gpt.graph.n_params; i++) {
        const struct graph_param *q = &p->gpt.graph.param[i];

        if (p->gpt.graph.node[q->node].val.rank > 1)
            decayed++;
        else
            others++;
    }
    table_column(t, "quantity");
    table_column(t, "value");
    row_int(t, "ranks", ranks);
    row_int(t, "sequences of a micro-batch", s->train.micro_batch);
    row_int(t, "micro-batches of a step, each rank", s->is.accumulate);
    row_int(t, "tokens of a step", s->is.tokens_per_step);
    row_int(t, "steps", s->is.steps);
    row_int(t, "warm-up steps", s->is.warmup);
    row_int(t, "tokens", (int64_t)d);
    row_int(t, "tokens for 20 a parameter", 20 * s->is.parameters);
    row_real(t, "tokens a parameter", d / n);
    if (s->plan.data_tokens)
        row_real(t, "epochs", d / (double)s->plan.data_tokens);
    row_int(t, "tensors with decay", decayed);
    row_int(t, "tensors without", others);
    row_real(t, "FLOP a token, 6N", 6 * n);
    row_real(t, "FLOP a token, exact", p->flops_per_token);
    row_real(t, "FLOP in all, 6ND", 6 * n * d);
    row_real(t, "TFLOP in all, 6ND", 6 * n * d / 1e12);
    row_real(t, "FLOP in all, exact", p->flops_per_token * d);
    if (step_time > 0) {
        row_real(t, "hours at this step time",
                 step_time * (double)s->is.steps / 3600);
        row_real(t, "tokens/s at this step time",
                 (double)s->is.tokens_per_step / step_time);
    }
}

/* ---- memory ----------------------------------------------------------- */

/* What a rank keeps at most, and sends in the mean. */
struct share {
    int64_t kept[DEV_MODEL_USES], sent;
};

static void raise_to(int64_t *most, int64_t n)
{
    *most = n > *most ? n : *most;
}

/* A training of micro-batches of B, opened on every rank in turn, without
 * taking memory. */
static void share_out(struct settings *s, enum parallel_mode mode, int64_t B,
                      struct share *most)
{
    const enum parallel_mode saved = s->parallel.mode;
    struct coll c = { .size = ranks };
    struct gpt gpt = { 0 };

    *most = (struct share){ .sent = 0 };
    s->parallel.mode = mode;
    for (c.rank = 0; c.rank < ranks; c.rank++) {
        struct graph_conf how = { .training = true, .fuse = true };
        struct parallel p;
        struct optim optim;
        int64_t kept[DEV_MODEL_USES];

        parallel_open(&p, s, &c, true);
        parallel_configure(&p, &how);
        if (c.rank == 0) {
            gpt_build(&gpt, s, B);
            graph_memory_size(&gpt.graph, &how, &ref_ops);
        }
        optim_lay_out(&optim, &s->optim, &gpt.graph);
        parallel_lay_out(&p, &gpt.graph, &optim);
        parallel_memory(&p, kept);
        for (int i = 0; i < DEV_MODEL_USES; i++)
            raise_to(&most->kept[i], kept[i]);
        most->sent = parallel_traffic(&p, s->is.accumulate);
        parallel_close(&p);
        optim_close(&optim);
    }
    graph_clear(&gpt.graph);
    s->parallel.mode = saved;
}

static int64_t all_kept(const struct share *m)
{
    int64_t sum = 0;

    for (int i = 0; i < DEV_MODEL_USES; i++)
        sum += m->kept[i];
    return sum;
}

static void memory(struct planned *p, struct table *t)
{
    const char *const *modes = conf_find(&p->set->conf, "parallel.mode")->words;
    static const char *const columns[] = { "sharding",    "weights",
                                           "gradients",   "moments",
                                           "activations", "inputs",
                                           "all, a rank", "sent a step" };

    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        table_column(t, columns[i]);
    for (int i = 0; modes[i]; i++) {
        struct share m;

        share_out(p->set, (enum parallel_mode)i, p->set->train.micro_batch, &m);
        table_text(t, modes[i]);
        for (int k = 0; k < DEV_MODEL_USES; k++)
            table_bytes(t, m.kept[k]);
        table_bytes(t, all_kept(&m));
        table_bytes(t, m.sent);
        if (ranks == 1)
            break;
    }
}

static double bytes_for(struct settings *s, int64_t B)
{
    struct share m;

    share_out(s, s->parallel.mode, B, &m);
    return (double)all_kept(&m);
}

/* The largest micro-batch that leaves a tenth of the memory free. */
static int64_t largest(struct settings *s, double gib)
{
    const double room = 0.9 * gib * 0x1p30;
    int64_t low = 0, high = 1;

    while (high < 65536 && bytes_for(s, high) <= room) {
        low = high;
        high *= 2;
    }
    while (low + 1 < high) {
        const int64_t mid = (low + high) / 2;

        if (bytes_for(s, mid) <= room)
            low = mid;
        else
            high = mid;
    }
    return low;
}

/* ---- time ------------------------------------------------------------- */

static void time_row(struct planned *p, struct table *t,
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
        table_int(t, largest(p->set, h->gib));
    table_text(t, h->source);
}

/* Before anything is printed. */
static int check_hardware(const char *more, struct err *e)
{
    struct hardware h;
    char name[32];
    int got;

    while ((got = hardware_parse(&more, name, &h, e)) > 0)
        ;
    return got;
}

static int time_table(struct planned *p, struct table *t, struct err *e)
{
    static const char *const columns[] = { "hardware",     "devices",
                                           "peak TFLOP/s", "MFU",
                                           "hours",        "device hours",
                                           "GiB each" };
    const char *more = p->set->plan.hardware;
    struct hardware h;
    char name[32];
    int got;

    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        table_column(t, columns[i]);
    if (fit)
        table_column(t, "micro-batch");
    table_column(t, "source");
    for (const struct hardware *row = hardware_table; row->name; row++)
        time_row(p, t, row);
    while ((got = hardware_parse(&more, name, &h, e)) > 0)
        time_row(p, t, &h);
    return got;
}

/* ---- schedule --------------------------------------------------------- */

static void schedule(struct planned *p, struct table *t)
{
    const int64_t steps = p->set->is.steps;
    const int64_t n = points > 1 && points < steps ? points : steps;
    struct schedule s;

    schedule_init(&s, p->set);
    table_column(t, "step");
    table_column(t, "lr");
    table_column(t, "sequences");
    for (int64_t i = 0; i < n; i++) {
        const int64_t step = n < 2 ? 0 : i * (steps - 1) / (n - 1);

        table_int(t, step);
        table_real(t, schedule_at(&s, (double)step));
        table_int(t, resolve_sequences(p->set, step));
    }
}

/* ---- all of it -------------------------------------------------------- */

enum part { PARAMETERS, TRAINING, MEMORY, TIME, SCHEDULE, PARTS };

static const char *const part_name[] = { "parameters", "training", "memory",
                                         "time", "schedule" };

static int print_part(struct planned *p, enum part which, struct err *e)
{
    struct table t = TABLE_INIT("gtrain.plan/1");
    int ret = 0;

    switch (which) {
    case PARAMETERS:
        parameters(p, &t);
        break;
    case TRAINING:
        training(p, &t);
        break;
    case MEMORY:
        memory(p, &t);
        break;
    case TIME:
        ret = time_table(p, &t, e);
        break;
    case SCHEDULE:
        schedule(p, &t);
        break;
    case PARTS:
        break;
    }
    if (ret == 0)
        ret = table_print(&t, &style, e);
    table_clear(&t);
    return ret;
}

static int print(struct planned *p, struct err *e)
{
    const bool steps = p->set->is.steps > 0;
    int which = -1;

    for (int i = 0; only && i < PARTS; i++)
        if (strcmp(only, part_name[i]) == 0)
            which = i;
    if (only && which < 0)
        return err_set(e, ERR_USAGE,
                       "no part '%s'; there are parameters, "
                       "training, memory, time and schedule",
                       only);
    if (!steps && (!only || which > MEMORY || which == TRAINING))
        return err_set(e, ERR_USAGE,
                       "schedule.steps, .tokens or .chinchilla "
                       "must say how long to train");
    if (only)
        return print_part(p, (enum part)which, e);
    for (int i = 0; i < SCHEDULE; i++) {
        if (i > 0)
            putchar('\n');
        if (print_part(p, (enum part)i, e) < 0)
            return -1;
    }
    return 0;
}

static int plan_main(int argc, char **argv, struct err *e)
{
    struct settings s = { 0 };
    struct tokenizer *tok = NULL;
    struct planned p;
    int ret;

    if (argc > 1)
        return err_set(e, ERR_USAGE, "'%s': no word is expected", argv[1]);
    if (ranks < 1)
        return err_set(e, ERR_USAGE, "--ranks is at least 1");
    if (mfu != -1 && (mfu <= 0 || mfu > 1))
        return err_set(e, ERR_USAGE, "--mfu is above 0, and at most 1");
    ret = settings_load(&s, argc > 0 ? argv[0] : config, sets.item, sets.n, e);
    if (ret == 0 && s.model.vocab == 0 && *s.data.tokenizer)
        ret = tokenizer_load(&tok, s.data.tokenizer, e);
    if (ret == 0)
        ret = resolve_settings(&s, tok ? tokenizer_vocab(tok) : 0, ranks, e);
    if (ret == 0)
        ret = check_hardware(s.plan.hardware, e);
    if (ret == 0) {
        if (mfu > 0)
            s.plan.mfu = mfu;
        planned_open(&p, &s, s.train.micro_batch);
        ret = print(&p, e);
        planned_close(&p);
    }
    tokenizer_free(tok);
    settings_clear(&s);
    free(sets.item);
    return ret;
}

const struct cmd cmd_plan = {
    .name = "plan",
    .args = "[FILE]",
    .help = "count parameters, steps, memory and hours",
    .opts = plan_opts,
    .run = plan_main,
};
