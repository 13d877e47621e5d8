/*
 * plan_budget - the model with the lowest loss by a scaling law
 */
#include "config.h"
#include "trainer/plan/plan_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/stats/scaling_law.h"
#include "store/read/runs.h"
#include "trainer/model/resolve.h"

/* ---- the scaling law -------------------------------------------------- */

enum { SCALING_LEAST = 5 }; /* runs */

/*
 * The loss of a model of N parameters after D tokens, L = E + A N^-a + B D^-b
 * (Hoffmann et al., "Training compute-optimal large language models", 2022;
 * common/stats/scaling_law.h), fitted to the last val/loss of those finished
 * runs of a store that have the validation data of the newest one.
 */
struct scaling {
    struct scaling_law law;
    int64_t runs;
    double least_n, most_n; /* parameters of these runs */
    double off; /* the median error for a run that is left out of the fit */
};

/* What runs trained, and their losses. */
struct points {
    double (*size)[2]; /* parameters, tokens */
    double *loss;
    size_t n, room, loss_room;
};

static bool read_point(double size[2], double *loss, const struct run_info *run)
{
    const char *text = run_info_param(run, "derived.parameters");
    const struct metric_sum *losses = run_info_metric(run, "val/loss");
    const struct metric_sum *tokens = run_info_metric(run, "train/tokens");

    if (run->status != RUN_FINISHED || !text || !num_real(text, &size[0]) ||
        !losses || !tokens)
        return false;
    size[1] = tokens->last;
    *loss = losses->last;
    return size[0] > 0 && size[1] > 0 && isfinite(*loss);
}

/* Read the runs with the validation data of the newest run that has a point. */
static void read_points(struct points *p, const struct runs *runs)
{
    const char *data = NULL;

    for (size_t i = runs->n; i-- > 0;) {
        const char *own = run_info_param(&runs->run[i], "derived.data.val");
        double size[2], loss;

        if (!read_point(size, &loss, &runs->run[i]))
            continue;
        if (p->n > 0 && (!own != !data || (own && strcmp(own, data) != 0)))
            continue;
        data = own;
        GROW(p->size, p->n, p->room);
        GROW(p->loss, p->n, p->loss_room);
        memcpy(p->size[p->n], size, sizeof size);
        p->loss[p->n++] = loss;
    }
}

static bool have_differences(const struct points *p)
{
    bool sizes = false, lengths = false;

    for (size_t i = 1; i < p->n; i++) {
        sizes |= p->size[i][0] != p->size[0][0];
        lengths |= p->size[i][1] != p->size[0][1];
    }
    return sizes && lengths;
}

/* Fit to all points but one; to all if there is no such point. */
static bool fit_law(struct scaling_law *law, const struct points *p,
                    size_t left_out)
{
    *law = (struct scaling_law){ .variables = 2 };
    return scaling_law_fit(law, *p->size, p->loss, p->n, left_out);
}

/* The median error for a point that is left out. */
static double test_law(const struct points *p)
{
    AUTO_FREE double *error = xcalloc(p->n, sizeof *error);
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        struct scaling_law law;

        if (fit_law(&law, p, i))
            error[n++] = fabs(scaling_law_at(&law, p->size[i]) - p->loss[i]);
    }
    num_sort(error, n);
    return n > 0 ? error[n / 2] : (double)NAN;
}

static void find_range(struct scaling *s, const struct points *p)
{
    s->least_n = INFINITY;
    for (size_t i = 0; i < p->n; i++) {
        s->least_n = fmin(s->least_n, p->size[i][0]);
        s->most_n = fmax(s->most_n, p->size[i][0]);
    }
}

/* The law that Besiroglu et al., "Chinchilla scaling: a replication attempt"
 * (arXiv:2404.10102, 2024), fitted to the runs of Hoffmann et al.; it has no
 * runs here. */
static void scaling_published(struct scaling *s)
{
    *s = (struct scaling){ .law = { .variables = 2,
                                    .floor = 1.8172,
                                    .factor = { 482.01, 2085.43 },
                                    .exponent = { 0.3478, 0.3658 } } };
}

/* Too few runs, or too few sizes or lengths of training, are ERR_MISSING. */
static int scaling_fit(struct scaling *s, const char *root, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    struct points p = { .n = 0 };
    int ret = runs_load(&runs, root, 0, e);

    *s = (struct scaling){ 0 };
    if (ret == 0)
        read_points(&p, &runs);
    if (ret == 0 && (p.n < SCALING_LEAST || !have_differences(&p) ||
                     !fit_law(&s->law, &p, p.n)))
        ret = err_set(e, ERR_MISSING,
                      "no scaling law fits the finished runs of %s: it needs "
                      "at least %d of several sizes and lengths, on the same "
                      "validation data",
                      root, SCALING_LEAST);
    if (ret == 0) {
        s->runs = (int64_t)p.n;
        find_range(s, &p);
        s->off = test_law(&p);
    }
    FREE(p.size, p.loss);
    return ret;
}

/* ---- the budget ------------------------------------------------------- */

/* Widths from 1/32 to 32 times the one in the settings, four for each doubling.
 */
enum { SIZES = 41, MIDDLE = 20, AROUND = 2, CELLS = 5 };

struct budget {
    double flops; /* in all */
    struct scaling law;
};

/* "6.4gpuh", or "6.4h" of any device. */
static int parse_hours(double *hours, const char *text, struct err *e)
{
    const size_t n = strspn(text, "0123456789.");
    char number[32];

    snprintf(number, sizeof number, "%.*s", (int)n, text);
    if ((strcmp(text + n, "gpuh") == 0 || strcmp(text + n, "h") == 0) &&
        num_real(number, hours) && *hours > 0)
        return 0;
    return err_usage(e, "--budget expects hours, as in 6.4gpuh, not '%s'",
                     text);
}

static int begin_budget(struct budget *b, double hours,
                        const struct settings *s, const struct plan_how *how,
                        struct err *e)
{
    const double part = s->plan.mfu.n > 0 ? s->plan.mfu.x[0] : 0.4;
    double tflops = 0;
    struct plan_rates rates;
    struct hardware h;
    struct err why = { 0 };

    if (how->device) {
        plan_device_rates(how->device, s, how->ranks, 0, &rates);
        tflops = rates.peak / 1e12;
    } else if (hardware_measure(&h, s))
        tflops = hardware_tflops(&h, s);
    if (tflops <= 0)
        return err_usage(e, "the peak rate of the device is not known; set "
                            "plan.peak_tflops");
    b->flops = hours * 3600 * tflops * 1e12 * part;
    if (scaling_fit(&b->law, s->run.root, &why) < 0) {
        log_warn("%s; the losses follow a published law (arXiv:2404.10102) for "
                 "other data",
                 why.text);
        scaling_published(&b->law);
    }
    log_info("%.3g hours at %.3g TFLOP/s, %.0f%% of the peak rate", hours,
             tflops * part, 100 * part);
    return 0;
}

static double flops_per_token(const struct settings *s)
{
    const struct graph_conf conf = { .training = true, .fuse = true };
    struct gpt gpt;
    double flops;

    gpt_build(&gpt, s, 1);
    graph_memory_size(&gpt.graph, &conf);
    flops = gpt_flops_per_token(&gpt);
    graph_clear(&gpt.graph);
    return flops;
}

static double tokens_of(const struct budget *b, const struct settings *s)
{
    return b->flops / flops_per_token(s);
}

static double loss_of(const struct budget *b, const struct settings *s)
{
    const double point[] = { (double)s->is.parameters, tokens_of(b, s) };

    return scaling_law_at(&b->law.law, point);
}

/* A guess that knows nothing has the loss ln(V); the law is of no use there. */
static bool is_learned(const struct budget *b, const struct settings *s)
{
    return loss_of(b, s) < log((double)s->model.vocab);
}

static void add_columns(struct table *t)
{
    table_columns(t, "parameters", "tokens", "steps", "tokens/parameter",
                  "loss", "cells", NULL);
}

static void add_row(const struct budget *b, const struct settings *s,
                    struct table *t)
{
    const double tokens = tokens_of(b, s), own = plan_tokens(s);

    table_int(t, s->is.parameters);
    table_int(t, (int64_t)tokens);
    table_int(t, (int64_t)(tokens / (double)s->is.tokens_per_step));
    table_real(t, tokens / (double)s->is.parameters);
    table_real_or_none(t, is_learned(b, s) ? loss_of(b, s) : (double)NAN);
    table_int_or_none(t, own > 0 ? (int64_t)(tokens / own) : -1);
}

static void tell_lowest(const struct budget *b, const struct settings *s,
                        const char *best)
{
    const struct scaling *law = &b->law;
    char text[NUM_TEXT];

    if (!is_learned(b, s))
        log_warn("by this law, no model learns more in these hours than to "
                 "guess, which has a loss of %.3g",
                 log((double)s->model.vocab));
    else
        log_info("lowest loss: %s", best);
    if (law->runs > 0)
        log_info("the law fits %s of %.3g to %.3g parameters; its median error "
                 "for a run that is left out of the fit is %.3f",
                 num_count(text, law->runs, "run"), law->least_n, law->most_n,
                 law->off);
}

/* ---- several models ----------------------------------------------------- */

static void compare_models(const struct budget *b, const struct plan_model *p,
                           int n, struct table *t)
{
    int best = 0;

    table_column(t, "model");
    add_columns(t);
    for (int i = 0; i < n; i++) {
        table_text(t, p[i].name);
        add_row(b, p[i].set, t);
        if (loss_of(b, p[i].set) < loss_of(b, p[best].set))
            best = i;
    }
    tell_lowest(b, p[best].set, p[best].name);
}

/* ---- the sizes of one model --------------------------------------------- */

/* The most key-value heads, up to `wanted`, that the heads can share evenly. */
static int64_t share_heads(int64_t heads, int64_t wanted)
{
    int64_t kv = wanted > 1 ? wanted : 1;

    while (heads % kv)
        kv--;
    return kv;
}

/* A model of `heads` heads in the proportions of another. */
static struct model_settings scale_model(const struct model_settings *m,
                                         int64_t heads)
{
    const double by = (double)heads / (double)m->heads;
    struct model_settings to = *m;
    const int64_t layers = (int64_t)rint((double)m->layers * by);

    to.heads = heads;
    to.width = (int64_t)rint((double)m->width * by);
    to.layers = layers > 1 ? layers : 1;
    to.d_ff = (int64_t)rint((double)m->d_ff * by);
    if (m->kv_heads > 0)
        to.kv_heads =
            share_heads(heads, (int64_t)rint((double)m->kv_heads * by));
    return to;
}

/* Many heads are an even number, so that widths stay round. */
static int64_t scale_heads(int64_t heads, int quarters)
{
    const int64_t to = (int64_t)rint((double)heads * pow(2, 0.25 * quarters));

    return to > 8 && heads % 2 == 0 ? to / 2 * 2 : to;
}

/* List different sizes, the smallest first; returns their number. */
static int list_sizes(struct model_settings out[SIZES],
                      const struct model_settings *m)
{
    int n = 0;

    for (int i = 0; i < SIZES; i++) {
        const int64_t heads = scale_heads(m->heads, i - MIDDLE);

        if (heads >= 1 && heads <= 1024 && (n == 0 || heads > out[n - 1].heads))
            out[n++] = scale_model(m, heads);
    }
    return n;
}

static void tell_best(const struct budget *b, const struct settings *s)
{
    const struct model_settings *m = &s->model;
    const double steps = tokens_of(b, s) / (double)s->is.tokens_per_step;
    const double cells = steps / (10 + CELLS);
    AUTO(buf_clear) struct buf sets = BUF_INIT;

    buf_printf(&sets, "model.layers=%" PRId64 " model.heads=%" PRId64,
               m->layers, m->heads);
    if (m->kv_heads > 0)
        buf_printf(&sets, " model.kv_heads=%" PRId64, m->kv_heads);
    buf_printf(&sets, " model.width=%" PRId64, m->width);
    if (m->d_ff > 0)
        buf_printf(&sets, " model.d_ff=%" PRId64, m->d_ff);
    tell_lowest(b, s, sets.s);
    log_info("%d learning rates tried for %.0f steps each leave %.0f steps for "
             "the run, ten times as many",
             CELLS, floor(cells), floor(10 * cells));
}

static int compare_sizes(const struct budget *b, struct settings *s, int ranks,
                         struct table *t, struct err *e)
{
    struct model_settings size[SIZES];
    const int n = list_sizes(size, &s->model);
    double least = INFINITY;
    int best = 0;

    table_columns(t, "layers", "width", NULL);
    add_columns(t);
    for (int i = 0; i < n; i++) {
        s->model = size[i];
        if (resolve_settings(s, 0, ranks, e) < 0)
            return -1;
        if (loss_of(b, s) < least) {
            least = loss_of(b, s);
            best = i;
        }
    }
    for (int i = best - AROUND; i <= best + AROUND; i++) {
        if (i < 0 || i >= n)
            continue;
        s->model = size[i];
        if (resolve_settings(s, 0, ranks, e) < 0)
            return -1;
        table_int(t, s->model.layers);
        table_int(t, s->model.width);
        add_row(b, s, t);
    }
    s->model = size[best];
    if (resolve_settings(s, 0, ranks, e) < 0)
        return -1;
    tell_best(b, s);
    return 0;
}

int plan_budget_print(const char *text, struct plan_model *p, int n,
                      const struct plan_how *how,
                      const struct table_style *style, struct err *e)
{
    struct table t = TABLE_INIT("gtrain.plan-budget/1");
    struct budget b;
    double hours;
    int ret = 0;

    if (parse_hours(&hours, text, e) < 0 ||
        begin_budget(&b, hours, p[0].set, how, e) < 0)
        return -1;
    if (n > 1)
        compare_models(&b, p, n, &t);
    else
        ret = compare_sizes(&b, p[0].set, how->ranks, &t, e);
    return table_finish(&t, ret, style, e);
}
