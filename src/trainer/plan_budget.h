#ifndef TRAINER_PLAN_BUDGET_H
#define TRAINER_PLAN_BUDGET_H

#include "common/output/table.h"
#include "trainer/settings/settings.h"

/*
 * plan_budget - which model to train with so many hours of a device
 *
 *      if (plan_budget_parse(&hours, "6.4gpuh", e) < 0 ||
 *          plan_budget_begin(&b, hours, settings, e) < 0)
 *          return -1;
 *      plan_budget_columns(&b, &table);
 *      plan_budget_add(&b, settings, name, &table);    for each model
 *
 * Each row has the tokens and steps that the budget allows for the model, the
 * loss that the scaling law of the store forecasts for them (scaling.h), and
 * how many trainings as long as the settings say the budget allows.
 */
struct scaling;

struct plan_budget {
    double flops; /* in all */
    double least; /* the lowest loss so far */
    const char *best;
    struct scaling *law; /* NULL: there is none */
};

/* "6.4gpuh", or "6.4h" of any device. */
int plan_budget_parse(double *hours, const char *text, struct err *);
/* The rate is the peak of this machine, or plan.peak_tflops, times plan.mfu. */
int plan_budget_begin(struct plan_budget *, double hours,
                      const struct settings *, struct err *);
void plan_budget_columns(const struct plan_budget *, struct table *);
void plan_budget_add(struct plan_budget *, const struct settings *,
                     const char *name, struct table *);
/* Say which model has the lowest loss, and how good the law is. */
void plan_budget_end(struct plan_budget *);

#endif
