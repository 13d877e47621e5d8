#include "config.h"
#include "trainer/model/resolve.h"

#include <math.h>
#include <string.h>

#include "kernels/dev.h"
#include "trainer/model/gpt.h"
#include "trainer/model/optim.h"

/* ---- shapes ---------------------------------------------------------- */

static bool has_bias(const struct model_settings *m, enum bias layer)
{
    return layer == BIAS_AUTO ? m->linear_bias : layer == BIAS_YES;
}

/* What each layer may see, and how it knows positions. */
static int check_attention(const struct settings *c, struct err *e)
{
    const int64_t D = c->is.head_dim;

    if (c->model.position == POSITION_ROPE && D % 2)
        return conf_fail(&c->conf, "model.position", e,
                         "rope requires heads of even width, not %lld",
                         (long long)D);
    if (rope_scaling_check(c, e) < 0)
        return -1;
    if (!*c->model.window_pattern ||
        c->model.window_pattern[strspn(c->model.window_pattern, "SL")])
        return conf_fail(&c->conf, "model.window_pattern", e,
                         "expects letters S and L, as in SSSL");
    return 0;
}

static int resolve_shapes(struct settings *c, int64_t tokenizer_vocab,
                          struct err *e)
{
    struct model_settings *m = &c->model;
    struct derived *is = &c->is;

    if (m->vocab == 0)
        m->vocab = tokenizer_vocab;
    if (m->vocab == 0)
        return conf_fail(&c->conf, "model.vocab", e,
                         "must be set unless data.tokenizer is");
    if (m->vocab < tokenizer_vocab)
        return conf_fail(&c->conf, "model.vocab", e,
                         "%lld is less than the %lld of the tokenizer",
                         (long long)m->vocab, (long long)tokenizer_vocab);
    if (!m->head_dim && m->width % m->heads)
        return conf_fail(&c->conf, "model.width", e,
                         "%lld is not a multiple of model.heads = %lld; set "
                         "model.head_dim for heads of another width",
                         (long long)m->width, (long long)m->heads);
    is->head_dim = m->head_dim ? m->head_dim : m->width / m->heads;
    is->kv_heads = m->kv_heads ? m->kv_heads : m->heads;
    if (m->heads % is->kv_heads)
        return conf_fail(&c->conf, "model.kv_heads", e,
                         "model.heads = %lld is not a multiple of %lld",
                         (long long)m->heads, (long long)is->kv_heads);
    if (check_attention(c, e) < 0)
        return -1;
    if (c->data.ignore >= m->vocab)
        return conf_fail(&c->conf, "data.ignore", e,
                         "%lld is not below the size of the vocabulary, %lld",
                         (long long)c->data.ignore, (long long)m->vocab);
    is->vocab_padded = (m->vocab + m->vocab_multiple - 1) / m->vocab_multiple *
                       m->vocab_multiple;
    is->d_ff = m->d_ff ? m->d_ff : 4 * m->width;
    is->qkv_bias = has_bias(m, m->qkv_bias);
    is->output_bias = has_bias(m, m->output_bias);
    is->mlp_bias = has_bias(m, m->mlp_bias);
    if (m->dropout_attention < 0)
        m->dropout_attention = m->dropout;
    if (m->dropout_embedding < 0)
        m->dropout_embedding = m->dropout;
    return 0;
}

static int resolve_width(struct settings *c, struct err *e)
{
    const char *key = "optim.base_width";
    const enum optim_name name = c->optim.name;

    c->is.width = 0;
    if (!c->optim.base_width)
        return 0;
    if (c->model.tied)
        return conf_fail(&c->conf, key, e,
                         "requires model.tied = no, since the rate of the head "
                         "follows the width, and that of the embedding does "
                         "not");
    if (name != OPTIM_ADAMW && name != OPTIM_LION && name != OPTIM_MUON)
        return conf_fail(&c->conf, key, e,
                         "requires optim.name = adamw, lion or muon");
    c->is.width = (double)c->model.width / (double)c->optim.base_width;
    return 0;
}

/* cuBLASLt multiplies fp8 only in words of 16 bytes. */
static int check_fp8(const struct settings *c, struct err *e)
{
    enum { WORD = 16 };
    const struct {
        const char *what;
        int64_t n;
        bool used;
    } sizes[] = {
        { "model.width", c->model.width, true },
        { "the padded vocabulary (model.vocab_multiple)", c->is.vocab_padded,
          true },
        { "the hidden width of the MLP (model.d_ff)", c->is.d_ff,
          c->train.fp8 == FP8_MLP },
    };

    if (c->train.fp8 == FP8_OFF)
        return 0;
    if (c->train.precision != PRECISION_BF16)
        return conf_fail(&c->conf, "train.fp8", e,
                         "requires train.precision = bf16");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].used && sizes[i].n % WORD)
            return conf_fail(&c->conf, "train.fp8", e,
                             "requires that %s is a multiple of %d, not %lld",
                             sizes[i].what, WORD, (long long)sizes[i].n);
    return 0;
}

/* What the model is needed for: its size, and the names of its parameters. */
static int resolve_parameters(struct settings *c, struct err *e)
{
    struct gpt gpt;
    int ret;

    gpt_build(&gpt, c, 1);
    c->is.parameters = graph_parameters(&gpt.graph);
    ret = param_rates_check(c, &gpt.graph, e);
    graph_clear(&gpt.graph);
    return ret;
}

/* ---- batches --------------------------------------------------------- */

static int bad_multiple(struct settings *c, const char *key, int64_t given,
                        int64_t unit, const char *what, struct err *e)
{
    const int64_t below = given / unit * unit;

    if (below == 0)
        return conf_fail(&c->conf, key, e,
                         "%lld is less than one micro-batch per rank, "
                         "%lld %s",
                         (long long)given, (long long)unit, what);
    return conf_fail(&c->conf, key, e,
                     "%lld is not a multiple of micro_batch x ranks = %lld %s; "
                     "the nearest ones are %lld and %lld",
                     (long long)given, (long long)unit, what, (long long)below,
                     (long long)(below + unit));
}

static int resolve_batch(struct settings *c, int world, struct err *e)
{
    const struct train_settings *t = &c->train;
    struct derived *is = &c->is;
    const int64_t unit = t->micro_batch * world;
    const int64_t unit_tokens = unit * c->model.context;

    if (t->batch && t->tokens_per_step &&
        t->tokens_per_step != t->batch * c->model.context)
        return conf_fail(&c->conf, "train.tokens_per_step", e,
                         "train.batch makes it %lld; set only one of the two",
                         (long long)(t->batch * c->model.context));
    if (t->batch && t->batch % unit)
        return bad_multiple(c, "train.batch", t->batch, unit, "sequences", e);
    if (t->tokens_per_step % unit_tokens)
        return bad_multiple(c, "train.tokens_per_step", t->tokens_per_step,
                            unit_tokens, "tokens", e);
    is->windows = t->batch             ? t->batch
                  : t->tokens_per_step ? t->tokens_per_step / c->model.context
                                       : unit;
    if (t->ramp_from > is->windows)
        return conf_fail(&c->conf, "train.ramp_from", e,
                         "%lld sequences are more than the %lld of the batch",
                         (long long)t->ramp_from, (long long)is->windows);
    is->accumulate = is->windows / unit;
    is->tokens_per_step = is->windows * c->model.context;
    return 0;
}

/* ---- lengths --------------------------------------------------------- */

int64_t resolve_span(const struct settings *c, const struct conf_span *s)
{
    if (s->unit == SPAN_TOKENS)
        return (int64_t)(s->n / (double)c->is.tokens_per_step);
    if (s->unit == SPAN_FRACTION)
        return (int64_t)rint(s->n * (double)c->is.steps);
    return (int64_t)s->n;
}

static int resolve_lengths(struct settings *c, struct err *e)
{
    const struct schedule_settings *s = &c->schedule;
    struct derived *is = &c->is;
    const double per_step = (double)is->tokens_per_step;
    double tokens = 0;

    if ((s->steps > 0) + (s->tokens > 0) + (s->chinchilla > 0) > 1)
        return conf_fail(
            &c->conf, "schedule.steps", e,
            "set only one of schedule.steps, tokens and chinchilla");
    if (s->tokens)
        tokens = (double)s->tokens;
    if (s->chinchilla > 0)
        tokens = s->chinchilla * (double)is->parameters;
    /* as many whole steps as the tokens fill; none if nothing is trained */
    is->steps = s->steps ? s->steps : (int64_t)floor(tokens / per_step);
    if (is->steps == 0 && tokens > 0)
        return conf_fail(&c->conf,
                         s->tokens ? "schedule.tokens" : "schedule.chinchilla",
                         e, "%.0f tokens are fewer than the %lld of one step",
                         tokens, (long long)is->tokens_per_step);
    is->stop_at = c->train.stop_at ? c->train.stop_at : is->steps;
    is->warmup = resolve_span(c, &s->warmup);
    if (is->steps && is->warmup > is->steps)
        return conf_fail(&c->conf, "schedule.warmup", e,
                         "%lld steps are more than the %lld of the schedule",
                         (long long)is->warmup, (long long)is->steps);
    is->decay = resolve_span(c, &s->decay);
    if (s->kind == CURVE_WSD && is->steps && is->decay > is->steps - is->warmup)
        return conf_fail(&c->conf, "schedule.decay", e,
                         "%lld steps, with %lld of warm-up, are more than the "
                         "%lld of the schedule",
                         (long long)is->decay, (long long)is->warmup,
                         (long long)is->steps);
    if (s->min_lr > c->optim.lr)
        return conf_fail(&c->conf, "schedule.min_lr", e,
                         "%g is above optim.lr = %g", s->min_lr, c->optim.lr);
    if (s->warmup_lr > c->optim.lr)
        return conf_fail(&c->conf, "schedule.warmup_lr", e,
                         "%g is above optim.lr = %g", s->warmup_lr,
                         c->optim.lr);
    for (int i = 0; i < s->at.n; i++)
        if (s->at.x[i] < 0 || s->at.x[i] > 1)
            return conf_fail(&c->conf, "schedule.at", e,
                             "%g is not a fraction of all steps, 0 to 1",
                             s->at.x[i]);
    if (is->decay > is->steps - is->warmup)
        is->decay = is->steps - is->warmup;
    is->ramp = resolve_span(c, &c->train.ramp);
    return 0;
}

/* "name=value, name=value" */
static int check_tags(const struct settings *c, struct err *e)
{
    for (const char *at = c->run.tags; *at; at += strspn(at, ", ")) {
        const size_t len = strcspn(at, ","), name = strcspn(at, "=,");

        if (name == 0 || name == len)
            return conf_fail(&c->conf, "run.tags", e,
                             "expects name=value, not '%.*s'", (int)len, at);
        at += len;
    }
    return 0;
}

/* A sum that is rounded on its way depends on who sends what. */
static int check_sums(const struct settings *c, struct err *e)
{
    if (c->parallel.sum_type == SUM_FP32 || !c->train.deterministic)
        return 0;
    return conf_fail(&c->conf, "parallel.sum_type", e,
                     "sums in bf16 depend on the number of ranks; use fp32, "
                     "or train.deterministic = no");
}

/* Only AdamW and Adam update tensors stored in bf16, rounding at random. */
static int check_state_types(const struct settings *c, struct err *e)
{
    const struct optim_settings *o = &c->optim;
    const char *key = o->masters == STATE_BF16   ? "optim.masters"
                      : o->moments == STATE_BF16 ? "optim.moments"
                                                 : NULL;

    if (key && o->name != OPTIM_ADAMW && o->name != OPTIM_ADAM)
        return conf_fail(&c->conf, key, e,
                         "bf16 is for optim.name = adamw or adam; use fp32");
    if (o->masters == STATE_BF16 && c->train.precision != PRECISION_BF16)
        return conf_fail(
            &c->conf, key, e,
            "bf16 requires train.precision = bf16; use fp32 otherwise");
    return 0;
}

static int check_recipe(const struct settings *c, struct err *e)
{
    if (c->recipe.name == RECIPE_NONE || c->recipe.depth || c->recipe.size)
        return 0;
    return conf_fail(&c->conf, "recipe.name", e,
                     "requires recipe.depth or recipe.size");
}

void resolve_precision(struct settings *c, bool gpu)
{
    if (c->train.precision != PRECISION_AUTO)
        return;
    c->train.precision = gpu ? PRECISION_BF16 : PRECISION_FP32;
    c->is.precision_auto = true;
}

int resolve_settings(struct settings *c, int64_t tokenizer_vocab, int world,
                     struct err *e)
{
    if (c->train.precision == PRECISION_AUTO)
        resolve_precision(c, dev_is_gpu(c->train.device));
    if (check_recipe(c, e) < 0 || check_tags(c, e) < 0 ||
        check_sums(c, e) < 0 || check_state_types(c, e) < 0)
        return -1;
    if (resolve_shapes(c, tokenizer_vocab, e) < 0)
        return -1;
    if (resolve_width(c, e) < 0 || check_fp8(c, e) < 0)
        return -1;
    if (resolve_parameters(c, e) < 0 || resolve_batch(c, world, e) < 0)
        return -1;
    return resolve_lengths(c, e);
}

/* ---- the batch ramp -------------------------------------------------- */

/*
 * The batch grows linearly over the first steps, in whole micro-batches,
 * however many ranks share them, so that it is the same for any number.
 */
int64_t resolve_sequences(const struct settings *c, int64_t step)
{
    const struct derived *is = &c->is;
    const int64_t unit = c->train.micro_batch;
    const int64_t from = c->train.ramp_from ? c->train.ramp_from : unit;
    double x;

    if (step >= is->ramp)
        return is->windows;
    x = (double)from +
        (double)(is->windows - from) * (double)step / (double)is->ramp;
    x = floor(x / (double)unit);
    return x < 1 ? unit : (int64_t)x * unit;
}

int64_t resolve_sequences_before(const struct settings *c, int64_t step)
{
    const int64_t ramp = step < c->is.ramp ? step : c->is.ramp;
    int64_t sum = 0;

    for (int64_t s = 0; s < ramp; s++)
        sum += resolve_sequences(c, s);
    return sum + (step - ramp) * c->is.windows;
}

/* ---- the learning rate -------------------------------------------------- */

/* Half a period from 1 to 0 for r from 0 to 1. */
static double cosine(double r)
{
    return 0.5 * (1.0 + cos(M_PI * r));
}

/* From 1 to 0 for d from 0 to 1. */
static double fall(enum decay_shape shape, double d)
{
    return shape == SHAPE_COSINE ? cosine(d)
           : shape == SHAPE_SQRT ? 1.0 - sqrt(d)
                                 : 1.0 - d;
}

/* The warm-up is the mirror image of a decay. */
static double warmup_at(const struct schedule *s, double step)
{
    const double r = fmin(1.0, (step + 1.0) / s->warmup);

    return s->warmup_shape == SHAPE_LINEAR ? r : fall(s->warmup_shape, 1.0 - r);
}

static double wsd_at(const struct schedule *s, double step)
{
    const double begin = s->steps - s->decay;
    const double d = s->decay > 0 ? (step - begin) / s->decay : 1.0;

    if (step < begin)
        return 1.0;
    return d < 1.0 ? fall(s->shape, d) : 0.0;
}

/* Cosine with restarts, from Loshchilov and Hutter 2017. */
static double restarts_at(const struct schedule *s, double step)
{
    double at = step - s->warmup, length = s->cycle;

    while (at >= length) {
        at -= length;
        length *= s->growth;
    }
    return cosine(at / length);
}

static double steps_at(const struct schedule *s, double step)
{
    double part = 1.0;

    for (int i = 0; i < s->at->n; i++)
        if (step >= s->at->x[i] * s->steps)
            part *= s->factor;
    return part;
}

/* These curves are fractions of the peak, with min as a lower bound, and
 * continue after the last step; the others are fractions of (peak - min). */
static bool is_absolute(enum curve kind)
{
    return kind == CURVE_CONSTANT || kind == CURVE_INVSQRT ||
           kind == CURVE_STEP;
}

/* The curve at a step; r is the fraction of the steps after the warm-up that
 * is over. */
static double curve_at(const struct schedule *s, double step, double r)
{
    switch (s->kind) {
    case CURVE_COSINE:
        return cosine(s->halves * r);
    case CURVE_LINEAR:
        return 1.0 - r;
    case CURVE_CONSTANT:
        break;
    case CURVE_WSD:
        return wsd_at(s, step);
    case CURVE_INVSQRT:
        return sqrt(s->timescale / (step - s->warmup + s->timescale));
    case CURVE_POLYNOMIAL:
        return pow(1.0 - r, s->power);
    case CURVE_STEP:
        return steps_at(s, step);
    case CURVE_RESTARTS:
        return restarts_at(s, step);
    }
    return 1.0;
}

void schedule_init(struct schedule *s, const struct settings *c)
{
    const double rest = (double)(c->is.steps - c->is.warmup);
    const double cycles = c->schedule.cycles;

    *s = (struct schedule){
        .kind = c->schedule.kind,
        .peak = c->optim.lr,
        .start = c->schedule.warmup_lr,
        .min = c->schedule.min_lr,
        .steps = (double)c->is.steps,
        .warmup = (double)c->is.warmup,
        .decay = (double)c->is.decay,
        .shape = c->schedule.decay_shape,
        .power = c->schedule.power,
        .factor = c->schedule.factor,
        .at = &c->schedule.at,
        .cycle = cycles > 0          ? rest / cycles
                 : c->schedule.cycle ? (double)c->schedule.cycle
                                     : fmax(1.0, floor(rest / 4)),
        .halves = cycles > 0 ? 2 * cycles : 1,
        .warmup_shape = c->schedule.warmup_shape,
        .timescale = c->schedule.timescale ? (double)c->schedule.timescale
                     : c->is.warmup        ? (double)c->is.warmup
                                           : 10000,
        .growth = c->schedule.cycle_growth,
    };
}

double schedule_at(const struct schedule *s, double step)
{
    const double rest = s->steps - s->warmup;
    double r, x;

    if (step < s->warmup)
        return s->start + (s->peak - s->start) * warmup_at(s, step);
    if (step >= s->steps && !is_absolute(s->kind) && s->kind != CURVE_COSINE)
        return s->min;
    r = rest > 0 ? fmin(1.0, (step - s->warmup) / rest) : 1.0;
    x = curve_at(s, step, r);
    if (is_absolute(s->kind))
        return fmax(s->min, s->peak * x);
    return s->min + (s->peak - s->min) * x;
}

double schedule_decay_left(const struct settings *c, double step)
{
    const double done = c->is.steps ? fmin(1, step / (double)c->is.steps) : 0;

    return 1 + (c->optim.decay_end - 1) * done;
}
