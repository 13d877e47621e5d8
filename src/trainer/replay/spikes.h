#ifndef TRAINER_REPLAY_SPIKES_H
#define TRAINER_REPLAY_SPIKES_H

#include "common/output/table.h"
#include "store/read/runs.h"

/*
 * spikes - the steps of a run whose loss stands out
 *
 * These are the steps with a spike (store/analysis/spike.h), with a loss that
 * is not finite, or at which training recorded an event.  The columns are the
 * step, its loss, the median before it, the deviations, and the event.
 */
int spikes_list(struct table *, const struct run_info *, struct err *);

#endif
