#include "config.h"
#include "trainer/plan/plan_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/model/optim.h"
#include "trainer/model/resolve.h"
#include "trainer/settings/settings.h"

const char *const plan_part_words[] = { [PLAN_RECIPE] = "recipe",
                                        [PLAN_PARAMETERS] = "parameters",
                                        [PLAN_TRAINING] = "training",
                                        [PLAN_MEMORY] = "memory",
                                        [PLAN_TIME] = "time",
                                        [PLAN_STEP] = "step",
                                        [PLAN_OPERATIONS] = "operations",
                                        [PLAN_SCHEDULE] = "schedule",
                                        [PLAN_SIZES] = "sizes",
                                        [PLAN_HOURS] = "hours",
                                        [PLAN_CELLS] = "cells",
                                        NULL };

/* This machine, the table, and the rows of plan.hardware. */
enum { MOST_HARDWARE = 64 };

struct hardware_list {
    struct hardware item[MOST_HARDWARE];
    char name[MOST_HARDWARE][32];
    int n;
    bool has_this; /* the first one is this machine */
};

/* A table, and what it is printed for. */
struct rows {
    struct table table;
    const struct plan_how *how;
    const struct hardware_list *hardware;
    struct plan_model *model; /* whose rows are added */
    struct settings *set;     /* of that */
    double sum[4];            /* of all cells */
};

/* Begin a row with its name, after that of the model. */
static void begin_row(struct rows *r, const char *name)
{
    if (r->model->name)
        table_text(&r->table, r->model->name);
    table_text(&r->table, name);
}

/* ---- the recipe --------------------------------------------------------- */

static void add_recipe(struct rows *r)
{
    const struct conf *c = &r->set->conf;

    for (const struct recipe_row *row = recipe_rows(r->set); row && row->key;
         row++) {
        const bool chosen = recipe_chose(r->set, row);
        const char *given = conf_origin(c, row->key);
        AUTO(buf_clear) struct buf value = BUF_INIT;

        conf_text(c, conf_find(c, row->key), &value);
        begin_row(r, row->key);
        table_text(&r->table, value.s);
        table_text(&r->table, chosen ? row->formula : "");
        table_text(&r->table, chosen  ? row->source
                              : given ? given
                                      : "another setting");
    }
}

/* ---- parameters --------------------------------------------------------- */

/* A parameter is of the first kind that fits. */
static const struct kind {
    const char *name, *holds; /* in a parameter's name */
} kinds[] = {
    { "token embedding", "wte" },
    { "positions", "wpe" },
    { "value embeddings", "value_embed" },
    { "attention", "attn." },
    { "MLP", "mlp." },
    { "norms", "ln_" },
    { "residual scales", "mix." },
    { "head", "lm_head" },
};

static const struct kind *kind_of(const struct graph_param *p)
{
    const struct kind *k = kinds;

    while (!strstr(p->name, k->holds))
        k++;
    return k;
}

static void add_parameters(struct rows *r)
{
    const struct graph *g = &r->model->gpt.graph;
    const int64_t all = graph_parameters(g);
    struct table *t = &r->table;

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        int64_t n = 0, tensors = 0;

        for (int i = 0; i < g->n_params; i++)
            if (kind_of(&g->param[i]) == &kinds[k]) {
                n += g->param[i].count;
                tensors++;
            }
        if (tensors == 0)
            continue;
        begin_row(r, kinds[k].name);
        table_int(t, tensors);
        table_int(t, n);
        table_printf(t, "%.1f%%", 100.0 * (double)n / (double)all);
    }
    begin_row(r, "all");
    table_int(t, g->n_params);
    table_int(t, all);
    table_text(t, "100%");
    if (r->set->model.tied) {
        begin_row(r, "all, the tied matrix twice");
        table_none(t);
        table_int(t, all + r->set->is.vocab_padded * r->set->model.width);
        table_none(t);
    }
}

/* ---- training ----------------------------------------------------------- */

static void add_int(struct rows *r, const char *name, int64_t n)
{
    begin_row(r, name);
    table_int(&r->table, n);
}

static void add_real(struct rows *r, const char *name, double x)
{
    begin_row(r, name);
    table_real(&r->table, x);
}

double plan_tokens(const struct settings *s)
{
    return (double)resolve_sequences_before(s, s->is.steps) *
           (double)s->model.context;
}

/* The first steps of a batch ramp take a part of the time of a step. */
static double training_hours(const struct settings *s, double step_seconds)
{
    return plan_tokens(s) / (double)s->is.tokens_per_step * step_seconds / 3600;
}

static double checkpoint_seconds(const struct settings *s, double step_seconds)
{
    const struct conf_span *every = &s->checkpoint.every;

    switch (every->unit) {
    case SPAN_TOKENS:
        return every->n / (double)s->is.tokens_per_step * step_seconds;
    case SPAN_FRACTION:
        return every->n * (double)s->is.steps * step_seconds;
    case SPAN_TIME:
        return every->n;
    default:
        return every->n * step_seconds;
    }
}

/* The operations of all validations in parts of those of training, of which a
 * forward pass has a third; NaN if these settings do not say. */
static double validation_share(const struct settings *s)
{
    const double every = (double)resolve_span(s, &s->eval.every);
    const double tokens = (double)(s->eval.sequences * s->model.context);
    AUTO(source_list_clear) struct source_list l = { 0 };

    if (every < 1 || s->eval.every.unit == SPAN_TIME || tokens < 1 ||
        source_list_parse(&l, s->data.val, ERR_IGNORED) < 0)
        return (double)NAN;
    return (ceil((double)s->is.steps / every) + s->eval.at_start) *
           (double)l.sources * tokens / (3 * plan_tokens(s));
}

static void add_training(struct rows *r)
{
    const struct settings *s = r->set;
    const struct graph *g = &r->model->gpt.graph;
    const double n = (double)s->is.parameters, d = plan_tokens(s);
    const double flops = gpt_flops_per_token(&r->model->gpt),
                 t = r->how->step_time;
    int decayed = 0;

    for (int i = 0; i < g->n_params; i++)
        decayed += param_rates_of(&s->optim, &g->param[i], false,
                                  g->node[g->param[i].node].val.rank > 1)
                       .decay > 0;
    add_int(r, "ranks", r->how->ranks);
    add_int(r, "sequences of a micro-batch", s->train.micro_batch);
    add_int(r, "micro-batches of a step, each rank", s->is.accumulate);
    add_int(r, "tokens of a step", s->is.tokens_per_step);
    add_int(r, "steps", s->is.steps);
    if (r->how->ranks > 1)
        add_int(r, "steps, each rank with this batch",
                s->is.steps / r->how->ranks);
    add_int(r, "warm-up steps", s->is.warmup);
    add_int(r, "tokens", (int64_t)d);
    add_int(r, "tokens for 20 a parameter", 20 * s->is.parameters);
    add_real(r, "tokens a parameter", d / n);
    for (size_t k = 0; k < r->model->n_epochs; k++)
        add_real(r, r->model->epochs[k].name, r->model->epochs[k].epochs);
    add_int(r, "tensors with decay", decayed);
    add_int(r, "tensors without", g->n_params - decayed);
    for (int i = 0; i < OPTIM_GROUPS; i++)
        if (*s->optim.group[i]) {
            char name[64];

            snprintf(name, sizeof name, "parameters of optim.group.%d", i + 1);
            add_int(r, name, param_rates_count(s->optim.group[i], g));
        }
    add_real(r, "FLOP a token, 6N", 6 * n);
    add_real(r, "FLOP a token, of the MFU", flops);
    add_real(r, "FLOP in all, 6ND", 6 * n * d);
    add_real(r, "TFLOP in all, 6ND", 6 * n * d / 1e12);
    add_real(r, "FLOP in all, of the MFU", flops * d);
    begin_row(r, "validation, part of these FLOP");
    table_real_or_none(&r->table, validation_share(s));
    begin_row(r, "exports");
    table_text(&r->table, r->model->exports);
    if (t > 0) {
        add_real(r, "hours at this step time", training_hours(s, t));
        add_real(r, "tokens/s at this step time",
                 (double)s->is.tokens_per_step / t);
        if (s->checkpoint.every.n > 0)
            add_real(r, "hours from one checkpoint to the next",
                     checkpoint_seconds(s, t) / 3600);
    }
}

/* ---- memory ------------------------------------------------------------- */

/* A GPU that is named needs more than the model. */
static bool has_scratch(const struct plan_how *how)
{
    return how->device && how->device->gpu.name;
}

/* The values of parallel.mode that matter. */
static int count_modes(const struct rows *r, const char *const **words)
{
    int n = 0;

    *words = conf_find(&r->set->conf, "parallel.mode")->words;
    while ((*words)[n] && (n == 0 || r->how->ranks > 1))
        n++;
    return n;
}

static void add_memory(struct rows *r)
{
    const double gib = has_scratch(r->how) ? r->how->device->gpu.gib : 0;
    const char *const *modes;
    struct table *t = &r->table;
    const int n = count_modes(r, &modes);

    for (int i = 0; i < n; i++) {
        struct rank_memory m;

        plan_memory_find(r->set, r->how->ranks, (enum parallel_mode)i,
                         r->set->train.micro_batch, gib, &m);
        begin_row(r, modes[i]);
        for (int k = 0; k < DEV_MODEL_USES; k++)
            table_bytes(t, m.bytes[k]);
        if (gib > 0)
            table_bytes(t, m.scratch);
        table_bytes(t, rank_memory_sum(&m));
        table_bytes(t, m.sent);
    }
}

/* ---- time --------------------------------------------------------------- */

/* Unknown values are NaN. */
struct time_row {
    const char *name, *source;
    int devices;
    double peak, mfu, gib;
    double seconds; /* of a step */
};

static void add_time_row(struct rows *r, const struct time_row *row)
{
    const struct plan_how *how = r->how;
    const double hours = training_hours(r->set, row->seconds);
    struct table *t = &r->table;

    begin_row(r, row->name);
    table_int(t, row->devices);
    table_real_or_none(t, row->peak / 1e12);
    table_real_or_none(t, row->mfu);
    table_real(t, hours);
    table_real(t, hours * row->devices);
    if (how->has_price)
        table_real(t, hours * row->devices * how->price);
    table_real_or_none(t, row->gib);
    if (how->fit && isnan(row->gib)) {
        table_none(t);
        table_none(t);
    } else if (how->fit) {
        table_int(t, plan_memory_batch(r->set, how->ranks, row->gib));
        table_int(t, (int64_t)plan_memory_model(r->set, how->ranks, row->gib));
    }
    table_text(t, row->source);
}

/* The time of a step by the operations of perf/mfu, at a share of the peak
 * rate.  A single device stands for as many as there are ranks; what was
 * measured here is all of this machine. */
static struct time_row hardware_row(const struct rows *r,
                                    const struct hardware *h, double mfu)
{
    const struct settings *s = r->set;
    const bool whole = h->devices > 1 || h->whole;
    const int devices = whole ? h->devices : r->how->ranks;
    const double peak = hardware_tflops(h, s) * 1e12 * (whole ? 1 : devices);
    const double flops =
        gpt_flops_per_token(&r->model->gpt) * (double)s->is.tokens_per_step;

    return (struct time_row){ .name = h->name,
                              .source = h->source,
                              .devices = devices,
                              .peak = peak,
                              .mfu = mfu,
                              .gib = h->gib,
                              .seconds = flops / (peak * mfu) };
}

static void add_hardware(struct rows *r, const struct hardware *h)
{
    for (int i = 0; i < r->set->plan.mfu.n; i++) {
        const struct time_row row = hardware_row(r, h, r->set->plan.mfu.x[i]);

        add_time_row(r, &row);
    }
}

/* The rows of plan.hardware have been accepted. */
static void list_hardware(struct hardware_list *l, const struct settings *s)
{
    const char *more = s->plan.hardware;
    struct err e = { 0 };

    l->has_this = hardware_measure(&l->item[0], s);
    l->n = l->has_this;
    for (const struct gpu *g = gpu_table; g->name; g++)
        if (g->hours)
            l->item[l->n++] = hardware_of(g);
    while (l->n < MOST_HARDWARE &&
           hardware_parse(&more, l->name[l->n], &l->item[l->n], &e) > 0)
        l->n++;
}

static void add_planned(struct rows *r)
{
    const int ranks = r->how->ranks;
    struct plan_rates p;
    struct plan_step step;

    for (int i = 0; plan_device_rates(r->how->device, r->set, ranks, i, &p);
         i++) {
        char name[64];

        snprintf(name, sizeof name, p.is_cpu ? "%s, threads: %d" : "%s", p.name,
                 p.threads);
        plan_step_find(&step, &p, r->set, &r->model->gpt, ranks,
                       r->set->parallel.mode);
        add_time_row(r, &(struct time_row){ .name = name,
                                            .source = "operations",
                                            .devices = ranks,
                                            .peak = p.peak * ranks,
                                            .mfu = step.mfu,
                                            .gib = p.gib,
                                            .seconds = step.seconds });
    }
}

static void add_time(struct rows *r)
{
    struct hardware_list l;

    if (r->how->step_time > 0)
        add_time_row(r, &(struct time_row){ .name = "this step time",
                                            .source = "--step-time",
                                            .devices = r->how->ranks,
                                            .peak = (double)NAN,
                                            .mfu = (double)NAN,
                                            .gib = (double)NAN,
                                            .seconds = r->how->step_time });
    if (r->how->device)
        add_planned(r);
    list_hardware(&l, r->set);
    for (int i = 0; i < l.n; i++)
        add_hardware(r, &l.item[i]);
}

/* ---- tables of several models ------------------------------------------- */

static void add_sizes(struct rows *r)
{
    const struct settings *s = r->set;
    struct table *t = &r->table;

    table_text(t, r->model->name);
    table_int(t, s->model.layers);
    table_int(t, s->model.heads);
    table_int(t, s->model.width);
    table_int(t, s->model.context);
    table_int(t, s->is.parameters);
    table_int(t, s->is.tokens_per_step);
    table_real(t, s->optim.lr);
}

/* A row for each MFU, and a column for each kind of hardware. */
static void add_hours(struct rows *r)
{
    for (int i = 0; i < r->set->plan.mfu.n; i++) {
        table_text(&r->table, r->model->name);
        table_int(&r->table, r->set->is.parameters);
        table_real(&r->table, r->set->plan.mfu.x[i]);
        for (int k = 0; k < r->hardware->n; k++) {
            const struct time_row row =
                hardware_row(r, &r->hardware->item[k], r->set->plan.mfu.x[i]);

            table_real_or_none(
                &r->table, row.peak > 0 ? training_hours(r->set, row.seconds)
                                        : (double)NAN);
        }
    }
}

/* The step time that is given, or that of the device that is named, or that of
 * this machine at the first MFU; unknown if it has no rate. */
static struct time_row cell_time(const struct rows *r)
{
    const struct plan_how *how = r->how;
    struct time_row row = { .devices = how->ranks, .seconds = (double)NAN };
    struct plan_rates p;
    struct plan_step step;

    if (how->step_time > 0) {
        row.seconds = how->step_time;
    } else if (how->device) {
        plan_device_rates(how->device, r->set, how->ranks, 0, &p);
        plan_step_find(&step, &p, r->set, &r->model->gpt, how->ranks,
                       r->set->parallel.mode);
        row.seconds = step.seconds;
    } else if (r->hardware->has_this && r->set->plan.mfu.n > 0) {
        row = hardware_row(r, &r->hardware->item[0], r->set->plan.mfu.x[0]);
    }
    return row;
}

static void add_cell_row(struct rows *r, const char *name, int64_t parameters,
                         const double sum[4])
{
    struct table *t = &r->table;

    table_text(t, name);
    table_int_or_none(t, parameters ? parameters : -1);
    table_int(t, (int64_t)sum[0]);
    table_int(t, (int64_t)sum[1]);
    table_real_or_none(t, sum[2]);
    table_real_or_none(t, sum[3]);
    if (r->how->has_price)
        table_real_or_none(t, sum[3] * r->how->price);
}

/* The steps, tokens, hours and device hours of a cell, which are added up. */
static void add_cell(struct rows *r)
{
    const struct time_row row = cell_time(r);
    const double hours = training_hours(r->set, row.seconds);
    const double own[4] = { (double)r->set->is.steps, plan_tokens(r->set),
                            hours, hours * row.devices };

    for (int i = 0; i < 4; i++)
        r->sum[i] += own[i];
    add_cell_row(r, r->model->name, r->set->is.parameters, own);
}

/* ---- a step ------------------------------------------------------------- */

static void add_modes(struct rows *r, const struct plan_rates *p)
{
    const char *const *modes;
    const int n = count_modes(r, &modes);
    struct table *t = &r->table;

    for (int i = 0; i < n; i++) {
        struct plan_step k;
        double gib;

        plan_step_find(&k, p, r->set, &r->model->gpt, r->how->ranks,
                       (enum parallel_mode)i);
        gib = (double)rank_memory_sum(&k.memory) / 0x1p30;
        begin_row(r, modes[i]);
        table_int(t, r->how->ranks);
        if (p->is_cpu)
            table_int(t, p->threads);
        table_printf(t, "%.1f", 1e3 * k.seconds);
        table_printf(t, "%.1f", 1e3 * k.compute);
        table_printf(t, "%.1f", 1e3 * k.sending);
        table_printf(t, "%.1f", 1e3 * k.exposed);
        table_printf(t, "%.1f", gib);
        table_text(t, gib <= p->gib ? "yes" : "no");
        table_printf(t, "%.0f", (double)r->set->is.tokens_per_step / k.seconds);
        table_printf(t, "%.1f%%", 100 * k.mfu);
    }
}

static void add_step(struct rows *r)
{
    struct plan_rates p;

    for (int i = 0;
         plan_device_rates(r->how->device, r->set, r->how->ranks, i, &p); i++)
        add_modes(r, &p);
}

static void add_work(struct rows *r, const struct plan_work *w)
{
    begin_row(r, w->name);
    table_int(&r->table, w->calls);
    table_printf(&r->table, "%.1f", w->flops / 1e9);
    table_printf(&r->table, "%.2f", w->bytes / 1e9);
    table_printf(&r->table, "%.2f", 1e3 * w->seconds);
}

static void add_operations(struct rows *r)
{
    struct plan_work sum = { .name = "sum" };
    struct plan_rates p;
    struct plan_works w;

    plan_device_rates(r->how->device, r->set, r->how->ranks, 0, &p);
    plan_step_list(&w, &p, r->set, &r->model->gpt.graph, 1);
    for (int i = 0; i < w.n; i++) {
        add_work(r, &w.work[i]);
        sum.calls += w.work[i].calls;
        sum.flops += w.work[i].flops;
        sum.bytes += w.work[i].bytes;
        sum.seconds += w.work[i].seconds;
    }
    add_work(r, &sum);
    free(w.work);
}

/* ---- schedule ----------------------------------------------------------- */

static void add_schedule(struct rows *r)
{
    const int64_t steps = r->set->is.steps, points = r->how->points;
    const int64_t n = points > 1 && points < steps ? points : steps;
    struct schedule s;

    schedule_init(&s, r->set);
    for (int64_t i = 0; i < n; i++) {
        const int64_t step = n < 2 ? 0 : i * (steps - 1) / (n - 1);

        if (r->model->name)
            table_text(&r->table, r->model->name);
        table_int(&r->table, step);
        table_real(&r->table, schedule_at(&s, (double)step));
        table_int(&r->table, resolve_sequences(r->set, step));
    }
}

/* ---- all of them -------------------------------------------------------- */

/* Columns that not every table has. */
static bool has_column(const struct plan_how *how, const char *name)
{
    const bool is_cpu = how->device && !how->device->gpu.name;
    const struct {
        const char *name;
        bool is_there;
    } some[] = {
        { "scratch", has_scratch(how) },
        { "price", how->has_price },
        { "micro-batch", how->fit },
        { "largest model", how->fit },
        { "ranks", is_cpu },
        { "GPUs", !is_cpu },
        { "GiB a rank", is_cpu },
        { "GiB a GPU", !is_cpu },
        { "threads", is_cpu },
    };

    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (strcmp(name, some[i].name) == 0)
            return some[i].is_there;
    return true;
}

/* The tables, and what adds the rows of a model. */
static const struct part {
    void (*add)(struct rows *);
    const char *columns[14]; /* ended by NULL */
} parts[] = {
    [PLAN_RECIPE] = { add_recipe, { "setting", "value", "formula", "source" } },
    [PLAN_PARAMETERS] = { add_parameters,
                          { "part", "tensors", "parameters", "share" } },
    [PLAN_TRAINING] = { add_training, { "quantity", "value" } },
    [PLAN_MEMORY] = { add_memory,
                      { "sharding", "weights", "gradients", "moments",
                        "activations", "inputs", "scratch", "all, a rank",
                        "sent a step" } },
    [PLAN_TIME] = { add_time,
                    { "hardware", "devices", "peak TFLOP/s", "MFU", "hours",
                      "device hours", "price", "GiB each", "micro-batch",
                      "largest model", "source" } },
    [PLAN_STEP] = { add_step,
                    { "sharding", "ranks", "GPUs", "threads", "step ms",
                      "compute ms", "sending ms", "exposed ms", "GiB a rank",
                      "GiB a GPU", "fits", "tokens/s", "MFU" } },
    [PLAN_OPERATIONS] = { add_operations,
                          { "operation", "calls", "GFLOP", "GB", "ms" } },
    [PLAN_SCHEDULE] = { add_schedule, { "step", "lr", "sequences" } },
    [PLAN_SIZES] = { add_sizes,
                     { "layers", "heads", "width", "context", "parameters",
                       "tokens of a step", "lr" } },
    [PLAN_HOURS] = { add_hours, { "parameters", "MFU" } },
    [PLAN_CELLS] = { add_cell,
                     { "parameters", "steps", "tokens", "hours", "device hours",
                       "price" } },
};

static int print_part(struct plan_model *model, int n,
                      const struct plan_how *how, enum plan_part part,
                      const struct table_style *style, struct err *e)
{
    const struct part *p = &parts[part];
    struct hardware_list hardware = { .n = 0 };
    struct rows r = { .table = TABLE_INIT("gtrain.plan/1"),
                      .how = how,
                      .hardware = &hardware };

    if (part == PLAN_HOURS || part == PLAN_CELLS)
        list_hardware(&hardware, model[0].set);
    if (model[0].name || part >= PLAN_SIZES)
        table_column(&r.table, how->models);
    for (const char *const *name = p->columns; *name; name++)
        if (has_column(how, *name))
            table_column(&r.table, *name);
    for (int i = 0; part == PLAN_HOURS && i < hardware.n; i++)
        table_column(&r.table, hardware.item[i].name);
    for (int i = 0; i < n; i++) {
        r.model = &model[i];
        r.set = model[i].set;
        p->add(&r);
    }
    if (part == PLAN_CELLS)
        add_cell_row(&r, "all", 0, r.sum);
    return table_finish(&r.table, 0, style, e);
}

int plan_tables_print(struct plan_model *model, int n,
                      const struct plan_how *how, enum plan_part only,
                      const struct table_style *style, struct err *e)
{
    const enum plan_part end = how->device ? PLAN_SCHEDULE : PLAN_STEP;
    int first = PLAN_PARAMETERS;

    if (only != PLAN_ALL)
        return print_part(model, n, how, only, style, e);
    for (int i = 0; i < n; i++)
        if (recipe_rows(model[i].set))
            first = PLAN_RECIPE;
    for (int part = first; part < (int)end; part++) {
        if (part > first)
            putchar('\n');
        if (print_part(model, n, how, (enum plan_part)part, style, e) < 0)
            return -1;
    }
    return 0;
}
