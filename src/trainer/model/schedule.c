#include "config.h"
#include "trainer/model/schedule.h"

#include <math.h>

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

double schedule_momentum(const struct settings *c, double step)
{
    const double first = 0.85; /* as modded-nanogpt and nanochat begin */
    const double n = (double)c->is.momentum_warmup;

    return step < n ? first + (c->optim.momentum - first) * step / n
                    : c->optim.momentum;
}
