#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/conf.h"
#include "data/shards/loader.h"
#include "kernels/ops.h"

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

/* clang-format off */
#define SETTING_VALUE(value, word) value,

#define RECIPES(X) X(RECIPE_NONE, "none") X(RECIPE_FAST, "fast")
enum recipe_name { RECIPES(SETTING_VALUE) };

#define MODEL_MLPS(X)                                                          \
    X(MLP_GELU, "gelu") X(MLP_GELU_TANH, "gelu_tanh") X(MLP_RELU, "relu")      \
    X(MLP_RELU2, "relu2") X(MLP_SWIGLU, "swiglu") X(MLP_GEGLU, "geglu")
enum model_mlp { MODEL_MLPS(SETTING_VALUE) };

#define MODEL_POSITIONS(X)                                                     \
    X(POSITION_LEARNED, "learned") X(POSITION_ROPE, "rope")                    \
    X(POSITION_NONE, "none")
enum model_position { MODEL_POSITIONS(SETTING_VALUE) };

#define MASKS(X) X(MASK_CAUSAL, "causal") X(MASK_DOCUMENT, "document")
enum mask { MASKS(SETTING_VALUE) };

#define INIT_PROJECTIONS(X) X(INIT_NORMAL, "normal") X(INIT_ZERO, "zero")
enum init_projection { INIT_PROJECTIONS(SETTING_VALUE) };

#define BIASES(X)                                                              \
    X(BIAS_AUTO, "auto") X(BIAS_YES, "yes") X(BIAS_NO, "no")
enum bias { BIASES(SETTING_VALUE) };

#define PRECISIONS(X)                                                          \
    X(PRECISION_FP32, "fp32") X(PRECISION_BF16, "bf16")                        \
    X(PRECISION_FP16, "fp16") X(PRECISION_AUTO, "auto")
enum precision { PRECISIONS(SETTING_VALUE) };

#define FP8_PARTS(X)                                                           \
    X(FP8_OFF, "off") X(FP8_HEAD, "head") X(FP8_MLP, "mlp")
enum fp8 { FP8_PARTS(SETTING_VALUE) };

#define POLICIES(X)                                                            \
    X(POLICY_STOP, "stop") X(POLICY_SKIP, "skip")                              \
    X(POLICY_ROLLBACK, "rollback") X(POLICY_IGNORE, "ignore")
enum policy { POLICIES(SETTING_VALUE) };

#define RECOMPUTES(X)                                                          \
    X(RECOMPUTE_NONE, "none") X(RECOMPUTE_POINTWISE, "pointwise")              \
    X(RECOMPUTE_LAYER, "layer")
enum recompute { RECOMPUTES(SETTING_VALUE) };

#define CUDA_GRAPHS(X)                                                         \
    X(CUDA_GRAPHS_AUTO, "auto") X(CUDA_GRAPHS_YES, "yes")                      \
    X(CUDA_GRAPHS_NO, "no")
enum cuda_graphs { CUDA_GRAPHS(SETTING_VALUE) };

#define OPTIM_NAMES(X)                                                         \
    X(OPTIM_ADAMW, "adamw") X(OPTIM_ADAM, "adam") X(OPTIM_SGD, "sgd")          \
    X(OPTIM_LION, "lion") X(OPTIM_MUON, "muon")
enum optim_name { OPTIM_NAMES(SETTING_VALUE) };

#define MUON_SCALES(X)                                                         \
    X(MUON_SCALE_ORIGINAL, "original")                                         \
    X(MUON_SCALE_MATCH_RMS_ADAMW, "match_rms_adamw")
enum muon_scale { MUON_SCALES(SETTING_VALUE) };

/* The values of enum muon_kind, in ops.h. */
#define MUON_COEFFICIENTS(X) X(MUON_ORIGINAL, "original") X(MUON_POLAR, "polar")

#define STATE_TYPES(X)                                                         \
    X(STATE_FP32, "fp32") X(STATE_BF16, "bf16")
enum state_type { STATE_TYPES(SETTING_VALUE) };

#define CURVES(X)                                                              \
    X(CURVE_COSINE, "cosine") X(CURVE_LINEAR, "linear")                        \
    X(CURVE_CONSTANT, "constant") X(CURVE_WSD, "wsd")                          \
    X(CURVE_INVSQRT, "invsqrt") X(CURVE_POLYNOMIAL, "polynomial")              \
    X(CURVE_STEP, "step") X(CURVE_RESTARTS, "restarts")
enum curve { CURVES(SETTING_VALUE) };

#define DECAY_SHAPES(X)                                                        \
    X(SHAPE_LINEAR, "linear") X(SHAPE_COSINE, "cosine") X(SHAPE_SQRT, "sqrt")
enum decay_shape { DECAY_SHAPES(SETTING_VALUE) };

#define HELLASWAG_STYLES(X)                                                    \
    X(HELLASWAG_PLAIN, "plain") X(HELLASWAG_HARNESS, "lm-eval")
enum hellaswag_style { HELLASWAG_STYLES(SETTING_VALUE) };

#define PARALLEL_MODES(X)                                                      \
    X(PARALLEL_DDP, "ddp") X(PARALLEL_ZERO1, "zero1")                          \
    X(PARALLEL_ZERO2, "zero2") X(PARALLEL_FSDP, "fsdp")
enum parallel_mode { PARALLEL_MODES(SETTING_VALUE) };

/* The program that started the ranks; auto: see the environment. */
#define LAUNCHERS(X)                                                           \
    X(LAUNCHER_AUTO, "auto") X(LAUNCHER_NONE, "none") X(LAUNCHER_MPI, "mpi")   \
    X(LAUNCHER_TCP, "tcp") X(LAUNCHER_TORCHRUN, "torchrun")                    \
    X(LAUNCHER_SLURM, "slurm")
enum launcher { LAUNCHERS(SETTING_VALUE) };

/* What happens when a source has been read as often as it may be. */
#define EXHAUSTEDS(X)                                                          \
    X(EXHAUSTED_OTHERS, "others") X(EXHAUSTED_STOP, "stop")
enum exhausted { EXHAUSTEDS(SETTING_VALUE) };

#define SUM_TYPES(X)                                                           \
    X(SUM_FP32, "fp32") X(SUM_BF16, "bf16")
enum sum_type { SUM_TYPES(SETTING_VALUE) };

/* or another row of the table in settings.c */
enum model_preset { PRESET_NONE };
/* clang-format on */

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
    int64_t warmup, decay;   /* in steps */
    int64_t ramp;            /* steps of the batch ramp */
    int64_t momentum_warmup; /* in steps */
    int64_t parameters;
    int32_t eot; /* the end-of-text token of the tokenizer, or -1 */
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
