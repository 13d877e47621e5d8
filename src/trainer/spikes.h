#ifndef TRAINER_SPIKES_H
#define TRAINER_SPIKES_H

#include "common/output/table.h"
#include "store/load.h"

/*
 * spikes - the steps of a run whose loss stands out
 *
 * A step has a spike if its loss is not finite, or more than SPIKES_DEVIATIONS
 * robust standard deviations above the median of the SPIKES_WINDOW losses
 * before it (1.4826 times the median absolute deviation estimates the standard
 * deviation of normal numbers), or if training recorded an event there.  The
 * columns are the step, its loss, that median, the deviations, and the event.
 */
enum { SPIKES_WINDOW = 64, SPIKES_LEAST = 16, SPIKES_DEVIATIONS = 8 };

int spikes_list(struct table *, const struct run_info *, struct err *);

#endif
