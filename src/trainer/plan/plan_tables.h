#pragma once

#include "common/format/source_list.h"
#include "common/output/table.h"
#include "trainer/plan/plan_step.h"

/*
 * plan_tables - the tables that gtrain plan prints
 *
 *      if (plan_tables_print(models, n, &how, PLAN_MEMORY, &style, e) < 0)
 *          return -1;
 *
 * Several models are compared row by row, in one table.
 */
enum plan_part {
    PLAN_RECIPE,
    PLAN_PARAMETERS,
    PLAN_TRAINING,
    PLAN_MEMORY,
    PLAN_TIME,
    PLAN_STEP,
    PLAN_OPERATIONS,
    PLAN_SCHEDULE,
    PLAN_SIZES,
    PLAN_HOURS,
    PLAN_CELLS,
    PLAN_ALL = -1
};

extern const char *const plan_part_words[];

/* The settings, and the graph as training would lay it out in memory. */
struct plan_model {
    struct settings *set;
    struct gpt gpt;
    char *name; /* of several: the file, the cell or the preset; or NULL */
    char exports[64];    /* the formats that can represent it */
    struct plan_epochs { /* of each source of the data, as far as known */
        char name[SOURCE_LIST_NAME + 16]; /* "epochs of c4" */
        double epochs;
    } * epochs;
    size_t n_epochs;
};

struct plan_how {
    int ranks, points;
    const char *models;               /* what models are called: "file" */
    const struct plan_device *device; /* NULL: none is named */
    double step_time;                 /* seconds; 0: not known */
    bool has_price, fit;
    double price; /* of an hour of a device */
};

/* The tokens of a whole run. */
double plan_tokens(const struct settings *);

/* PLAN_ALL leaves out the schedule and the tables after it, a recipe that is
 * not used and, without a device, the tables that need one. */
int plan_tables_print(struct plan_model *, int n, const struct plan_how *,
                      enum plan_part, const struct table_style *, struct err *);

/*
 * Which model to train in a number of hours of a device, such as "6.4gpuh"
 * (gtrain(1), plan --budget), by the loss that a scaling law forecasts for each
 * (plan_budget.c).  The settings of a single model are left changed.
 */
int plan_budget_print(const char *hours, struct plan_model *, int n,
                      const struct plan_how *, const struct table_style *,
                      struct err *);
