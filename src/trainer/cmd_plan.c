/*
 * gtrain plan - calculate what a training will need
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "data/token/tokenizer.h"
#include "trainer/convert/convert.h"
#include "trainer/model/graph.h"
#include "trainer/model/resolve.h"
#include "trainer/plan/plan_budget.h"
#include "trainer/ranks/rank_memory.h"
#include "trainer/settings/settings.h"

static const char *config;
static struct opt_list sets;
static int only = PLAN_ALL;
static struct plan_how how = { .ranks = 1, .points = 20 };
static const char *mfu, *price, *device, *network = "400Gb", *budget, *threads;
static struct plan_device named;
static struct table_style style;

static const struct opt plan_opts[] = {
    SETTINGS_OPTS(config, sets),
    { 'r', "ranks", "n", OPT_INT, &how.ranks,
      "calculate for N processes (default: 1)" },
    { 0, "gpus", "n", OPT_INT, &how.ranks, "the same as --ranks" },
    { 0, "device", "name", OPT_STRING, &device,
      "add the expected step time on this CPU (cpu) or on GPUs, such as h100" },
    { 0, "threads", "list", OPT_STRING, &threads,
      "with --device cpu: for these numbers of threads, as in 1,2,4" },
    { 0, "network", "rate", OPT_STRING, &network,
      "the rate between machines, for each GPU (default: 400Gb)" },
    { 0, "only", "part", OPT_WORD, &only, "print one part: %s",
      plan_part_words },
    { 0, "points", "n", OPT_INT, &how.points,
      "print N rows of the schedule; 0: one per step (default: 20)" },
    { 0, "mfu", "fractions", OPT_STRING, &mfu,
      "assume these fractions of the peak rate (default: plan.mfu)" },
    { 0, "step-time", "time", OPT_SECS, &how.step_time,
      "add hours and tokens/s for steps that take TIME" },
    { 0, "price", "amount", OPT_STRING, &price,
      "add the price, for AMOUNT per hour of a device: 2.5/h" },
    { 0, "budget", "hours", OPT_STRING, &budget,
      "print the size of the model to train with HOURS, as in 6.4gpuh" },
    { 0, "fit", NULL, OPT_FLAG, &how.fit,
      "add the largest micro-batch and model that fit each memory" },
    TABLE_OPTS(style),
    { 0 }
};

/* ---- options ------------------------------------------------------------ */

/* "2.5" or "2.5/h" */
static bool parse_price(const char *text, double *out)
{
    char number[32];
    const size_t n = strcspn(text, "/");

    snprintf(number, sizeof number, "%.*s", (int)n, text);
    return (!text[n] || strcmp(text + n, "/h") == 0) && num_real(number, out) &&
           *out >= 0;
}

static int check_device(struct err *e)
{
    if (!device && (only == PLAN_STEP || only == PLAN_OPERATIONS))
        return err_set(e, ERR_USAGE, "--only %s needs --device",
                       plan_part_words[only]);
    if (device && plan_device_find(&named, device, e) < 0)
        return -1;
    how.device = device ? &named : NULL;
    if (threads && (!device || named.gpu))
        return err_set(e, ERR_USAGE, "--threads needs --device cpu");
    if (threads && plan_device_threads(&named, threads, e) < 0)
        return -1;
    return plan_device_network(&named, network, e);
}

static int check_options(struct err *e)
{
    if (how.ranks < 1)
        return err_set(e, ERR_USAGE, "--ranks expects 1 or more, not %d",
                       how.ranks);
    how.has_price = price != NULL;
    if (price && !parse_price(price, &how.price))
        return err_set(e, ERR_USAGE, "--price expects 2.5/h, not '%s'", price);
    return check_device(e);
}

/* ---- models ------------------------------------------------------------- */

/* Before the first table is printed. */
static int check_plan(const struct settings *s, struct err *e)
{
    const struct conf_reals *parts = &s->plan.mfu;
    const char *more = s->plan.hardware;
    struct hardware h;
    char name[32];
    int got;

    while ((got = hardware_parse(&more, name, &h, e)) > 0)
        ;
    if (got < 0)
        return -1;
    for (int i = 0; i < parts->n; i++)
        if (parts->x[i] <= 0 || parts->x[i] > 1)
            return conf_fail(&s->conf, "plan.mfu", e,
                             "expects numbers above 0, at most 1, not %g",
                             parts->x[i]);
    if (s->is.steps == 0 && !budget && only != PLAN_PARAMETERS &&
        only != PLAN_RECIPE && only != PLAN_MEMORY && only != PLAN_STEP &&
        only != PLAN_OPERATIONS)
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
                               how.ranks, e);
    if (ret == 0 && mfu)
        ret = conf_put(&s->conf, "plan.mfu", mfu, "--mfu", e);
    if (ret == 0)
        ret = check_plan(s, e);
    tokenizer_free(tokenizer);
    return ret;
}

/* The formats of gtrain export, with the class of transformers. */
static void name_exports(struct plan_model *p)
{
    struct err e = { 0 };
    const struct convert_family *f = convert_family(p->set, &e);

    snprintf(p->exports, sizeof p->exports, "hf (%s)%s%s",
             f ? f->type : "own class",
             convert_check_llmc(p->set, &e) == 0 ? ", llm.c" : "",
             convert_check_gguf(p->set, &e) == 0 ? ", gguf" : "");
}

static int load_model(struct plan_model *p, const char *path, struct err *e)
{
    const struct graph_conf conf = { .training = true, .fuse = true };

    if (load_settings(p->set, path, e) < 0)
        return -1;
    name_exports(p);
    gpt_build(&p->gpt, p->set, p->set->train.micro_batch);
    graph_memory_size(&p->gpt.graph, &conf, &ref_ops);
    if (!device)
        return 0;
    if (!named.gpu)
        rank_memory_warn(p->set, how.ranks, how.ranks);
    return plan_device_open(&named, p->set, p->gpt.graph.type, e);
}

static int plan_main(int argc, char **argv, struct err *e)
{
    const int n = argc > 0 ? argc : 1;
    struct plan_model *p;
    int ret = 0;

    if (check_options(e) < 0)
        return -1;
    p = xcalloc((size_t)n, sizeof *p);
    for (int i = 0; i < n; i++) {
        p[i].set = xcalloc(1, sizeof *p[i].set);
        p[i].file = n > 1 ? argv[i] : NULL;
        if (ret == 0)
            ret = load_model(&p[i], argc > 0 ? argv[i] : config, e);
    }
    if (ret == 0 && budget)
        ret = plan_budget_print(budget, p, n, &how, &style, e);
    else if (ret == 0)
        ret = plan_tables_print(p, n, &how, (enum plan_part)only, &style, e);
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
