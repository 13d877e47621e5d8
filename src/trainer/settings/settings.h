#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/conf.h"
#include "data/shards/loader.h"
#include "kernels/ops.h"
#include "kernels/rope.h"

/*
 * settings - every setting of gtrain
 *
 *      struct settings c;
 *
 *      if (settings_load(&c, "conf/quickstart.ini", sets, n_sets, e) < 0 ||
 *          resolve_settings(&c, vocab, world, e) < 0)
 *          return -1;
 *      ...
 *      settings_clear(&c);
 *
 * The rows of settings.def are the only place where the key, type, default,
 * bounds and meaning of a setting are; the members of struct settings are made
 * of them, and gtrain.ini(5) is compared with them by a test.  Numbers that
 * follow from others (steps from tokens, accumulation from the tokens of a
 * step) are in struct derived, which resolve_settings() fills.
 */

/* ---- values that are words ------------------------------------------- */

#define VALUE(value, word)  value,
#define WORDS(name, values) enum name { values };
#include "trainer/settings/words.def"
#undef VALUE
#undef WORDS

/* or another row of the table in settings.c */
enum model_preset { PRESET_NONE };

/* ---- the settings ---------------------------------------------------- */

/* Values that follow from the settings. */
struct derived {
    int64_t vocab_padded; /* rows of the embedding */
    int64_t d_ff, kv_heads, head_dim;
    bool qkv_bias, output_bias, mlp_bias;
    double width;        /* model.width / optim.base_width; 0: no base */
    bool precision_auto; /* the device has chosen it */
    int64_t windows;     /* sequences of a step, all ranks together */
    int64_t accumulate;  /* micro-steps of a rank */
    int64_t tokens_per_step;
    int64_t steps, stop_at;
    int64_t warmup, decay; /* in steps */
    int64_t ramp;          /* steps of the batch ramp */
    int64_t parameters;
    int32_t eot;       /* the end-of-text token of the tokenizer, or -1 */
    int64_t teacher_k; /* ids of a teacher for each token; 0: none */
};

/* Section [run] is the member "run", a struct run_settings. */
#define SECTION(name) struct name##_settings {
/* clang-format off */
#define END(name) } name;
/* clang-format on */
#define ROW(section, key, kind, type, ...) type key;
enum { OPTIM_GROUPS = 6 };
#define GROUPS(section, key, help) const char *key[OPTIM_GROUPS];

struct settings {
    struct conf conf;
    struct derived is;
#include "trainer/settings/settings.def"
};

extern const struct setting settings_table[];

/* The options of a command that reads settings. */
/* clang-format off */
#define SETTINGS_OPTS(config, sets) \
    { 'c', "config", "file", OPT_STRING, &(config), \
      "read settings from FILE" }, \
    { 's', "set", "section.key=value", OPT_LIST, &(sets), \
      "change one setting (may be given many times)" }
/* clang-format on */

/* path may be NULL for the defaults alone.  Values of the file and of --set
 * take precedence over those of a preset. */
int settings_load(struct settings *, const char *path, const char *const *sets,
                  size_t n_sets, struct err *);
/* settings_load() in parts, for assignments of other origins: begin, from the
 * defaults or the stored settings of a run; read a file; conf_put() for each;
 * finish. */
int settings_begin(struct settings *, const char *stored, struct err *);
int settings_read(struct settings *, const char *path, struct err *);
void settings_finish(struct settings *);
void settings_clear(struct settings *);

/*
 * rope_scaling - model.rope_scaling, and the rotary angles that it means
 *
 * The numbers are those of config.json: for llama3, low_freq_factor and
 * high_freq_factor; for yarn, beta_slow and beta_fast; and the context before
 * it was extended.
 */
struct rope_scaling {
    char kind[8]; /* llama3, yarn */
    double factor, low, high, context;
};

bool rope_scaling_parse(const char *text, struct rope_scaling *);
int rope_scaling_check(const struct settings *, struct err *);
/* The angles of a model whose settings were checked. */
struct rope rope_scaling_rope(const struct settings *);

/*
 * recipe - settings that follow from one number, the depth of the model
 *
 *      recipe_apply(&settings);
 *
 * With [recipe] name, every setting of the recipe that neither the settings
 * file nor --set gives gets its value; those that follow from others follow
 * from what these are then, given or not.  A batch or a length that is given in
 * another way takes the place of the recipe's.
 */
struct recipe_row {
    const char *key;
    const char *value; /* NULL: computed */
    double (*compute)(const struct settings *);
    const char *formula, *source;
};

void recipe_apply(struct settings *);

/* The settings of the recipe, which end with a NULL; NULL without a recipe. */
const struct recipe_row *recipe_rows(const struct settings *);

/* Did the recipe choose the value? */
bool recipe_chose(const struct settings *, const struct recipe_row *);
