#include "config.h"
#include "trainer/plan/plan_budget.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/num.h"
#include "trainer/device/hardware.h"
#include "trainer/plan/plan_tables.h"

int plan_budget_parse(double *hours, const char *text, struct err *e)
{
    const size_t n = strspn(text, "0123456789.");
    char number[32];

    snprintf(number, sizeof number, "%.*s", (int)n, text);
    if ((strcmp(text + n, "gpuh") == 0 || strcmp(text + n, "h") == 0) &&
        num_real(number, hours) && *hours > 0)
        return 0;
    return err_set(e, ERR_USAGE,
                   "--budget expects hours, as in 6.4gpuh, "
                   "not '%s'",
                   text);
}

int plan_budget_begin(struct plan_budget *b, double hours,
                      const struct settings *s, struct err *e)
{
    const double part = s->plan.mfu.n > 0 ? s->plan.mfu.x[0] : 0.4;
    double tflops = s->plan.peak_tflops;
    struct hardware h;
    struct err why = ERR_INIT;

    if (tflops <= 0 && hardware_measure(&h, s))
        tflops = h.tflops[s->train.precision];
    if (tflops <= 0)
        return err_set(e, ERR_USAGE,
                       "the peak rate of the device is not known; set "
                       "plan.peak_tflops");
    b->flops = hours * 3600 * tflops * 1e12 * part;
    if (scaling_fit(&b->law, s->run.root, &why) < 0) {
        log_warn("%s; the losses are those of a published law "
                 "(arXiv:2404.10102), for other data",
                 why.text);
        scaling_published(&b->law);
    }
    log_info("%.3g hours at %.3g TFLOP/s, %.0f%% of the peak rate", hours,
             tflops * part, 100 * part);
    return 0;
}

double plan_budget_tokens(const struct plan_budget *b, const struct settings *s)
{
    return b->flops / (6 * (double)s->is.parameters);
}

double plan_budget_loss(const struct plan_budget *b, const struct settings *s)
{
    return scaling_loss(&b->law, (double)s->is.parameters,
                        plan_budget_tokens(b, s));
}

void plan_budget_columns(struct table *t)
{
    table_columns(t, "parameters", "tokens", "steps", "tokens/parameter",
                  "loss", "cells", NULL);
}

void plan_budget_add(const struct plan_budget *b, const struct settings *s,
                     struct table *t)
{
    const double tokens = plan_budget_tokens(b, s);
    const double own = plan_tokens(s);

    table_int(t, s->is.parameters);
    table_int(t, (int64_t)tokens);
    table_int(t, (int64_t)(tokens / (double)s->is.tokens_per_step));
    table_real(t, tokens / (double)s->is.parameters);
    table_real(t, plan_budget_loss(b, s));
    if (own > 0)
        table_int(t, (int64_t)(tokens / own));
    else
        table_none(t);
}

void plan_budget_end(const struct plan_budget *b, const char *best)
{
    const struct scaling *law = &b->law;
    char text[NUM_TEXT];

    log_info("the lowest loss is that of %s", best);
    if (law->runs > 0)
        log_info("the law fits %s of %.3g to %.3g parameters, and is off by "
                 "%.3f for a run that it does not know (median)",
                 num_count(text, law->runs, "run"), law->least_n, law->most_n,
                 law->off);
}
