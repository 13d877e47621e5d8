#ifndef TRAINER_MODEL_RESOLVE_H
#define TRAINER_MODEL_RESOLVE_H

#include "trainer/settings/settings.h"

/*
 * resolve - what follows from the settings
 *
 * Shapes, the number of parameters, how the tokens of a step are divided among
 * `world` ranks, and the length of the schedule.  resolve_settings() checks
 * that the settings agree and fills struct derived; an error names the line of
 * the settings file.  tokenizer_vocab is 0 where there is no tokenizer.
 */
int resolve_settings(struct settings *, int64_t tokenizer_vocab, int world,
                     struct err *);

/* Sequences in a step: fewer than the batch while the batch ramps up. */
int64_t resolve_sequences(const struct settings *, int64_t step);
/* Sequences in all steps before it. */
int64_t resolve_sequences_before(const struct settings *, int64_t step);

#endif
