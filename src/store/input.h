#ifndef STORE_INPUT_H
#define STORE_INPUT_H

#include <stddef.h>

#include "common/err.h"
#include "common/mem.h"
#include "store/load.h"

/*
 * input - the datasets that a run read
 *
 *      EXPERIMENT/datasets/D/meta.yaml     what it is; D = md5(name digest)
 *      RUN/inputs/I/meta.yaml              that it was read; I = md5(D run)
 *
 * Both folders appear whole, by rename: MLflow 3 refuses an experiment that
 * has anything half made in there.
 */
int input_save(const char *run, const char *run_id, const struct input *,
               struct err *);

/* Those of a run; `damage` is set to what is wrong, if anything is. */
void inputs_load(struct input **, size_t *n, struct arena *, const char *run,
                 const char **damage);

#endif
