#include "config.h"
#include "trainer/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/num.h"
#include "common/path.h"
#include "common/spawn.h"

/* ---- words ----------------------------------------------------------- */

/* The words of each enum, in its own order. */
/* clang-format off */
#define VALUE(value, word) [value] = word,
#define WORDS(name, values)                                                    \
    static const char *const name##_words[] = { values NULL };
#include "trainer/settings/words.def"
static const char *const muon_kind_words[] = {
    [MUON_ORIGINAL] = "original", [MUON_POLAR] = "polar", NULL
};
static const char *const norm_words[] = {
    [NORM_LAYER] = "layernorm", [NORM_RMS] = "rmsnorm", NULL
};
static const char *const loader_order_words[] = {
    [LOADER_SEQUENTIAL] = "sequential", [LOADER_RANDOM] = "random",
    [LOADER_EPOCH] = "epoch", [LOADER_DOCUMENTS] = "documents",
    [LOADER_BESTFIT] = "bestfit", [LOADER_WHOLE] = "whole", NULL
};

/* Known shapes: name, layers, heads, width, d_ff, context and vocabulary; peak
 * learning rate and tokens of a step; and whether the model is one of Llama's
 * kind, else of GPT-2's.  A 0 leaves the default.  GPT-3's are from table
 * 2.1 of Brown et al. 2020, where its heads and widths are whole.  The llama
 * presets have heads of 64, a d_ff of 8/3 of the width, rounded up to 64, and
 * 50 to 100 times as much width as layers. */
#define PRESETS(X)                                                             \
    X("none", 0, 0, 0, 0, 0, 0, 0, 0, false)                                   \
    X("gpt2", 12, 12, 768, 0, 1024, 50257, 0, 0, false)                        \
    X("gpt2-medium", 24, 16, 1024, 0, 1024, 50257, 0, 0, false)                \
    X("gpt2-large", 36, 20, 1280, 0, 1024, 50257, 0, 0, false)                 \
    X("gpt2-xl", 48, 25, 1600, 0, 1024, 50257, 0, 0, false)                    \
    X("gpt3-125M", 12, 12, 768, 0, 2048, 50257, "6e-4", 524288, false)         \
    X("gpt3-350M", 24, 16, 1024, 0, 2048, 50257, "3e-4", 524288, false)        \
    X("gpt3-760M", 24, 16, 1536, 0, 2048, 50257, "2.5e-4", 524288, false)      \
    X("gpt3-1.3B", 24, 16, 2048, 0, 2048, 50257, "2e-4", 1048576, false)       \
    X("gpt3-2.7B", 32, 32, 2560, 0, 2048, 50257, "1.6e-4", 1048576, false)     \
    X("gpt3-6.7B", 32, 32, 4096, 0, 2048, 50257, "1.2e-4", 2097152, false)     \
    X("gpt3-13B", 40, 40, 5120, 0, 2048, 50257, "1e-4", 2097152, false)        \
    X("gpt3-175B", 96, 96, 12288, 0, 2048, 50257, "0.6e-4", 3276800, false)    \
    X("llama-30M", 6, 7, 448, 1216, 1024, 32000, 0, 0, true)                   \
    X("llama-60M", 8, 10, 640, 1728, 1024, 32000, 0, 0, true)                  \
    X("llama-125M", 14, 12, 768, 2048, 1024, 32000, 0, 0, true)                \
    X("llama-250M", 17, 16, 1024, 2752, 1024, 32000, 0, 0, true)

#define PRESET_NAME(name, ...) name,
#define PRESET_SHAPE(name, ...) { __VA_ARGS__ },

static const char *const model_preset_words[] = { PRESETS(PRESET_NAME) NULL };

static const struct preset {
    int layers, heads, width, d_ff, context, vocab;
    const char *lr;
    int batch; /* in tokens */
    bool llama;
} presets[] = { PRESETS(PRESET_SHAPE) };

/* ---- the table ------------------------------------------------------- */

/* Groups of alternatives: the length of the schedule, and of a step; the size
 * of a recipe. */
enum { LENGTH = 1, BATCH, DEPTH };

#define SECTION(name)
#define END(name)
#define ROW(section, key, kind, type, value, help, words, low, high, group)    \
    { #section "." #key, CONF_##kind, offsetof(struct settings, section.key),  \
      value, help, words, low, high, group },
#define GROUP(n, help)                                                         \
    { "optim.group." #n, CONF_TEXT,                                            \
      offsetof(struct settings, optim.group[n - 1]), "", help },
#define GROUPS(section, key, help)                                             \
    GROUP(1, help) GROUP(2, help) GROUP(3, help)                               \
    GROUP(4, help) GROUP(5, help) GROUP(6, help)
/* clang-format on */

const struct setting settings_table[] = {
#include "trainer/settings/settings.def"
    { 0 }
};

static int refuse_sweep(void *arg, const char *key, const char *value UNUSED,
                        const char *where, struct err *e)
{
    const char *path = arg;

    if (strncmp(key, "sweep.", 6) == 0 || strncmp(key, "grid.", 5) == 0 ||
        strncmp(key, "random.", 7) == 0)
        return err_usage(e,
                         "%s: %s describes a sweep; 'gtrain plan %s' lists its "
                         "cells",
                         where, path, path);
    return 0;
}

/* The path of the installed settings of this name, or NULL. */
static char *find_installed(const char *name)
{
    AUTO_FREE char *below = NULL;

    if (strchr(name, '/') || strchr(name, '.') || path_exists(name))
        return NULL;
    below = xasprintf("../share/gtrain/conf/%s.ini", name);
    return spawn_beside(below, R_OK);
}

int settings_read(struct settings *c, const char *path, struct err *e)
{
    AUTO_FREE char *installed = find_installed(path);
    struct err sweep = { 0 };
    int ret;

    path = installed ? installed : path;
    ret = conf_read(&c->conf, path, false, e);
    /* say so when the file describes a sweep */
    if (ret < 0 && conf_walk(path, false, refuse_sweep, (char *)(uintptr_t)path,
                             NULL, &sweep) < 0)
        *e = sweep;
    return ret;
}

int settings_begin(struct settings *c, const char *path, struct err *e)
{
    memset(c, 0, sizeof *c);
    conf_init(&c->conf, settings_table, c);
    return path ? conf_read(&c->conf, path, true, e) : 0;
}

/* Set the values of recipe and preset that the file and --set leave out. */
void settings_finish(struct settings *c)
{
    /* the file or --set say how large it is, in sequences or tokens */
    const bool has_batch = conf_origin(&c->conf, "train.batch") ||
                           conf_origin(&c->conf, "train.tokens_per_step");
    const struct preset *p = &presets[c->model.preset];
    const struct {
        const char *key;
        int64_t value; /* 0: the default */
    } sizes[] = {
        { "model.layers", p->layers },
        { "model.heads", p->heads },
        { "model.width", p->width },
        { "model.d_ff", p->d_ff },
        { "model.context", p->context },
        { "model.vocab", p->vocab },
        { "train.tokens_per_step", has_batch ? 0 : p->batch },
    };
    static const char *const llama[][2] = {
        { "model.norm", "rmsnorm" },   { "model.norm_bias", "no" },
        { "model.linear_bias", "no" }, { "model.mlp", "swiglu" },
        { "model.position", "rope" },  { "model.tied", "yes" },
    };
    char where[64];
    struct err e = { 0 };

    recipe_apply(c);
    snprintf(where, sizeof where, "preset %s",
             model_preset_words[c->model.preset]);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].value && !conf_origin(&c->conf, sizes[i].key))
            conf_put_int(&c->conf, sizes[i].key, sizes[i].value, where, &e);
    if (p->lr && !conf_origin(&c->conf, "optim.lr"))
        conf_put(&c->conf, "optim.lr", p->lr, where, &e);
    if (!p->llama)
        return;
    for (size_t i = 0; i < sizeof llama / sizeof llama[0]; i++)
        if (!conf_origin(&c->conf, llama[i][0]))
            conf_put(&c->conf, llama[i][0], llama[i][1], where, &e);
}

int settings_load(struct settings *c, const char *path, const char *const *sets,
                  size_t n_sets, struct err *e)
{
    if (settings_begin(c, NULL, e) < 0 ||
        (path && settings_read(c, path, e) < 0))
        return -1;
    for (size_t i = 0; i < n_sets; i++)
        if (conf_set(&c->conf, sets[i], e) < 0)
            return -1;
    settings_finish(c);
    return 0;
}

void settings_clear(struct settings *c)
{
    conf_clear(&c->conf);
}

/* ---- model.rope_scaling ------------------------------------------------- */

bool rope_scaling_parse(const char *text, struct rope_scaling *s)
{
    int end = -1;

    return sscanf(text,
                  "%7[a-z0-9], factor=%lf, low=%lf, high=%lf, context=%lf%n",
                  s->kind, &s->factor, &s->low, &s->high, &s->context,
                  &end) == 5 &&
           !text[end] && s->factor >= 1 && s->factor <= 1e6 && s->low > 0 &&
           s->high > s->low && s->high <= 1e6 && s->context >= 1 &&
           s->context <= 1e9 &&
           (strcmp(s->kind, "llama3") == 0 || strcmp(s->kind, "yarn") == 0);
}

int rope_scaling_check(const struct settings *c, struct err *e)
{
    struct rope_scaling s;

    if (!*c->model.rope_scaling)
        return 0;
    if (rope_scaling_parse(c->model.rope_scaling, &s))
        return strcmp(s.kind, "yarn") != 0 || c->model.rope_theta > 1
                   ? 0
                   : conf_fail(&c->conf, "model.rope_scaling", e,
                               "yarn requires model.rope_theta > 1, whose "
                               "logarithm it divides by");
    return conf_fail(&c->conf, "model.rope_scaling", e,
                     "expects llama3 or yarn with their numbers, such as "
                     "'llama3, factor=32, low=1, high=4, context=8192', not "
                     "'%s'",
                     c->model.rope_scaling);
}

/* The pair, as a real number, that turns so often within the context. */
static double pair_of(double turns, const struct rope_scaling *s, double D,
                      double theta)
{
    return D * log(s->context / (turns * 2 * M_PI)) / (2 * log(theta));
}

struct rope rope_scaling_rope(const struct settings *c)
{
    const double D = (double)c->is.head_dim, theta = c->model.rope_theta;
    struct rope r = { .theta = (float)theta, .length = 1 };
    struct rope_scaling s;

    if (!rope_scaling_parse(c->model.rope_scaling, &s))
        return r;
    r.factor = s.factor;
    if (strcmp(s.kind, "llama3") == 0) {
        r.scaling = ROPE_LLAMA3;
        r.from = s.context / s.low;
        r.to = s.context / s.high;
        return r;
    }
    r.scaling = ROPE_YARN;
    r.from = fmax(floor(pair_of(s.high, &s, D, theta)), 0);
    r.to = fmin(ceil(pair_of(s.low, &s, D, theta)), D - 1);
    if (r.to <= r.from) /* a step */
        r.to = r.from + 1e-3;
    r.length = 1 + 0.1 * log(s.factor);
    return r;
}

/* ---- a recipe ----------------------------------------------------------- */

static const char origin[] = "recipe fast";

/* ---- what follows from what -------------------------------------------- */

/* Of each head, and what the width is a multiple of. */
enum { HEAD = 128 };

/* A width of 64 x depth makes 12 x 64^2 x depth^3 parameters in the blocks. */
static double layers(const struct settings *c)
{
    const double cube = (double)c->recipe.size / (12 * 64 * 64);

    return c->recipe.depth ? (double)c->recipe.depth
                           : fmax(1, rint(cbrt(cube)));
}

static double width(const struct settings *c)
{
    return ceil((double)c->model.layers * 64 / HEAD) * HEAD;
}

static double heads(const struct settings *c)
{
    return fmax(1, floor((double)(c->model.width / c->model.head_dim)));
}

static double window(const struct settings *c)
{
    return ceil((double)c->model.context / 4 / HEAD) * HEAD;
}

static double tokens(const struct settings *c)
{
    const double C = (double)c->model.width;

    return c->schedule.tokens ? (double)c->schedule.tokens
                              : 20 * 12 * (double)c->model.layers * C * C;
}

/* Micro-batches in a power of two, so that ranks can share them. */
static double batch(const struct settings *c)
{
    const double one = (double)(c->train.micro_batch * c->model.context);
    const double law = 524288 * pow(tokens(c) / 1.7e9, 0.383);

    return one * exp2(fmax(0, rint(log2(fmin(law, tokens(c) / 1000) / one))));
}

static double lr(const struct settings *c)
{
    return 0.016 * sqrt(64 / (double)c->model.width);
}

/* ---- the recipe -------------------------------------------------------- */

/* clang-format off */
#define NANOCHAT "nanochat"
#define MODDED   "modded-nanogpt"
#define MEASURED "measured at a width of 64"

static const struct recipe_row fast[] = {
    { "model.layers", NULL, layers,
      "recipe.depth, or (recipe.size / 49152)^(1/3)", NANOCHAT },
    { "model.width", NULL, width, "64 x layers, up to a multiple of 128",
      NANOCHAT },
    { "model.head_dim", "128", NULL, "", NANOCHAT },
    { "model.heads", NULL, heads, "width / head_dim", NANOCHAT },
    { "model.norm", "rmsnorm", NULL, "", NANOCHAT },
    { "model.linear_bias", "no", NULL, "", NANOCHAT },
    { "model.mlp", "relu2", NULL, "", "So and others 2021" },
    { "model.position", "rope", NULL, "", NANOCHAT },
    { "model.tied", "no", NULL, "", NANOCHAT },
    { "model.qk_norm", "yes", NULL, "", MODDED },
    { "model.softcap", "15", NULL, "", NANOCHAT },
    { "model.window", NULL, window, "context / 4, up to a multiple of 128",
      NANOCHAT },
    { "model.window_pattern", "SSSL", NULL, "", NANOCHAT },
    { "model.residual_scale", "yes", NULL, "", MODDED },
    { "model.value_embed", "yes", NULL, "", NANOCHAT },
    { "model.init_projection", "zero", NULL, "", MODDED },
    { "data.order", "bestfit", NULL, "", NANOCHAT },
    { "schedule.tokens", NULL, tokens, "20 x 12 x layers x width^2",
      "Hoffmann and others 2022" },
    { "train.tokens_per_step", NULL, batch,
      "about 2^19 (tokens / 1.7e9)^0.383, at most tokens / 1000",
      "Bergsma and others 2025; " NANOCHAT },
    { "optim.name", "muon", NULL, "", MODDED },
    { "optim.lr", NULL, lr, "0.016 sqrt(64 / width)", MEASURED },
    { "optim.muon_lr", "0.005", NULL, "", MEASURED },
    { "optim.muon_coefficients", "polar", NULL, "", NANOCHAT },
    { "optim.muon_rows", "yes", NULL, "", NANOCHAT },
    { "optim.decay_end", "0", NULL, "", NANOCHAT },
    { "optim.beta1", "0.8", NULL, "", NANOCHAT },
    { "optim.beta2", "0.98", NULL, "", MEASURED },
    { "schedule.kind", "wsd", NULL, "", NANOCHAT },
    { "schedule.warmup", "2%", NULL, "", MEASURED },
    { "schedule.decay", "65%", NULL, "", NANOCHAT },
    { 0 }
};
/* clang-format on */

/* What else gives a batch or a length. */
static const char *const others[][2] = {
    { "schedule.tokens", "schedule.steps" },
    { "schedule.tokens", "schedule.chinchilla" },
    { "train.tokens_per_step", "train.batch" },
};

const struct recipe_row *recipe_rows(const struct settings *c)
{
    return c->recipe.name == RECIPE_FAST ? fast : NULL;
}

static bool is_given(const struct settings *c, const char *key)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(key, others[i][0]) == 0 &&
            conf_origin(&c->conf, others[i][1]))
            return true;
    return conf_origin(&c->conf, key) != NULL;
}

void recipe_apply(struct settings *c)
{
    for (const struct recipe_row *r = recipe_rows(c); r && r->key; r++) {
        const double x = r->compute ? r->compute(c) : 0;
        char text[NUM_TEXT];
        struct err e = { 0 };

        snprintf(text, sizeof text, x == floor(x) ? "%.0f" : "%.3g", x);
        if (!is_given(c, r->key))
            conf_put(&c->conf, r->key, r->value ? r->value : text, origin, &e);
    }
}

bool recipe_chose(const struct settings *c, const struct recipe_row *r)
{
    const char *where = conf_origin(&c->conf, r->key);

    return where && strcmp(where, origin) == 0;
}
