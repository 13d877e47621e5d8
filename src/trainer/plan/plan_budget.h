#pragma once

#include "trainer/plan/plan_tables.h"

/*
 * plan_budget - which model to train in a number of hours of a device
 *
 *      if (plan_budget_print("6.4gpuh", models, n, &how, &style, e) < 0)
 *          return -1;
 *
 * Each row has the tokens and steps that the budget allows for a model, the
 * loss that a scaling law forecasts for them (plan_budget.c), and the number of
 * runs, as long as the settings say, that the budget allows.  The rate is the
 * peak of the device that is named, plan.peak_tflops or the peak of this
 * machine, times the first plan.mfu.
 *
 * A single model is one of many sizes in its proportions: heads of the same
 * width, and layers and the hidden layer of the MLP in proportion to the width.
 * The rows are the size with the lowest loss and the two sizes below and above
 * it.  Messages say which model has the lowest loss, how good the law is, and
 * how long five cells that try learning rates may be.  The settings of a single
 * model are left changed.
 */
int plan_budget_print(const char *hours, struct plan_model *, int n,
                      const struct plan_how *, const struct table_style *,
                      struct err *);
