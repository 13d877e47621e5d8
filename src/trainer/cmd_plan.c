/*
 * gtrain plan - calculate what a training will need
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "data/token/tokenizer.h"
#include "trainer/convert/convert.h"
#include "trainer/engine/engine_data.h"
#include "trainer/model/graph.h"
#include "trainer/model/resolve.h"
#include "trainer/plan/plan_tables.h"
#include "trainer/ranks/parallel.h"
#include "trainer/sweep_cells.h"

static const char *config;
static struct opt_list sets;
static int only = PLAN_ALL;
static struct plan_how how = { .ranks = 1, .points = 20, .models = "file" };
static bool presets, ladder;
static const char *mfu, *price, *device, *network = "400Gb", *budget, *threads;
static struct plan_device named;
static struct table_style style;

static const struct opt plan_opts[] = {
    SETTINGS_OPTS(config, sets),
    { 'r', "ranks", "n", OPT_INT, &how.ranks,
      "calculate for N processes (default: 1)", .range = OPT_FROM(1) },
    { 0, "gpus", "n", OPT_INT, &how.ranks, "the same as --ranks",
      .range = OPT_FROM(1) },
    { 0, "device", "name", OPT_STRING, &device,
      "add the expected step time on this CPU (cpu) or on GPUs, such as h100" },
    { 0, "threads", "list", OPT_STRING, &threads,
      "with --device cpu: for these numbers of threads, as in 1,2,4" },
    { 0, "network", "rate", OPT_STRING, &network,
      "the rate between machines, for each GPU (default: 400Gb)" },
    { 0, "only", "part", OPT_WORD, &only, "print one part: %s",
      plan_part_words },
    { 0, "presets", NULL, OPT_FLAG, &presets,
      "compare the models of model.preset" },
    { 0, "ladder", NULL, OPT_FLAG, &ladder,
      "compare up to six depths of the recipe, and add up their costs" },
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
        return err_usage(e, "--only %s needs --device", plan_part_words[only]);
    if (device && plan_device_find(&named, device, e) < 0)
        return -1;
    how.device = device ? &named : NULL;
    if (threads && (!device || named.gpu.name))
        return err_usage(e, "--threads needs --device cpu");
    if (threads && plan_device_threads(&named, threads, e) < 0)
        return -1;
    return plan_device_network(&named, network, e);
}

static int check_options(struct err *e)
{
    how.has_price = price != NULL;
    if (price && !parse_price(price, &how.price))
        return err_usage(e, "--price expects 2.5/h, not '%s'", price);
    return check_device(e);
}

enum { MOST_CELLS = 10000 };

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
        only != PLAN_OPERATIONS && only != PLAN_SIZES)
        return err_usage(e, "the length of training is not known; set "
                            "schedule.steps, schedule.tokens or "
                            "schedule.chinchilla");
    return 0;
}

static int resolve_model(struct settings *s, struct err *e)
{
    struct tokenizer *tokenizer = NULL;
    int ret = 0;

    if (how.device)
        resolve_precision(s, named.gpu.name != NULL);
    if (s->model.vocab == 0 && *s->data.tokenizer)
        ret = tokenizer_load(&tokenizer, s->data.tokenizer, e);
    /* rates follow from the vocabulary only if the number of steps does */
    if (ret < 0 && only == PLAN_SCHEDULE && s->schedule.chinchilla <= 0) {
        *e = (struct err){ 0 };
        ret = 0;
        s->model.vocab = 1;
    }
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
    const struct convert_family *f = convert_family(p->set, ERR_IGNORED);

    snprintf(p->exports, sizeof p->exports, "hf (%s)%s%s",
             f ? f->type : "own class",
             convert_check_llmc(p->set, ERR_IGNORED) == 0 ? ", llm.c" : "",
             convert_check_gguf(p->set, ERR_IGNORED) == 0 ? ", gguf" : "");
}

struct models {
    struct plan_model *item;
    size_t n, room;
};

/* Append a model, whose settings are still to be loaded; the name is copied. */
static struct settings *add_model(struct models *m, const char *name)
{
    GROW(m->item, m->n, m->room);
    m->item[m->n] = (struct plan_model){ .name = name ? xstrdup(name) : NULL };
    m->item[m->n].set = xcalloc(1, sizeof *m->item[m->n].set);
    return m->item[m->n++].set;
}

/* Four epochs are about as good as new data (Muennighoff et al. 2023). */
enum { MANY_EPOCHS = 4 };

static void set_epochs(struct plan_epochs *row, const char *source, double n)
{
    snprintf(row->name, sizeof row->name, "epochs%s%s", *source ? " of " : "",
             source);
    row->epochs = n;
    if (n > MANY_EPOCHS)
        log_warn("%s%sdata.train is read %.3g times; more than %d epochs teach "
                 "less than new text",
                 source, *source ? " in " : "", n, MANY_EPOCHS);
}

static void list_epochs(struct plan_model *p, const struct mixture *m,
                        int64_t steps)
{
    const int64_t all = resolve_sequences_before(p->set, steps);

    p->n_epochs = mixture_sources(m);
    p->epochs = xcalloc(p->n_epochs, sizeof *p->epochs);
    for (size_t k = 0; k < p->n_epochs; k++)
        set_epochs(&p->epochs[k], mixture_name(m, k),
                   mixture_due(m, k, all) /
                       (double)loader_windows(mixture_loader(m, k)));
    if (steps < p->set->is.stop_at)
        log_warn("the sources of data.train end after step %" PRId64
                 " of %" PRId64,
                 steps, p->set->is.stop_at);
}

/* Count the epochs of each source, if its size is given or its files are here,
 * and the ids of a teacher. */
static int count_epochs(struct plan_model *p, struct err *e)
{
    const struct settings *s = p->set;
    AUTO(engine_data_close) struct engine_data d = { 0 };
    struct err why = { 0 };
    int ret = 0;

    if (s->is.steps == 0 || budget ||
        (only != PLAN_ALL && only != PLAN_TRAINING && !*s->train.teacher))
        return 0;
    if (s->plan.data_tokens) {
        p->epochs = xcalloc(p->n_epochs = 1, sizeof *p->epochs);
        set_epochs(p->epochs, "", plan_tokens(s) / (double)s->plan.data_tokens);
    } else if (*s->data.train) {
        ret = engine_data_open_counts(&d, s, &why);
        p->set->is.teacher_k = d.teacher.k;
        if (ret == 0)
            list_epochs(p, d.train, engine_data_steps(&d, s));
        else if (why.kind != ERR_MISSING)
            *e = why;
        else
            log_info("the epochs are not known: %s", why.text);
        ret = why.kind == ERR_MISSING ? 0 : ret;
    }
    return ret;
}

/* What follows from the settings of the last model. */
static int build_model(struct models *m, struct err *e)
{
    const struct graph_conf conf = { .training = true, .fuse = true };
    struct plan_model *p = &m->item[m->n - 1];

    if (resolve_model(p->set, e) < 0)
        return -1;
    if (count_epochs(p, e) < 0)
        return -1;
    name_exports(p);
    gpt_build(&p->gpt, p->set, p->set->train.micro_batch);
    graph_memory_size(&p->gpt.graph, &conf);
    if (!device)
        return 0;
    if (!named.gpu.name)
        rank_memory_warn(p->set, how.ranks, how.ranks);
    return plan_device_open(&named, p->set, p->gpt.graph.type, e);
}

static int load_file(struct models *m, const char *path, const char *name,
                     struct err *e)
{
    return settings_load(add_model(m, name), path, sets.item, sets.n, e) < 0
               ? -1
               : build_model(m, e);
}

/* The cells of a sweep, by their names. */
static int load_cells(struct models *m, const char *path, struct err *e)
{
    AUTO(sweep_clear) struct sweep w = { 0 };
    int ret;

    how.models = "cell";
    only = only == PLAN_ALL ? PLAN_CELLS : only;
    sweep_init(&w, "train.seed");
    ret = sweep_read(&w, path, e);
    for (size_t i = 0; ret == 0 && i < sets.n; i++)
        ret = sweep_assign(&w, SWEEP_SET, sets.item[i], "--set", e);
    w.sampler = SAMPLER_RANDOM; /* as many cells of the same ranges */
    if (ret == 0)
        ret = sweep_expand(&w, e);
    if (ret == 0 && w.n_cells > MOST_CELLS)
        ret = err_usage(e, "%s has %zu cells, more than %d", path, w.n_cells,
                        MOST_CELLS);
    for (size_t c = 0; ret == 0 && c < w.n_cells; c++) {
        struct settings *s = add_model(m, NULL);

        ret = sweep_cells_load(&w, c, s, e);
        m->item[m->n - 1].name = ret == 0 ? xstrdup(s->run.name) : NULL;
        if (ret == 0)
            ret = build_model(m, e);
    }
    return ret;
}

/* A model with one more --set, which is freed. */
static int load_variant(struct models *m, const char *path, const char *name,
                        char *set, struct err *e)
{
    int ret;

    sets.item = xrealloc(sets.item, sets.n + 1, sizeof *sets.item);
    sets.item[sets.n++] = set;
    ret = load_file(m, path, name, e);
    sets.n--;
    free(set);
    return ret;
}

static int load_presets(struct models *m, struct err *e)
{
    const char *const *word;
    AUTO(settings_clear) struct settings none = { 0 };
    int ret = settings_begin(&none, NULL, e);

    how.models = "preset";
    only = only == PLAN_ALL ? PLAN_SIZES : only;
    word = conf_find(&none.conf, "model.preset")->words;
    while (ret == 0 && *++word) /* the first one is "none" */
        ret = load_variant(m, config, *word,
                           xasprintf("model.preset=%s", *word), e);
    return ret;
}

/* The depth of the settings, and up to five below it in equal steps. */
static int load_ladder(struct models *m, const char *path, struct err *e)
{
    enum { MOST = 6 };
    AUTO(settings_clear) struct settings top = { 0 };
    int64_t depth, step;
    int ret = settings_load(&top, path, sets.item, sets.n, e);

    if (ret == 0 && top.recipe.name == RECIPE_NONE)
        ret = err_usage(e, "--ladder needs a recipe; set recipe.name and "
                           "recipe.depth");
    depth = ret == 0 ? top.model.layers : 0;
    step = (depth + MOST - 1) / MOST;
    how.models = "depth";
    only = only == PLAN_ALL ? PLAN_CELLS : only;
    for (int64_t i = MOST; ret == 0 && i-- > 0;) {
        const int64_t x = depth - i * step;
        char name[NUM_TEXT];

        snprintf(name, sizeof name, "%lld", (long long)x);
        if (x > 0)
            ret = load_variant(m, path, name,
                               xasprintf("recipe.depth=%s", name), e);
    }
    return ret;
}

static int load_models(struct models *m, int argc, char **argv, struct err *e)
{
    int ret = 0;

    if (presets && (argc > 0 || ladder))
        return err_usage(e, "--presets excludes files and --ladder");
    if (presets)
        return load_presets(m, e);
    if (ladder && argc > 1)
        return err_usage(e, "--ladder expects one file");
    if (ladder)
        return load_ladder(m, argc > 0 ? argv[0] : config, e);
    for (int i = 0; ret == 0 && i < (argc > 0 ? argc : 1); i++) {
        const char *path = argc > 0 ? argv[i] : config;

        ret = path && sweep_cells_in(path)
                  ? load_cells(m, path, e)
                  : load_file(m, path, argc > 1 ? path : NULL, e);
    }
    return ret;
}

static int plan_main(int argc, char **argv, struct err *e)
{
    struct models m = { 0 };
    int ret;

    if (check_options(e) < 0)
        return -1;
    ret = load_models(&m, argc, argv, e);
    if (ret == 0 && budget)
        ret = plan_budget_print(budget, m.item, (int)m.n, &how, &style, e);
    else if (ret == 0)
        ret = plan_tables_print(m.item, (int)m.n, &how, (enum plan_part)only,
                                &style, e);
    for (size_t i = 0; i < m.n; i++) {
        graph_clear(&m.item[i].gpt.graph);
        settings_clear(m.item[i].set);
        FREE(m.item[i].set, m.item[i].name, m.item[i].epochs);
    }
    FREE(m.item, sets.item);
    return ret;
}

const struct cmd cmd_plan = {
    .name = "plan",
    .args = "[FILE]...",
    .help = "calculate what a training will need",
    .opts = plan_opts,
    .run = plan_main,
};
