#ifndef TRAINER_PLAN_PLAN_BUDGET_H
#define TRAINER_PLAN_PLAN_BUDGET_H

#include "common/output/table.h"
#include "trainer/plan/scaling.h"
#include "trainer/settings/settings.h"

/*
 * plan_budget - which model to train with so many hours of a device
 *
 *      if (plan_budget_parse(&hours, "6.4gpuh", e) < 0 ||
 *          plan_budget_begin(&b, hours, settings, e) < 0)
 *          return -1;
 *      plan_budget_columns(&table);
 *      plan_budget_add(&b, settings, &table);    for each model, after its name
 *
 * Each row has the tokens and steps that the budget allows for the model, the
 * loss that a scaling law forecasts for them (scaling.h), and how many
 * trainings as long as the settings say the budget allows.
 */
struct plan_budget {
    double flops; /* in all */
    struct scaling law;
};

/* "6.4gpuh", or "6.4h" of any device. */
int plan_budget_parse(double *hours, const char *text, struct err *);
/* The rate is the peak of this machine, or plan.peak_tflops, times plan.mfu. */
int plan_budget_begin(struct plan_budget *, double hours,
                      const struct settings *, struct err *);

/* The tokens, and the loss after them. */
double plan_budget_tokens(const struct plan_budget *, const struct settings *);
double plan_budget_loss(const struct plan_budget *, const struct settings *);

void plan_budget_columns(struct table *);
void plan_budget_add(const struct plan_budget *, const struct settings *,
                     struct table *);
/* Say which model has the lowest loss, and how good the law is. */
void plan_budget_end(const struct plan_budget *, const char *best);

#endif
