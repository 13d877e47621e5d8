#ifndef TRAINER_REPLAY_REHEARSE_MINIATURE_H
#define TRAINER_REPLAY_REHEARSE_MINIATURE_H

#include "common/path.h"
#include "trainer/settings/settings.h"

/*
 * rehearse_miniature - settings of a small job that takes the same paths
 *
 *      rehearse_miniature(&sets, &settings, ranks);
 *
 * Adds assignments for --set: the same model, optimiser, data and number of
 * ranks, but narrow, with two layers and a short context, with small batches of
 * two micro-batches for each rank, and with validations, samples and
 * checkpoints after every few steps.  The settings are resolved.
 */
void rehearse_miniature(struct path_list *sets, const struct settings *,
                        int ranks);

enum { MINIATURE_EVERY = 4 }; /* steps between checkpoints */

#endif
