#pragma once

#include "common/buf.h"
#include "common/mem.h"
#include "store/format/info.h"

/*
 * changed - parameters that a later attempt changed
 *
 *      const char *lr = changed_param(run, "optim.lr", 150);
 *
 * A parameter keeps its first value, as in MLflow.  Another value that attempt
 * N sets becomes the tag "attempt.N.KEY", and the first step that the attempt
 * computes the tag "attempt.N.first_step".  A step belongs to the newest
 * attempt that began at it or before.
 */

/* The name of the tag; the caller frees it. */
char *changed_tag(int attempt, const char *key);
#define CHANGED_FIRST_STEP "first_step"

/* Is it such a tag? */
bool changed_is_tag(const char *tag);

/* The attempt that computed a step, of those that resumed the run; 1 if none
 * did.  *next is the first step after it that another attempt computed, or
 * INT64_MAX; NULL is allowed. */
int changed_attempt(const struct run_info *, int64_t step, int64_t *next);

/* The first step of an attempt that resumed the run, or 0. */
int64_t changed_first_step(const struct run_info *, int attempt);

/* Does the run say what each attempt changed?  Older versions did not record
 * it. */
bool changed_is_known(const struct run_info *);

/* The value that a parameter had at a step; NULL if it has none. */
const char *changed_param(const struct run_info *, const char *key,
                          int64_t step);

/* Append "0.01; 0.003 from step 101"; false if it never changed. */
bool changed_text(struct buf *, const struct run_info *, const char *key);

/* All settings that changed, each with its values, but not the parameters
 * "derived.*" that follow from them and from the machine; NULL if none did. */
const char *changed_settings(const struct run_info *, struct arena *);
