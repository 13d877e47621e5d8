#ifndef TRAINER_REPLAY_BISECT_FACTS_H
#define TRAINER_REPLAY_BISECT_FACTS_H

#include "common/output/table.h"
#include "store/read/runs.h"

/*
 * bisect_facts - what two runs recorded differently, and what it can change
 *
 *      n = bisect_facts(&table, &a, &b, PART_DATA);
 *
 * Adds a row for each parameter and tag that differs and that can make two runs
 * part at this place in a step: the kind of the fact, its name and both values.
 * The likeliest causes come first.  Returns how many rows it has added.
 */
enum part_place {
    PART_STATE = 1 << 0, /* weights or moments before the step */
    PART_DATA = 1 << 1,
    PART_COMPUTE = 1 << 2,
    PART_UPDATE = 1 << 3,
    PART_ANYWHERE = PART_STATE | PART_DATA | PART_COMPUTE | PART_UPDATE
};

int bisect_facts(struct table *, const struct run_info *a,
                 const struct run_info *b, enum part_place);

#endif
