#ifndef TRAINER_PLAN_PLAN_SIZES_H
#define TRAINER_PLAN_PLAN_SIZES_H

#include "trainer/plan/plan_budget.h"

/*
 * plan_sizes - the size of a model for a budget
 *
 *      if (plan_sizes(&budget, settings, ranks, &table, e) < 0)
 *          return -1;
 *
 * Considers models with the proportions of the settings: heads of the same
 * width, and layers and the hidden layer of the MLP in proportion to the width.
 * The rows are those of the lowest loss (plan_budget.h) and of the two sizes
 * below and above it; messages give the settings of the best, and how long five
 * cells are that try learning rates.
 */
int plan_sizes(const struct plan_budget *, struct settings *, int ranks,
               struct table *, struct err *);

#endif
