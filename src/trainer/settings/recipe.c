#include "config.h"
#include "trainer/settings/recipe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/num.h"

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
    { "model.embed_norm", "yes", NULL, "", MODDED },
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
    { "optim.cautious", "yes", NULL, "", NANOCHAT },
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
