#include "config.h"
#include "trainer/plan_budget.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "trainer/plan_time.h"
#include "trainer/scaling.h"
#include "trainer/training/hardware.h"

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

    *b = (struct plan_budget){ .least = INFINITY };
    if (tflops <= 0 && hardware_measure(&h, s))
        tflops = h.tflops[s->train.precision];
    if (tflops <= 0)
        return err_set(e, ERR_USAGE,
                       "the peak rate of the device is not known; set "
                       "plan.peak_tflops");
    b->flops = hours * 3600 * tflops * 1e12 * part;
    b->law = xcalloc(1, sizeof *b->law);
    if (scaling_fit(b->law, s->run.root, &why) < 0) {
        log_warn("%s; no loss is forecast", why.text);
        free(b->law);
        b->law = NULL;
    }
    log_info("%.3g hours at %.3g TFLOP/s, %.0f%% of the peak rate", hours,
             tflops * part, 100 * part);
    return 0;
}

void plan_budget_columns(const struct plan_budget *b, struct table *t)
{
    table_columns(t, "model", "parameters", "tokens", "steps",
                  "tokens/parameter", NULL);
    if (b->law)
        table_column(t, "loss");
    table_column(t, "cells");
}

void plan_budget_add(struct plan_budget *b, const struct settings *s,
                     const char *name, struct table *t)
{
    const double parameters = (double)s->is.parameters;
    const double tokens = b->flops / (6 * parameters);
    const double own = plan_time_tokens(s);

    table_text(t, name);
    table_int(t, s->is.parameters);
    table_int(t, (int64_t)tokens);
    table_int(t, (int64_t)(tokens / (double)s->is.tokens_per_step));
    table_real(t, tokens / parameters);
    if (b->law) {
        const double loss = scaling_loss(b->law, parameters, tokens);

        table_real(t, loss);
        if (loss < b->least) {
            b->least = loss;
            b->best = name;
        }
    }
    if (own > 0)
        table_int(t, (int64_t)(tokens / own));
    else
        table_none(t);
}

void plan_budget_end(struct plan_budget *b)
{
    char text[NUM_TEXT];

    if (b->law && b->best)
        log_info("the lowest loss is that of %s; the law fits %s, and is off "
                 "by %.3f for a run that it does not know (median)",
                 b->best, num_count(text, b->law->runs, "run"), b->law->off);
    free(b->law);
    b->law = NULL;
}
