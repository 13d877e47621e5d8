#pragma once

#include "common/sha256.h"
#include "trainer/engine/engine.h"

/*
 * checkpoint_state - state.json of a checkpoint, written and read
 *
 * It holds struct engine_state, the hashes of the tokenizer and of the training
 * data, the id of the run, and the size and SHA-256 of the other files; and the
 * SHA-256 of all of this.
 */
extern const char *const checkpoint_parts[]; /* the other files; ends in NULL */
enum { PART_MODEL, PART_OPTIM, PART_CONFIG };

/* The current state as text, without checksums; the caller frees it. */
char *checkpoint_state_text(const struct engine *, const char *run_id);
/* Add the checksums of the other files, which are already in the folder, and
 * write the text there. */
int checkpoint_state_write(const char *text, const char *folder, struct err *);

/* Fails if the tokenizer or the data are not those of the checkpoint. */
int checkpoint_state_load(const char *folder, struct engine *, struct err *);
/* Only the steps of the optimiser. */
int checkpoint_state_steps(const char *folder, struct engine *, struct err *);
/* Warn if the tokenizer is not that of the checkpoint. */
void checkpoint_state_compare(const char *folder, const struct engine *);
/* Check that the files of the checkpoint are as they were written. */
int checkpoint_verify(const char *folder, struct err *);
/* The recorded SHA-256 of a part, such as PART_MODEL; "" if it has none. */
int checkpoint_state_sum(const char *folder, int part, char out[SHA256_TEXT],
                         struct err *);
/* The id of the run that wrote it, "" for none; the caller frees it. */
int checkpoint_run_id(const char *folder, char **id, struct err *);
/* The settings that it was written with, by settings_begin(). */
int checkpoint_settings(struct settings *, const char *folder, struct err *);
