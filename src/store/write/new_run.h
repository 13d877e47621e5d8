#pragma once

#include <stdint.h>

#include "common/err.h"
#include "common/mem.h"
#include "store/format/attempt.h"
#include "store/format/meta.h"

/*
 * new_run - the folder of a new run, before readers can see it
 *
 *      struct new_run n;
 *
 *      if (new_run_stage(&n, &mem, &conf, e) < 0)
 *          return -1;
 *      ...write into n.folder, save n.meta...
 *      ret = staging_commit(n.folder, n.place, e);
 *
 * new_run_stage() creates the store and the experiment if they do not exist,
 * chooses an id and, unless conf names the run, the next free name.  The folder
 * is complete but for meta.yaml: its subfolders and the tags that MLflow
 * expects are there.  folder and place are owned by the caller; on failure
 * nothing is left behind and both are NULL.
 */
struct new_run_conf {
    const char *root;
    const char *experiment; /* NULL: Default */
    const char *name;       /* NULL: the next of run1, run2, ... */
    const char *id;         /* 32 hexadecimal digits; NULL: a random one */
    const char *user;       /* NULL: of this process */
    const char *parent;     /* the id of a run, or NULL */
    const char *source;     /* the command, or what created the run */
    int64_t start_ms;       /* 0: now */
};

struct new_run {
    char *folder; /* where it is built */
    char *place;  /* where it will be */
    struct meta meta;
    struct attempt self; /* this process, as the first attempt */
};

int new_run_stage(struct new_run *, struct arena *, const struct new_run_conf *,
                  struct err *);

/* The subfolders that every run has. */
int new_run_folders(const char *folder, struct err *);
