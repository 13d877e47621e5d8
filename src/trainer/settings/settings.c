#include "config.h"
#include "trainer/settings/settings.h"

#include <stdio.h>
#include <string.h>

#include "data/shards/loader.h"

/* ---- words ----------------------------------------------------------- */

/* The words of each enum, in its own order. */
/* clang-format off */
static const char *const parallel_modes[] = {
    [PARALLEL_DDP] = "ddp", [PARALLEL_ZERO1] = "zero1",
    [PARALLEL_ZERO2] = "zero2", [PARALLEL_FSDP] = "fsdp", NULL
};
static const char *const launchers[] = {
    [LAUNCHER_AUTO] = "auto", [LAUNCHER_NONE] = "none",
    [LAUNCHER_MPI] = "mpi", [LAUNCHER_TCP] = "tcp",
    [LAUNCHER_TORCHRUN] = "torchrun", [LAUNCHER_SLURM] = "slurm", NULL
};
static const char *const norms[] = {
    [NORM_LAYER] = "layernorm", [NORM_RMS] = "rmsnorm", NULL
};
static const char *const mlps[] = {
    [MLP_GELU] = "gelu", [MLP_GELU_TANH] = "gelu_tanh", [MLP_RELU] = "relu",
    [MLP_RELU2] = "relu2", [MLP_SWIGLU] = "swiglu", [MLP_GEGLU] = "geglu",
    NULL
};
static const char *const positions[] = {
    [POSITION_LEARNED] = "learned", [POSITION_ROPE] = "rope",
    [POSITION_NONE] = "none", NULL
};
static const char *const orders[] = {
    [LOADER_SEQUENTIAL] = "sequential", [LOADER_RANDOM] = "random",
    [LOADER_EPOCH] = "epoch", [LOADER_DOCUMENTS] = "documents", NULL
};
static const char *const precisions[] = {
    [PRECISION_FP32] = "fp32", [PRECISION_BF16] = "bf16",
    [PRECISION_FP16] = "fp16", NULL
};
static const char *const sum_types[] = { [SUM_FP32] = "fp32",
                                          [SUM_BF16] = "bf16", NULL };
static const char *const fp8_parts[] = {
    [FP8_OFF] = "off", [FP8_HEAD] = "head", [FP8_MLP] = "mlp", NULL
};
static const char *const recomputes[] = {
    [RECOMPUTE_NONE] = "none", [RECOMPUTE_POINTWISE] = "pointwise",
    [RECOMPUTE_LAYER] = "layer", NULL
};
static const char *const cuda_graphs[] = {
    [CUDA_GRAPHS_AUTO] = "auto", [CUDA_GRAPHS_YES] = "yes",
    [CUDA_GRAPHS_NO] = "no", NULL
};
static const char *const policies[] = {
    [POLICY_STOP] = "stop", [POLICY_SKIP] = "skip",
    [POLICY_ROLLBACK] = "rollback", [POLICY_IGNORE] = "ignore", NULL
};
static const char *const optimisers[] = {
    [OPTIM_ADAMW] = "adamw", [OPTIM_ADAM] = "adam", [OPTIM_SGD] = "sgd",
    [OPTIM_LION] = "lion", [OPTIM_MUON] = "muon", NULL
};
static const char *const state_types[] = { [STATE_FP32] = "fp32",
                                           [STATE_BF16] = "bf16", NULL };
static const char *const muon_scales[] = {
    [MUON_SCALE_ORIGINAL] = "original",
    [MUON_SCALE_MATCH_RMS_ADAMW] = "match_rms_adamw", NULL
};
static const char *const curves[] = {
    [CURVE_COSINE] = "cosine", [CURVE_LINEAR] = "linear",
    [CURVE_CONSTANT] = "constant", [CURVE_WSD] = "wsd",
    [CURVE_INVSQRT] = "invsqrt", [CURVE_POLYNOMIAL] = "polynomial",
    [CURVE_STEP] = "step", [CURVE_RESTARTS] = "restarts", NULL
};
static const char *const decay_shapes[] = {
    [SHAPE_LINEAR] = "linear", [SHAPE_COSINE] = "cosine",
    [SHAPE_SQRT] = "sqrt", NULL
};

static const char *const hellaswag_styles[] = {
    [HELLASWAG_PLAIN] = "plain", [HELLASWAG_HARNESS] = "lm-eval", NULL
};

/* Known shapes: name, layers, heads, width, d_ff, context and vocabulary; peak
 * learning rate and tokens of a step; and whether the model is one of Llama's
 * kind, else of GPT-2's.  A 0 leaves the default.  GPT-3's are those of table
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

static const char *const preset_names[] = { PRESETS(PRESET_NAME) NULL };

static const struct preset {
    int layers, heads, width, d_ff, context, vocab;
    const char *lr;
    int batch; /* in tokens */
    bool llama;
} presets[] = { PRESETS(PRESET_SHAPE) };
/* clang-format on */

/* ---- the table ------------------------------------------------------- */

/* Groups of alternatives: the length of the schedule, and of a step. */
enum { LENGTH = 1, BATCH };

/* clang-format off */
#define IN(group, kind, key, value, help, words, low, high)                    \
    { #key, CONF_##kind, offsetof(struct settings, key), value, help, words,   \
      low, high, group }
#define ROW(...) IN(0, __VA_ARGS__)
#define TEXT(key, value, help) ROW(TEXT, key, value, help, NULL, 0, 0)
#define BOOL(key, value, help) ROW(BOOL, key, value, help, NULL, 0, 0)
#define SPAN(key, value, help) ROW(SPAN, key, value, help, NULL, 0, 0)
#define EVERY(key, value, help) ROW(EVERY, key, value, help, NULL, 0, 0)
#define REALS(key, value, help) ROW(REALS, key, value, help, NULL, 0, 0)
#define WORD(key, value, words, help) ROW(WORD, key, value, help, words, 0, 0)
#define INT(key, value, low, high, help)                                       \
    ROW(INT, key, value, help, NULL, low, high)
#define REAL(key, value, low, high, help)                                      \
    ROW(REAL, key, value, help, NULL, low, high)
#define SECS(key, value, low, high, help)                                      \
    ROW(SECS, key, value, help, NULL, low, high)
#define ONE_OF(group, kind, key, high, help)                                   \
    IN(group, kind, key, "0", help, NULL, 0, high)

/* Default, then the words or the smallest and largest value, then the meaning.
 * The key is also the member of struct settings. */
const struct setting settings_table[] = {
    TEXT(run.root, "mlruns", "folder of the store"),
    TEXT(run.experiment, "Default", "experiment of the run"),
    TEXT(run.name, "", "name of the run; empty: the next of run1, run2, ..."),
    TEXT(run.note, "", "text of the tag `note`"),
    TEXT(run.parent, "", "id of the run that this one is a child of"),
    TEXT(run.tags, "", "more tags: name=value, name=value"),
    TEXT(run.tensorboard, "",
         "folder for an event file for TensorBoard; empty: none"),
    INT(run.log_every, "1", 1, 1e9, "record the metrics of every Nth step"),
    SECS(run.system_every, "2s", 0, 86400,
         "interval for memory and utilisation; 0s: never"),

    WORD(parallel.mode, "ddp", parallel_modes,
         "what to shard: nothing; moments; gradients, too; weights, too"),
    WORD(parallel.sum_type, "fp32", sum_types,
         "type in which gradients are sent to be summed"),
    BOOL(parallel.reshard, "yes",
         "with fsdp, free the gathered weights of a layer after use"),
    SECS(parallel.timeout, "60s", 1, 86400,
         "end the job if a rank does not respond for this time"),
    WORD(parallel.launcher, "auto", launchers, "how the ranks were started"),

    WORD(model.preset, "none", preset_names, "sizes of a known model"),
    INT(model.layers, "12", 1, 1000, "number of blocks"),
    INT(model.heads, "12", 1, 1024, "number of query heads"),
    INT(model.kv_heads, "0", 0, 1024,
         "number of key and value heads; 0: as many as query heads"),
    INT(model.width, "768", 1, 65536, "width of the residual stream"),
    INT(model.d_ff, "0", 0, 1048576,
         "width of the hidden layer of the MLP; 0: 4 x width"),
    INT(model.context, "1024", 1, 1048576, "tokens in a sequence"),
    INT(model.vocab, "0", 0, 16777216,
         "size of the vocabulary; 0: that of the tokenizer"),
    INT(model.vocab_multiple, "128", 1, 65536,
         "pad the rows of the embedding to a multiple of this"),
    WORD(model.norm, "layernorm", norms, "normalisation"),
    BOOL(model.norm_bias, "yes", "add a bias in each layernorm"),
    REAL(model.norm_eps, "1e-5", 0, 1, "number added to the variance"),
    BOOL(model.linear_bias, "yes",
         "add a bias in each linear layer of a block"),
    BOOL(model.final_norm, "yes", "normalise before the head"),
    WORD(model.mlp, "gelu_tanh", mlps,
         "activation of the MLP; the last two are gated"),
    WORD(model.position, "learned", positions, "how positions are encoded"),
    REAL(model.rope_theta, "10000", 1, 1e12, "base of the rotary angles"),
    BOOL(model.tied, "yes",
         "use the token embedding as the matrix of the head"),
    BOOL(model.qk_norm, "no", "normalise each query head and key head"),
    REAL(model.dropout, "0", 0, 0.99,
         "probability of dropout on each residual branch"),
    REAL(model.dropout_attention, "-1", -1, 0.99,
         "on attention probabilities; -1: as dropout"),
    REAL(model.dropout_embedding, "-1", -1, 0.99,
         "on the sum of the embeddings; -1: as dropout"),
    REAL(model.init_std, "0.02", 0, 10,
         "standard deviation of the initial weights"),
    BOOL(model.init_residual, "yes",
         "divide it by sqrt(2 layers) where a branch is added"),

    TEXT(data.train, "", "token files to train on, a glob"),
    TEXT(data.val, "",
         "token files to validate on, a glob; empty: no validation"),
    TEXT(data.tokenizer, "", "tokenizer of these files: a file or a folder"),
    WORD(data.order, "epoch", orders, "order of the windows"),
    INT(data.stride, "0", 0, 1e12,
         "tokens from one window to the next; 0: context"),
    INT(data.ignore, "-1", -1, 16777216,
         "id that is read but never predicted, such as padding; -1: none"),

    INT(train.micro_batch, "8", 1, 1048576,
         "sequences that a rank processes at a time"),
    ONE_OF(BATCH, INT, train.batch, 1e9,
         "sequences in a step, over all ranks; 0: by tokens_per_step, or "
         "one micro-batch per rank"),
    ONE_OF(BATCH, INT, train.tokens_per_step, 1e12,
         "the batch in tokens instead; 0: by batch"),
    SPAN(train.ramp, "0", "increase the batch over this span at the start"),
    INT(train.ramp_from, "0", 0, 1e9,
         "sequences in the first step of the ramp; 0: one micro-batch"),
    INT(train.stop_at, "0", 0, 1e12,
         "stop after this step, with the schedule unchanged; 0: at its end"),
    SECS(train.max_time, "0s", 0, 1e9,
         "end after this time, with the schedule adapted to it; 0s: no limit"),
    TEXT(train.device, "auto", "cpu, cuda, cuda:1, ref, or auto"),
    INT(train.threads, "0", 0, 4096, "CPU threads; 0: one per core"),
    WORD(train.precision, "fp32", precisions,
         "type of activations and of the weights they are multiplied with"),
    REAL(train.loss_scale, "65536", 1, 1e12, "initial loss scale of fp16"),
    INT(train.loss_scale_window, "2000", 1, 1e9,
         "double it after this many steps without overflow"),
    WORD(train.recompute, "none", recomputes,
         "activations that are computed again for the gradient"),
    BOOL(train.deterministic, "no",
         "the same bits for any number of threads and ranks"),
    BOOL(train.tf32, "no",
         "on a GPU, round the inputs of fp32 products to TF32"),
    WORD(train.fp8, "off", fp8_parts,
         "with bf16, products in fp8: of the head; of the head and the MLPs"),
    BOOL(train.stochastic_rounding, "no",
         "round the bf16 copies of the weights up or down at random"),
    WORD(train.cuda_graphs, "auto", cuda_graphs,
         "launch a micro-batch on a GPU with one call; auto: if it is short"),
    INT(train.seed, "1337", 0, 9007199254740992.0,
         "seed of the initial weights, the data order and dropout"),
    WORD(train.on_nonfinite, "stop", policies,
         "what to do when loss or gradient is not finite"),
    INT(train.max_skips, "10", 1, 1000000000,
        "steps that may be skipped in a row before the run ends"),
    WORD(train.on_spike, "ignore", policies,
         "what to do when loss or gradient norm is far above its mean"),
    REAL(train.spike_loss, "6", 0, 1e6,
         "standard deviations that make a spike of the loss"),
    REAL(train.spike_norm, "6", 0, 1e6,
         "standard deviations that make a spike of the gradient norm"),
    INT(train.spike_window, "128", 8, 4096,
         "steps over which the mean is computed"),

    WORD(optim.name, "adamw", optimisers, "optimiser"),
    WORD(optim.moments, "fp32", state_types,
         "type in which adamw and adam keep their moments"),
    WORD(optim.masters, "fp32", state_types,
         "type of the weights that adamw and adam update"),
    REAL(optim.lr, "6e-4", 0, 1000, "peak learning rate"),
    REAL(optim.beta1, "0.9", 0, 0.9999999, "decay rate of the first moment"),
    REAL(optim.beta2, "0.95", 0, 0.9999999, "decay rate of the second moment"),
    REAL(optim.eps, "1e-8", 0, 1,
         "number added to the square root of the second moment"),
    REAL(optim.decay, "0.1", 0, 100,
         "weight decay of tensors with two or more dimensions"),
    REAL(optim.clip, "1", 0, 1e12,
         "largest norm of the whole gradient; 0: no clipping"),
    REAL(optim.momentum, "0.95", 0, 1, "momentum of sgd and muon"),
    BOOL(optim.nesterov, "yes", "use Nesterov momentum in sgd and muon"),
    REAL(optim.lr_embed, "1", 0, 1e6,
         "factor on the learning rate of the embeddings"),
    REAL(optim.lr_head, "1", 0, 1e6,
         "factor on the learning rate of an untied head"),
    REAL(optim.lr_vector, "1", 0, 1e6,
         "factor on the learning rate of biases and norms"),
    REAL(optim.muon_lr, "0.02", 0, 1000,
         "peak learning rate of the matrices that muon updates"),
    WORD(optim.muon_scale, "original", muon_scales,
         "how muon scales an update by the shape of its matrix"),

    WORD(schedule.kind, "cosine", curves,
         "curve of the learning rate after the warm-up"),
    ONE_OF(LENGTH, INT, schedule.steps, 1e12,
         "length of the schedule in steps"),
    ONE_OF(LENGTH, INT, schedule.tokens, 9e15, "or in tokens"),
    ONE_OF(LENGTH, REAL, schedule.chinchilla, 1e6,
         "or in tokens per parameter; 20 is compute-optimal"),
    SPAN(schedule.warmup, "0", "span of growth to the peak"),
    WORD(schedule.warmup_shape, "linear", decay_shapes,
         "curve of the warm-up"),
    REAL(schedule.warmup_lr, "0", 0, 1000,
         "learning rate at the start of the warm-up"),
    REAL(schedule.min_lr, "0", 0, 1000, "learning rate at the end"),
    SPAN(schedule.decay, "20%",
         "with wsd, the span at the end over which the rate decreases"),
    WORD(schedule.decay_shape, "linear", decay_shapes,
         "with wsd, the curve of the decay"),
    REAL(schedule.power, "1", 0, 100, "with polynomial, the exponent"),
    REALS(schedule.at, "0.3, 0.6, 0.9",
         "with step, the fractions of training at which the rate changes"),
    REAL(schedule.factor, "0.1", 0, 1,
         "with step, what the rate is multiplied by at each of them"),
    INT(schedule.cycle, "0", 0, 1e12,
         "with restarts, steps of the first cycle; 0: a quarter of all"),
    REAL(schedule.cycle_growth, "1", 1, 100,
         "with restarts, the length of a cycle relative to the last"),
    REAL(schedule.cycles, "0", 0, 1e6,
         "with cosine, periods; with restarts, cycles; 0: half a period"),
    INT(schedule.timescale, "0", 0, 1e12,
        "with invsqrt, steps until the rate is 1/sqrt(2); 0: the warm-up"),

    EVERY(eval.every, "250",
         "validate at this interval and at the end; 0: never"),
    INT(eval.sequences, "0", 0, 1e12,
         "number of sequences to validate on; 0: all"),
    BOOL(eval.at_start, "no", "validate before the first step, too"),
    INT(eval.stride, "0", 0, 1e12,
         "tokens from one window to the next; 0: context"),
    BOOL(eval.random, "no",
         "use windows at random offsets, the same ones each time"),
    INT(eval.patience, "0", 0, 1e6,
         "stop after N validations without a better loss; 0: never"),
    REAL(eval.min_delta, "0", 0, 100,
         "decrease of the loss that counts as better"),
    TEXT(eval.hellaswag, "",
         "HellaSwag or other multiple-choice questions, JSON Lines"),
    EVERY(eval.hellaswag_every, "0",
         "evaluate them at this interval and at the end; 0: never"),
    WORD(eval.hellaswag_style, "plain", hellaswag_styles,
         "use their texts as they are, or as lm-evaluation-harness does"),
    INT(eval.hellaswag_limit, "0", 0, 1e9, "number of questions; 0: all"),

    EVERY(sample.every, "0",
         "write samples at this interval and at the end; 0: never"),
    TEXT(sample.prompt, "",
         "start of each sample; empty: end of text, or of a line"),
    INT(sample.tokens, "128", 1, 1048576, "tokens in a sample"),
    INT(sample.count, "1", 1, 4096, "number of samples"),
    REAL(sample.temperature, "0.8", 0, 100,
         "temperature; 0: always the likeliest token"),
    INT(sample.top_k, "50", 0, 16777216,
         "draw from the K likeliest tokens; 0: from all"),
    REAL(sample.top_p, "1", 0, 1,
         "draw from the likeliest tokens that have this probability together"),
    INT(sample.seed, "42", 0, 9007199254740992.0, "seed of the draws"),

    EVERY(checkpoint.every, "0",
         "save at this interval; 0: only at the end"),
    BOOL(checkpoint.last, "yes", "save at the end"),
    INT(checkpoint.keep_last, "2", 1, 1e6,
         "number of newest checkpoints to keep"),
    INT(checkpoint.keep_every, "0", 0, 1e12,
         "keep checkpoints at multiples of N for good; 0: none"),
    BOOL(checkpoint.keep_best, "yes",
         "keep the checkpoint with the lowest validation loss"),
    BOOL(checkpoint.async, "yes", "write in the background"),
    TEXT(checkpoint.folder, "",
         "folder; empty: artifacts/checkpoints of the run"),

    REAL(plan.peak_tflops, "0", 0, 1e9,
         "peak TFLOP/s of the device, for MFU; 0: measured or known"),
    REALS(plan.mfu, "40%", "MFUs that gtrain plan assumes"),
    INT(plan.data_tokens, "0", 0, 9e15,
         "tokens in the training data, to count epochs; 0: unknown"),
    REALS(plan.cpu_rates, "",
          "rates of a CPU for gtrain plan --device cpu; empty: measured"),
    TEXT(plan.hardware, "",
         "more rows for the table: name:tflops:GiB:devices, ..."),
    { 0 }
};
/* clang-format on */

static int refuse_sweep(void *arg, const char *key, const char *value,
                        const char *where, struct err *e)
{
    const char *path = arg;

    (void)value;
    if (strncmp(key, "sweep.", 6) == 0 || strncmp(key, "grid.", 5) == 0 ||
        strncmp(key, "random.", 7) == 0)
        return err_set(e, ERR_USAGE,
                       "%s: %s describes a sweep; use 'gtrain sweep %s'", where,
                       path, path);
    return 0;
}

/* Of settings that cannot be read, say so if they are those of a sweep. */
static int read_file(struct settings *c, const char *path, struct err *e)
{
    struct err sweep = ERR_INIT;

    if (conf_read(&c->conf, path, e) == 0)
        return 0;
    if (conf_walk(path, refuse_sweep, (char *)(uintptr_t)path, &sweep) < 0)
        *e = sweep;
    return -1;
}

int settings_begin(struct settings *c, const char *path, struct err *e)
{
    memset(c, 0, sizeof *c);
    conf_init(&c->conf, settings_table, c);
    return path ? read_file(c, path, e) : 0;
}

/* Do the file or --set say how large the batch is, in sequences or tokens? */
static bool has_batch(const struct settings *c)
{
    return conf_origin(&c->conf, "train.batch") ||
           conf_origin(&c->conf, "train.tokens_per_step");
}

/* Set the values of the preset that the file and --set leave out. */
void settings_finish(struct settings *c)
{
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
        { "train.tokens_per_step", has_batch(c) ? 0 : p->batch },
    };
    static const char *const llama[][2] = {
        { "model.norm", "rmsnorm" },   { "model.norm_bias", "no" },
        { "model.linear_bias", "no" }, { "model.mlp", "swiglu" },
        { "model.position", "rope" },  { "model.tied", "yes" },
    };
    char where[64];
    struct err e = ERR_INIT;

    snprintf(where, sizeof where, "preset %s", preset_names[c->model.preset]);
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
    if (settings_begin(c, path, e) < 0)
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
