#ifndef TRAINER_MODEL_RESOLVE_H
#define TRAINER_MODEL_RESOLVE_H

#include "trainer/settings/settings.h"

/*
 * resolve - what follows from settings that were loaded
 *
 * Shapes, the number of parameters, how a step's tokens are divided among
 * `world` ranks, and the lengths of the schedule.  settings_resolve() checks
 * what must fit together and fills struct derived; an error names the line of
 * the settings file.  tokenizer_vocab is 0 where there is no tokenizer.
 */
int settings_resolve(struct settings *, int64_t tokenizer_vocab, int world,
                     struct err *);

/* Sequences of step `step`, which the batch ramp may make fewer. */
int64_t settings_windows(const struct settings *, int64_t step);
/* Sequences of all steps before it. */
int64_t settings_windows_before(const struct settings *, int64_t step);

#endif
