#include "config.h"
#include "trainer/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/path.h"
#include "common/spawn.h"
#include "trainer/settings/recipe.h"

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

static const struct conf_former former[] = {
    { "optim.lr_embed", "1", "optim.group.1 = embed, lr=", "x" },
    { "optim.lr_head", "1", "optim.group.1 = head, lr=", "x" },
    { "optim.lr_vector", "1", "optim.group.1 = vector, lr=", "x" },
    { 0 }
};

static int refuse_sweep(void *arg, const char *key, const char *value,
                        const char *where, struct err *e)
{
    const char *path = arg;

    (void)value;
    if (strncmp(key, "sweep.", 6) == 0 || strncmp(key, "grid.", 5) == 0 ||
        strncmp(key, "random.", 7) == 0)
        return err_set(e, ERR_USAGE,
                       "%s: %s describes a sweep; 'gtrain plan %s' lists its "
                       "cells",
                       where, path, path);
    return 0;
}

/* The path of the installed settings of this name, or NULL. */
static char *find_installed(const char *name)
{
    char *below, *path = NULL;

    if (strchr(name, '/') || strchr(name, '.') || path_exists(name))
        return NULL;
    below = xasprintf("../share/gtrain/conf/%s.ini", name);
    path = spawn_beside(below, R_OK);
    free(below);
    return path;
}

int settings_read(struct settings *c, const char *path, struct err *e)
{
    char *installed = find_installed(path);
    struct err sweep = { 0 };
    int ret;

    path = installed ? installed : path;
    ret = conf_read(&c->conf, path, false, e);
    /* say so when the file describes a sweep */
    if (ret < 0 && conf_walk(path, false, refuse_sweep, (char *)(uintptr_t)path,
                             &sweep) < 0)
        *e = sweep;
    free(installed);
    return ret;
}

int settings_begin(struct settings *c, const char *path, struct err *e)
{
    memset(c, 0, sizeof *c);
    conf_init(&c->conf, settings_table, c);
    c->conf.former = former;
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
