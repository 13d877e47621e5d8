#ifndef TRAINER_PLAN_PLAN_TIME_H
#define TRAINER_PLAN_PLAN_TIME_H

#include "common/err.h"
#include "common/output/table.h"
#include "trainer/settings/settings.h"

/*
 * plan_time - the hours and the price of a training, on this machine and others
 *
 * One row for each machine and each MFU of plan.mfu, from 6 N D operations.
 */
struct plan_time {
    int ranks;
    double step_time; /* seconds, for a row of its own; 0: none */
    bool has_price;
    double price; /* of an hour of a device */
    bool fit;     /* add what fits the memory */
};

/* The tokens of a whole training. */
double plan_time_tokens(const struct settings *);

/* Check the rows of plan.hardware before the first table is printed. */
int plan_time_check(const struct settings *, struct err *);
void plan_time_columns(const struct plan_time *, struct table *);
/* `file` begins each row, unless it is NULL. */
void plan_time_add(const struct plan_time *, struct settings *,
                   const char *file, struct table *);

#endif
