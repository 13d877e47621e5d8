#include "config.h"
#include "trainer/model/rope_scaling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
