#pragma once

#include <stddef.h>

#include "common/err.h"
#include "common/mem.h"
#include "store/format/info.h"

/*
 * dataset - the datasets that a run read
 *
 *      EXPERIMENT/datasets/D/meta.yaml     the dataset; D = md5(name digest)
 *      RUN/inputs/I/meta.yaml              the run read it; I = md5(D run)
 *
 * Both folders appear complete, by rename: MLflow 3 rejects an experiment in
 * which one of them is incomplete.
 */
int dataset_save(const char *run, const char *run_id,
                 const struct run_dataset *, struct err *);

/* Copy the datasets that a run read from one folder of an experiment to
 * another, unless they are there. */
int datasets_copy(const char *run, const char *from, const char *to,
                  enum path_links, struct err *);

/* More than these are not read, so that they do not delay other runs. */
enum { DATASETS_MAX = 1000 };

/* The datasets of a run; *damage is set to what is wrong, if anything is. */
void datasets_load(struct run_dataset **, size_t *n, struct arena *,
                   const char *run, enum path_links, const char **damage);

/* Can this input of a run be read? */
int dataset_check(const char *run, const char *folder, struct err *);
