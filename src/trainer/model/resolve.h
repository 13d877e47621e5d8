#ifndef TRAINER_MODEL_RESOLVE_H
#define TRAINER_MODEL_RESOLVE_H

#include "trainer/settings/settings.h"

/*
 * resolve - what follows from settings that were loaded
 *
 * Shapes, the number of parameters, how a step's tokens are divided among
 * `world` ranks, and the lengths of the schedule.  resolve_settings() checks
 * what must fit together and fills struct derived; an error names the line of
 * the settings file.  tokenizer_vocab is 0 where there is no tokenizer.
 */
int resolve_settings(struct settings *, int64_t tokenizer_vocab, int world,
                     struct err *);

/* Sequences of step `step`, which the batch ramp may make fewer. */
int64_t resolve_sequences(const struct settings *, int64_t step);
/* Sequences of all steps before it. */
int64_t resolve_sequences_before(const struct settings *, int64_t step);

#endif
