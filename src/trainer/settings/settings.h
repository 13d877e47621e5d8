#ifndef TRAINER_SETTINGS_SETTINGS_H
#define TRAINER_SETTINGS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/conf.h"
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
 * The table in settings.c is the only place where the key, default, bounds and
 * meaning of a setting are; gtrain.ini(5) is compared with it by a test.
 * Numbers that follow from others (steps from tokens, accumulation from the
 * tokens of a step) are in struct derived, which resolve_settings() fills.
 */
enum model_mlp {
    MLP_GELU,
    MLP_GELU_TANH,
    MLP_RELU,
    MLP_RELU2,
    MLP_SWIGLU,
    MLP_GEGLU
};
enum model_position { POSITION_LEARNED, POSITION_ROPE, POSITION_NONE };

struct model_settings {
    int preset; /* which row of the table in settings.c */
    int64_t layers, heads, kv_heads, width, d_ff, context;
    int64_t vocab, vocab_multiple;
    enum norm norm;
    enum model_mlp mlp;
    enum model_position position;
    bool norm_bias, linear_bias, final_norm, tied, qk_norm;
    double norm_eps, rope_theta;
    double dropout, dropout_attention, dropout_embedding;
    double init_std;
    bool init_residual;
};

struct data_settings {
    const char *train, *val, *tokenizer;
    int order; /* enum loader_order of loader.h */
    int64_t stride, ignore;
};

enum precision { PRECISION_FP32, PRECISION_BF16, PRECISION_FP16 };
enum fp8 { FP8_OFF, FP8_HEAD, FP8_MLP };
enum policy { POLICY_STOP, POLICY_SKIP, POLICY_ROLLBACK, POLICY_IGNORE };
enum recompute { RECOMPUTE_NONE, RECOMPUTE_POINTWISE, RECOMPUTE_LAYER };
enum cuda_graphs { CUDA_GRAPHS_AUTO, CUDA_GRAPHS_YES, CUDA_GRAPHS_NO };

struct train_settings {
    int64_t micro_batch, batch, tokens_per_step, stop_at;
    int64_t ramp_from;
    struct conf_span ramp;
    double max_time;
    const char *device;
    int64_t threads;
    enum precision precision;
    double loss_scale;
    int64_t loss_scale_window;
    enum recompute recompute;
    bool deterministic;
    bool tf32;
    enum fp8 fp8;
    bool stochastic_rounding;
    enum cuda_graphs cuda_graphs;
    int64_t seed;
    enum policy on_nonfinite, on_spike;
    int64_t max_skips;
    double spike_loss, spike_norm;
    int64_t spike_window;
};

enum optim_name { OPTIM_ADAMW, OPTIM_ADAM, OPTIM_SGD, OPTIM_LION, OPTIM_MUON };
enum muon_scale { MUON_SCALE_ORIGINAL, MUON_SCALE_MATCH_RMS_ADAMW };

enum state_type { STATE_FP32, STATE_BF16 };

struct optim_settings {
    enum optim_name name;
    enum state_type moments, masters;
    double lr, beta1, beta2, eps, decay, clip;
    double momentum;
    bool nesterov;
    double lr_embed, lr_head, lr_vector, muon_lr;
    enum muon_scale muon_scale;
};

enum curve {
    CURVE_COSINE,
    CURVE_LINEAR,
    CURVE_CONSTANT,
    CURVE_WSD,
    CURVE_INVSQRT,
    CURVE_POLYNOMIAL,
    CURVE_STEP,
    CURVE_RESTARTS
};
enum decay_shape { SHAPE_LINEAR, SHAPE_COSINE, SHAPE_SQRT };

struct schedule_settings {
    enum curve kind;
    int64_t steps, tokens;
    double chinchilla;
    struct conf_span warmup;
    enum decay_shape warmup_shape;
    double warmup_lr, min_lr;
    struct conf_span decay;
    enum decay_shape decay_shape;
    double power;
    struct conf_reals at;
    double factor;
    int64_t cycle;
    double cycle_growth, cycles;
    int64_t timescale;
};

enum hellaswag_style { HELLASWAG_PLAIN, HELLASWAG_HARNESS };

struct eval_settings {
    struct conf_span every;
    int64_t sequences, stride;
    bool at_start, random;
    int64_t patience;
    double min_delta;
    const char *hellaswag;
    struct conf_span hellaswag_every;
    enum hellaswag_style hellaswag_style;
    int64_t hellaswag_limit;
};

struct sample_settings {
    struct conf_span every;
    int64_t tokens, count, top_k, seed;
    const char *prompt;
    double temperature, top_p;
};

struct checkpoint_settings {
    struct conf_span every;
    int64_t keep_last, keep_every;
    bool keep_best, last, async;
    const char *folder;
};

struct run_settings {
    const char *root, *experiment, *name, *note, *parent, *tags;
    const char *tensorboard;
    int64_t log_every;
    double system_every;
};

enum parallel_mode {
    PARALLEL_DDP,
    PARALLEL_ZERO1,
    PARALLEL_ZERO2,
    PARALLEL_FSDP
};

/* The program that started the ranks. */
enum launcher {
    LAUNCHER_AUTO, /* determined from the environment */
    LAUNCHER_NONE,
    LAUNCHER_MPI,
    LAUNCHER_TCP,
    LAUNCHER_TORCHRUN,
    LAUNCHER_SLURM
};

enum sum_type { SUM_FP32, SUM_BF16 };

struct parallel_settings {
    enum parallel_mode mode;
    enum sum_type sum_type;
    bool reshard;
    double timeout;
    enum launcher launcher;
};

struct plan_settings {
    double peak_tflops;
    struct conf_reals mfu;
    int64_t data_tokens;
    const char *hardware;
    struct conf_reals cpu_rates;
};

/* Values that follow from the settings. */
struct derived {
    int64_t vocab_padded; /* rows of the embedding */
    int64_t d_ff, kv_heads;
    int64_t windows;    /* sequences of a step, all ranks together */
    int64_t accumulate; /* micro-steps of a rank */
    int64_t tokens_per_step;
    int64_t steps, stop_at;
    int64_t warmup, decay; /* in steps */
    int64_t ramp;          /* steps of the batch ramp */
    int64_t parameters;
};

struct settings {
    struct conf conf;
    struct model_settings model;
    struct data_settings data;
    struct train_settings train;
    struct optim_settings optim;
    struct schedule_settings schedule;
    struct eval_settings eval;
    struct sample_settings sample;
    struct checkpoint_settings checkpoint;
    struct run_settings run;
    struct parallel_settings parallel;
    struct plan_settings plan;
    struct derived is;
};

extern const struct setting settings_table[];

/* path may be NULL for the defaults alone.  Values of the file and of --set
 * take precedence over those of a preset. */
int settings_load(struct settings *, const char *path, const char *const *sets,
                  size_t n_sets, struct err *);
/* The same in parts, for assignments of other origins: begin, conf_put() for
 * each, finish. */
int settings_begin(struct settings *, const char *path, struct err *);
void settings_finish(struct settings *);
void settings_clear(struct settings *);

#endif
