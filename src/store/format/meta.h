#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/path.h"
#include "store/format/info.h"

/*
 * meta - a run's meta.yaml
 *
 * meta_load() reads what MLflow 1 to 3 wrote: run_uuid for run_id, no status,
 * no lifecycle, no name.  It fails only if the file is missing or not YAML;
 * what MLflow would reject is named in `damage`.  meta_save() writes all keys
 * that any of these versions expects, by rename.
 */
struct meta {
    const char *id, *name, *experiment_id, *user, *artifact_uri;
    const char *source_name, *source_version, *entry_point;
    int64_t source_type, status, start_ms, end_ms, deleted_ms;
    bool deleted;
    const char *damage;     /* or NULL */
    const char *incomplete; /* what MLflow 3 misses, if there is no damage */
};

/* No meta.yaml is ERR_MISSING. */
int meta_load(struct meta *, struct arena *, const char *run, enum path_links,
              struct err *);
/* Change it by a function (or NULL), and let it name the experiment that its
 * run is in.  One that is damaged is left alone. */
typedef void meta_change_fn(struct meta *, const void *arg);
int meta_change(const char *run, meta_change_fn *, const void *arg,
                struct err *);
/* Let it name the experiment that its run is in; after a move that was
 * interrupted, it does not. */
void meta_place(struct meta *, struct arena *, const char *run);
/* `sync`: not if the folder will be synced before readers see it. */
int meta_save(const struct meta *, const char *run, bool sync, struct err *);

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
