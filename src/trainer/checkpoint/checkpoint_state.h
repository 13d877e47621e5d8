#pragma once

#include "common/sha256.h"
#include "store/write/run.h"
#include "trainer/engine/engine.h"

/*
 * checkpoint_state - state.json of a checkpoint, written and read
 *
 * It holds struct engine_state, the hashes of the tokenizer and of the training
 * data, the template of conversations, the id of the run, and the size and
 * SHA-256 of the other files; and the SHA-256 of all of this.
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
/* A text in the state, "" if it is not there, such as "run_id", or "chat", the
 * template of conversations; the caller frees it. */
int checkpoint_text(const char *folder, const char *key, char **text,
                    struct err *);
/* The settings that it was written with, by settings_begin(). */
int checkpoint_settings(struct settings *, const char *folder, struct err *);

/*
 * checkpoint_sums - the SHA-256 of every checkpoint that a run has written
 *
 * The artifact checkpoints.sha256 has a line for the weights of each
 * checkpoint, for its moments and for its state.json, in the form of
 * sha256sum(1), so that its weights can be recognised after it has been
 * removed.  If a step was written twice, as after a rollback, the last lines
 * count.
 */
struct checkpoint_sums {
    char model[SHA256_TEXT], optim[SHA256_TEXT]; /* weights and moments */
};

/* Add the lines of the checkpoint in a folder, and a link to the chain of the
 * run (store/format/chain.h), whose head becomes a tag. */
int checkpoint_sums_add(struct run *, const char *folder, int64_t step,
                        struct err *);

/* Those of the checkpoint in a folder. */
int checkpoint_sums_read(const char *folder, struct checkpoint_sums *,
                         struct err *);

/* artifacts is the folder of a run's artifacts.  A step without sums is
 * ERR_MISSING. */
int checkpoint_sums_find(const char *artifacts, int64_t step,
                         struct checkpoint_sums *, struct err *);

/* ERR_INPUT if the sums have the step of the checkpoint in a folder, but not
 * its weights and moments: another run wrote it. */
int checkpoint_sums_check(const char *artifacts, const char *folder,
                          int64_t step, struct err *);

/* The newest step up to `last` at which two runs have written the same weights
 * and moments, or 0; and the first at which they have not, or 0. */
struct checkpoint_sums_pair {
    int64_t same, differs;
};
int checkpoint_sums_compare(const char *artifacts, const char *others,
                            int64_t last, struct checkpoint_sums_pair *,
                            struct err *);
