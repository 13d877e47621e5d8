#include "config.h"
#include "trainer/model/schedule.h"

#include <math.h>

/* A curve takes the step and r, the fraction of steps after the warm-up that
 * is over.  It returns a fraction of (peak - min), or of the peak if it is
 * absolute. */
typedef double curve_fn(const struct schedule *, double step, double r);

static double cosine(double r)
{
    return 0.5 * (1.0 + cos(M_PI * r));
}

static double curve_cosine(const struct schedule *s, double step, double r)
{
    (void)s, (void)step;
    return cosine(r);
}

static double curve_linear(const struct schedule *s, double step, double r)
{
    (void)s, (void)step;
    return 1.0 - r;
}

static double curve_constant(const struct schedule *s, double step, double r)
{
    (void)s, (void)step, (void)r;
    return 1.0;
}

static double curve_wsd(const struct schedule *s, double step, double r)
{
    const double begin = s->steps - s->decay;
    const double d = s->decay > 0 ? (step - begin) / s->decay : 1.0;

    (void)r;
    if (step < begin)
        return 1.0;
    if (d >= 1.0)
        return 0.0;
    switch (s->shape) {
    case SHAPE_COSINE:
        return cosine(d);
    case SHAPE_SQRT:
        return 1.0 - sqrt(d);
    case SHAPE_LINEAR:
        break;
    }
    return 1.0 - d;
}

static double curve_polynomial(const struct schedule *s, double step, double r)
{
    (void)step;
    return pow(1.0 - r, s->power);
}

/* Cosine with restarts, from Loshchilov and Hutter 2017. */
static double curve_restarts(const struct schedule *s, double step, double r)
{
    double at = step - s->warmup, length = s->cycle;

    (void)r;
    while (at >= length) {
        at -= length;
        length *= s->growth;
    }
    return cosine(at / length);
}

static double curve_invsqrt(const struct schedule *s, double step, double r)
{
    (void)r;
    return sqrt(fmax(s->warmup, 1.0) / (step + 1.0));
}

static double curve_step(const struct schedule *s, double step, double r)
{
    double part = 1.0;

    (void)r;
    for (int i = 0; i < s->at->n; i++)
        if (step >= s->at->x[i] * s->steps)
            part *= s->factor;
    return part;
}

static const struct {
    curve_fn *at;
    bool absolute; /* a fraction of the peak, with min as a floor */
    bool endless;  /* continues after the last step */
} curves[] = {
    [CURVE_COSINE] = { curve_cosine, false, false },
    [CURVE_LINEAR] = { curve_linear, false, false },
    [CURVE_CONSTANT] = { curve_constant, true, true },
    [CURVE_WSD] = { curve_wsd, false, false },
    [CURVE_INVSQRT] = { curve_invsqrt, true, true },
    [CURVE_POLYNOMIAL] = { curve_polynomial, false, false },
    [CURVE_STEP] = { curve_step, true, true },
    [CURVE_RESTARTS] = { curve_restarts, false, false },
};

void schedule_init(struct schedule *s, const struct settings *c)
{
    const double rest = (double)(c->is.steps - c->is.warmup);

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
        .cycle = c->schedule.cycle ? (double)c->schedule.cycle
                                   : fmax(1.0, floor(rest / 4)),
        .growth = c->schedule.cycle_growth,
    };
}

double schedule_at(const struct schedule *s, double step)
{
    const double rest = s->steps - s->warmup;
    double r, x;

    if (step < s->warmup)
        return s->start +
               (s->peak - s->start) * fmin(1.0, (step + 1.0) / s->warmup);
    if (step >= s->steps && !curves[s->kind].endless)
        return s->min;
    r = rest > 0 ? fmin(1.0, (step - s->warmup) / rest) : 1.0;
    x = curves[s->kind].at(s, step, r);
    if (curves[s->kind].absolute)
        return fmax(s->min, s->peak * x);
    return s->min + (s->peak - s->min) * x;
}
